"""The course of Fitted Q Iteration: the changes in each iteration, its state, and when its values have settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.forest.forest import Forest

Settling = Literal["differences", "sign"]

# Trends are computed over so many iterations and the one before them; drifts are averaged over as many.
WINDOW = 6
# The number of groups of states of similar value, and of the states that are watched.
GROUPS, WATCHED = 10, 20_000
# Differences of values below this fraction of the values are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True)
class QIteration:
    """The changes of the values in one iteration."""

    iteration: int
    """h, from 1"""
    change: float
    """Mean |V_h - V_{h-1}| over the next states that are not terminal"""
    drift: float
    """How much the differences between values still change, relative to themselves; `horizon="auto"` ends by this
    number (see `q_history.drift`)"""
    value: float
    """Mean of V_h over the same states"""
    n_leaves: int
    seconds: float


class QState(NamedTuple):
    """The state after an iteration: all that is needed to continue."""

    history: tuple[QIteration, ...]
    last: tuple[Forest, ...]
    """The newest forests, oldest first"""
    values: Floats
    """max_a Q(s', a) of the newest forest"""
    recent: Floats
    """The values of some states after the last iterations, at most `WINDOW` rows, oldest first"""

    @classmethod
    def start(cls, values: Floats) -> QState:
        """Before the first iteration."""
        return cls((), (), values, some(values)[np.newaxis])

    def then(
        self,
        forest: Forest,
        values: Floats,
        n_kept: int,
        seconds: float,
        ends: float = 0.0,
        settling: Settling = "differences",
    ) -> QState:
        """The state after one more iteration, with the newest `n_kept` forests; `ends` as in `drift`."""
        recent = np.concatenate([self.recent, some(values)[np.newaxis]])
        moving = drift(recent, ends) if settling == "differences" else signed_drift(self.values, values)
        done = report(len(self.history) + 1, self.values, values, moving, forest, seconds)
        return QState((*self.history, done), (*self.last, forest)[-n_kept:], values, recent[-WINDOW:])


def report(h: int, old: Floats, new: Floats, moving: float, forest: Forest, seconds: float) -> QIteration:
    """The changes that iteration h made to the values."""
    if len(new) == 0:
        return QIteration(h, 0.0, 0.0, 0.0, forest.n_leaves, seconds)
    return QIteration(
        iteration=h,
        change=float(np.mean(np.abs(new - old))),
        drift=moving,
        value=float(np.mean(new)),
        n_leaves=forest.n_leaves,
        seconds=seconds,
    )


def some(values: Floats) -> Floats:
    """The values of at most `WATCHED` states, evenly spaced among all, which are enough to measure a drift."""
    return values[:: max(1, -(-len(values) // WATCHED))]


def drift(recent: Floats, ends: float = 0.0, level: bool = False) -> float:
    """How much differences between values change in an iteration, relative to themselves, on average. The best action
    depends only on differences: it does not change if all values grow by the same amount. States of similar value form
    groups. Terminal states, a fraction `ends` of the samples, form one more group, which stays at 0. The change of the
    difference of two groups is its trend over the iterations, less two standard errors, because values always change a
    little when forests are regrown with other splits. The changes are relative, so small differences count as much as
    large ones.

    Args:
        recent: The values of states after the last iterations, one row for each, oldest first.
        level: Measure the values themselves in place of their differences.
    """
    n_states = recent.shape[1]
    if n_states == 0:
        return 0.0
    groups = np.array_split(np.argsort(recent.mean(axis=0), kind="stable"), min(GROUPS, n_states))
    means = np.array([recent[:, group].mean(axis=1) for group in groups] + [np.zeros(len(recent))])
    weights = np.append([(1.0 - ends) * len(group) / n_states for group in groups], ends)
    least = ROUNDING * np.abs(means).max()
    if not level:
        first, second = np.triu_indices(len(means), 1)
        means, weights = means[first] - means[second], weights[first] * weights[second]
    return _relative_trend(np.where(np.abs(means) > least, means, 0.0), weights)


def _relative_trend(lines: Floats, weights: Floats) -> float:
    """The mean of abs(slope) / abs(mean), at most 1, of rows that are not all 0; slopes less two standard errors."""
    n, weights = lines.shape[1], np.where(lines.any(axis=1), weights, 0.0)
    time = np.arange(n) - (n - 1) / 2
    middle, slope = np.abs(lines.mean(axis=1)), lines @ time / (time @ time)
    rest = lines - lines.mean(axis=1, keepdims=True) - np.outer(slope, time)
    error = np.sqrt((rest**2).sum(axis=1) / max(1, n - 2) / (time @ time))
    sure = np.maximum(np.abs(slope) - 2.0 * error, 0.0)
    relative = np.divide(sure, np.maximum(middle, sure), out=np.zeros(len(lines)), where=sure > 0)
    return float(weights @ relative / weights.sum()) if weights.any() else 0.0


def signed_drift(old: Floats, new: Floats) -> float:
    """The relative change of values, averaged with its sign: the measure of version 0.1.0, whose files still use it."""
    size = np.abs(new) + np.abs(old)
    return float(np.mean(np.divide(new - old, size, out=np.zeros_like(new), where=size > 0)))


def settled(drifts: Sequence[float], tolerance: float = 5e-3, window: int = WINDOW) -> bool:
    """Whether the values have stopped drifting: the mean drift of the last `window` iterations is small.

    (Measured: 21 iterations on the pendulum, 35 on Car on the Hill, 39 on the swing-up.)
    """
    return len(drifts) > window and bool(abs(np.mean(drifts[-window:])) < tolerance)


def first_settled(history: Sequence[QIteration]) -> int | None:
    """The number of the first iteration whose values had settled."""
    drifts = [done.drift for done in history]
    return next((h for h in range(1, len(drifts) + 1) if settled(drifts[:h])), None)
