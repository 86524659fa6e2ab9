"""Times of two contenders, taken in turns, and what a benchmark has to reach.

A shared machine gets slower and faster while it is measured. Contenders that take turns (A B A B …) meet the
same machine in the same round, so the median of the rounds' ratios is steady where the times are not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Medians over the rounds, in seconds, and the median of the rounds' ratios theirs / ours."""

    ours: float
    theirs: float
    ratio: float


@dataclass(frozen=True)
class Row:
    """One line of the table. Times are seconds; `measured` is compared with `required`."""

    what: str
    peer: str
    ours: float | None
    theirs: float | None
    measured: float
    required: float
    at_least: bool
    unit: str
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.measured >= self.required if self.at_least else self.measured <= self.required


def in_turns(ours: Work, theirs: Work, rounds: int) -> Timing:
    """Runs both once to warm up, then `rounds` times in turns.

    Times are CPU times, in which other processes on the machine do not count.
    """
    ours()
    theirs()
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
    return Timing(
        ours=statistics.median(a for a, _ in pairs),
        theirs=statistics.median(b for _, b in pairs),
        ratio=statistics.median(b / a for a, b in pairs),
    )


def _seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def times_faster(what: str, peer: str, timing: Timing, required: float, note: str = "") -> Row:
    """The row that asks for a ratio theirs / ours of at least `required`."""
    return Row(what, peer, timing.ours, timing.theirs, timing.ratio, required, True, "×", note)
