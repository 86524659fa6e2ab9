"""Where work runs: this process's threads, local processes, or a Ray cluster, behind one small interface."""

from policyforest.executors.interface import Executor, Threads
from policyforest.executors.processes import Processes
from policyforest.executors.ray import Ray

__all__ = ["Executor", "Processes", "Ray", "Threads"]
