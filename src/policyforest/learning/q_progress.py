"""The progress of Fitted Q Iteration, also within an iteration, which takes minutes with ten million samples."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class QProgress:
    """The progress of learning, reported after each block of trees or states."""

    iteration: int
    """h, the running iteration"""
    most_iterations: int
    """The largest number of iterations; `horizon="auto"` may end earlier"""
    stage: Literal["trees", "values"]
    done: float
    """The fraction of the iteration that is done, in [0, 1]"""
    seconds: float
    """Seconds since learning began or was resumed"""
    seconds_left: float
    """The largest number of seconds left, at the pace so far"""


class QClock:
    """Makes `QProgress` from the reports of blocks. The share of growth in the time of an iteration is taken from the
    iteration before."""

    def __init__(self, report: Callable[[QProgress], None] | None, first: int, most: int) -> None:
        self._report, self._first, self._most = report, first, most
        self._started = self._begun = time.perf_counter()
        self._iteration, self._growth = first, 0.5
        self._grown = self._started

    def begin(self, iteration: int) -> None:
        self._iteration, self._begun = iteration, time.perf_counter()

    def trees(self, part: float) -> None:
        self._grown = time.perf_counter()
        self._tell("trees", self._growth * part)

    def values(self, part: float) -> None:
        self._tell("values", self._growth + (1.0 - self._growth) * part)
        if part == 1.0:
            self._growth = (self._grown - self._begun) / max(time.perf_counter() - self._begun, 1e-9)

    def _tell(self, stage: Literal["trees", "values"], done: float) -> None:
        if self._report is None:
            return
        seconds = time.perf_counter() - self._started
        work = self._iteration - self._first + done
        left = seconds / work * (self._most - self._iteration + 1 - done) if work > 0 else float("inf")
        self._report(QProgress(self._iteration, self._most, stage, done, seconds, left))
