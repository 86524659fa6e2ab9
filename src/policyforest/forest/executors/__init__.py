"""Where work runs: this process's threads, local processes, or a Ray cluster, behind one small interface."""

from policyforest.forest.executors.interface import Executor, Threads
from policyforest.forest.executors.processes import Processes
from policyforest.forest.executors.ray import Ray

__all__ = ["Executor", "Processes", "Ray", "Threads"]
