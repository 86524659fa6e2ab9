"""The one interface: map a task over blocks, with inputs that all blocks share.

A task is a function of a module, called as ``task(block, n_jobs, *inputs)``. The block describes the part of the work
that the call does: some trees of a forest, some of the states, a seed. The inputs are shared beforehand, each once,
however many blocks there are. A task must depend on nothing else; then the results are the same bits wherever it runs,
because each tree has a random stream of its own and each state its own maximum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

from policyforest._support.arguments import threads, whole_number

Block = TypeVar("Block")
Result = TypeVar("Result")


class Executor(ABC):
    """Runs tasks. An algorithm works with any executor."""

    n_jobs: int
    """The threads that one task may use"""
    workers: int
    """How many tasks run at once"""

    def require(self, n_bytes: int) -> None:
        """Raises an error, before any work, if there is no room for shared inputs of so many bytes."""
        whole_number("n_bytes", n_bytes, at_least=0)

    @abstractmethod
    def share(self, name: str, value: Any) -> Any:
        """Puts an input where all workers can read it. A worker keeps one value per name: a new value replaces the old.
        Pass the returned object to `map`; the input is released when that object is deleted."""

    @abstractmethod
    def map(self, task: Callable[..., Result], blocks: Sequence[Block], *shared: Any) -> Iterator[tuple[int, Result]]:
        """Yields the number of each block and its result as tasks finish; an error in a task is raised here."""

    def close(self) -> None:  # noqa: B027 (threads have nothing to give back)
        """Frees processes and connections."""

    def __reduce__(self) -> tuple[Any, ...]:
        """An executor is not pickled: an object that holds one gets the threads of the process that unpickles it."""
        return Threads, (self.n_jobs,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Threads(Executor):
    """This process: one block after another, each on `n_jobs` threads of the core (-1: all cores)."""

    def __init__(self, n_jobs: int | None = 1) -> None:
        self.n_jobs = threads(n_jobs)
        self.workers = 1

    def share(self, name: str, value: Any) -> Any:
        """Returns the value itself: threads share their memory."""
        return value

    def map(self, task: Callable[..., Result], blocks: Sequence[Block], *shared: Any) -> Iterator[tuple[int, Result]]:
        """The number of each block and its result, in the order of the blocks."""
        for i, block in enumerate(blocks):
            yield i, task(block, self.n_jobs, *shared)

    def __repr__(self) -> str:
        return f"Threads({self.n_jobs})"
