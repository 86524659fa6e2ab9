"""About how many seconds a computation still takes. Between two reports the estimate only falls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class UsualStage:
    """A stage of planning."""

    seconds: float
    """Median over the problems that have the stage"""
    share: float
    """The part of the problems that have the stage"""


# Processor time on one core, with the default samples of `policyforest learn`, for twelve problems: the seven of this
# library, Pendulum-v1, InvertedPendulum-v5, MountainCarContinuous-v0, and Reacher-v5 and InvertedDoublePendulum-v5 with
# 5,000 steps. They differ much: learning the model took 0.06 s to 17 s. None of them fitted the model again; this stage
# was measured on cart-pole-swing-up with 15 episodes.
STAGES = {
    "learning the model": UsualStage(1.5, 1.0),
    "planning on a grid": UsualStage(1.8, 0.5),
    "Fitted Q Iteration": UsualStage(7.8, 0.25),
    "fitting the model for": UsualStage(0.2, 0.1),
    "by trajectories": UsualStage(4.5, 0.6),
    "improving the gains": UsualStage(1.5, 0.25),
    "by rollouts": UsualStage(2.3, 0.3),
}
# The pace of this machine and problem follows from the stages that have ended. This many seconds at the usual pace are
# added to them, because the first stage is short.
PRIOR = 2.0
# If a stage takes longer than estimated, its time left stays at this share of the estimate.
LEAST = 0.1

Clock = Callable[[], float]


def stage_number(stage: str) -> int | None:
    """The position of a stage of planning; None for a stage of anything else."""
    return next((i for i, text in enumerate(STAGES) if text in stage), None)


class Estimate(Protocol):
    """What a bar shows; None where nothing is known."""

    def left(self) -> float | None:
        """Seconds."""

    def share(self) -> float | None:
        """The part of the work that is done."""


class EqualParts:
    """A computation of equal parts: the time left follows from the time of those that are done."""

    def __init__(self, total: float | None = None, done: float = 0.0, clock: Clock = time.monotonic) -> None:
        self._total, self._begun, self._done, self._clock = total, done, done, clock
        self._start = self._told = clock()

    def update(self, done: float) -> None:
        """Reports the number of parts that are done."""
        if done > self._done:
            self._done, self._told = done, self._clock()

    def left(self) -> float | None:
        """Seconds; None before the first part is done."""
        if self._total is None or self._done <= self._begun:
            return None
        pace = (self._told - self._start) / (self._done - self._begun)
        return _remaining(pace * (self._total - self._done), self._clock() - self._told)

    def share(self) -> float | None:
        """The part of the work that is done."""
        return None if not self._total else self._done / self._total


@dataclass(frozen=True)
class _Stage:
    number: int
    told: float
    """When it began"""
    pace: float
    """Seconds on this machine per usual second"""


class Stages:
    """Planning: the time left follows from the usual times of its stages, and from the time of those that have ended.

    Whether a plan will have a later stage is not known; the stage counts in proportion to the plans that have it."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._usual = list(STAGES.values())
        self._passed = 0.0
        # Replaced as a whole, because the thread that draws the bar reads it.
        self._now: _Stage | None = None
        self._shown = 0.0

    def begin(self, stage: int) -> None:
        """Reports that a stage has begun, by its number."""
        if self._now is not None:
            self._passed += self._usual[self._now.number].seconds
        told = self._clock()
        self._now = _Stage(stage, told, (told - self._start + PRIOR) / (self._passed + PRIOR))

    def left(self) -> float | None:
        """Seconds; None before the first stage."""
        now = self._now
        if now is None:
            return None
        later = sum(stage.seconds * stage.share for stage in self._usual[now.number + 1 :])
        return now.pace * later + _remaining(now.pace * self._usual[now.number].seconds, self._clock() - now.told)

    def share(self) -> float | None:
        """The part of the work that is done; it never falls."""
        left = self.left()
        if left is None:
            return None
        elapsed = self._clock() - self._start
        self._shown = max(self._shown, elapsed / (elapsed + left))
        return self._shown


def _remaining(expected: float, passed: float) -> float:
    return max(expected - passed, LEAST * expected)
