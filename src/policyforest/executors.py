"""Where work runs: this process's threads, local processes, or a Ray cluster (see `policyforest.forest.executors`)."""

from policyforest.forest.executors import Executor, Processes, Ray, Threads

__all__ = ["Executor", "Processes", "Ray", "Threads"]
