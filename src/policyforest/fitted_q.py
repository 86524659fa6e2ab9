"""Fitted Q Iteration (Ernst et al. 2005) on improved Extra-Trees, for continuous actions.

Q_1 is fitted on the rewards; then, with the samples (s, a, r, s'), Eqs. (FQI:input) and (FQI:output),

    x = (s, a),    y = r + gamma * max_a' Q_{h-1}(s', a')    (y = r where s' is terminal).

The maximum over the action box is exact (`Forest.best_action`), or the paper's merged and pruned tree on request.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from policyforest.arguments import Floats, one_of, real_number, seed_number, whole_number
from policyforest.dynamics_forest import DynamicsForest, Resampling
from policyforest.forests import Forest, Score, grow_forest
from policyforest.q_function import QFunction, SearchMode
from policyforest.spaces import bounds
from policyforest.transitions import Transitions

# Steps of the action box that thresholds on a single action dimension are drawn from: keeps the exact arg max cheap.
ACTION_GRID = 1024
# `horizon="auto"` ends at the latest when what is left of the discounted future is this part of it.
FORGOTTEN = 0.02
# Values of fewer samples are too noisy to tell when they have settled.
WATCHED_SAMPLES = 4_000


@dataclass(frozen=True)
class QIteration:
    """What one iteration did."""

    iteration: int
    """h, from 1"""
    change: float
    """Mean |V_h - V_{h-1}| over the next states that are not terminal"""
    drift: float
    """Mean of (V_h - V_{h-1}) / (|V_h| + |V_{h-1}|) over the same, with its sign: what `horizon="auto"` watches"""
    value: float
    """Mean of V_h over the same"""
    n_leaves: int
    seconds: float


class Optimism(Protocol):
    """What an explorer does to every iteration (see `policyforest.exploration`)."""

    def targets(self, inputs: Floats, targets: Floats, /) -> Floats:
        """The targets y of the samples (s, a), bent."""

    def leaves(self, forest: Forest, /) -> Forest:
        """The forest that was grown on them, bent."""


@dataclass(frozen=True)
class FittedQIteration:
    """Learns Q from a batch of samples. `fit(transitions)` returns a `QFunction`.

    Parameters
    ----------
    discount: gamma, in [0, 1).
    horizon: H, the number of iterations, or "auto": until the values have settled.
    n_averaged: with `horizon="auto"`, Q is the average of this many forests, the one that has settled and those after
        it: each is grown on other samples and splits, and the arg max of their average is steadier. With several
        action dimensions Q is the last forest: the maximum over more trees would cost too much.
    n_estimators, max_features, min_samples_leaf, min_variance, score: of the Q forest, see `grow_forest`. n_min is 1
        by default: what noise the single samples have, 25 trees and the policy's larger leaves average away (on the
        pendulum 1 gives -128, ln N = 9 gives -149).
    action_search: "exact", or "merged" for the paper's pruned merge with `max_leaves`.
    resample: samples drawn from a learned model are added to the given ones, new ones in each iteration (see
        `DynamicsForest`): "auto" where the model predicts held-out samples well, a number, or None for never.
    warm_start: begin with this Q function in place of zero.
    callback: called with a `QIteration` after each iteration.
    random_state, n_jobs: the seed and the threads; the result does not depend on the threads.
    """

    discount: float = 0.98
    horizon: int | Literal["auto"] = "auto"
    n_averaged: int = 5
    n_estimators: int = 25
    max_features: int | None = None
    min_samples_leaf: int | None = 1
    min_variance: float = 0.0
    score: Score = None
    action_search: SearchMode = "exact"
    max_leaves: int = 50
    resample: int | Literal["auto"] | None = "auto"
    warm_start: QFunction | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    callback: Callable[[QIteration], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        if self.horizon != "auto":
            whole_number("horizon", self.horizon, at_least=1)
        whole_number("n_averaged", self.n_averaged, at_least=1)
        if self.resample not in ("auto", None):
            whole_number("resample", self.resample, at_least=1)
        if self.warm_start is not None and not isinstance(self.warm_start, QFunction):
            raise TypeError(f"warm_start: is {self.warm_start!r}, must be a QFunction or None")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback: is {self.callback!r}, must be callable or None")
        one_of("action_search", self.action_search, ("exact", "merged"))

    def fit(self, transitions: Transitions | Any) -> QFunction:
        """Learns from Transitions, or from a dataset of another library that `as_transitions` knows."""
        from policyforest.readers.datasets import as_transitions

        return self.iterate(as_transitions(transitions))[0]

    def iterate(
        self,
        transitions: Transitions,
        *,
        start: Floats | None = None,
        optimism: Optimism | None = None,
        most: int | None = None,
    ) -> tuple[QFunction, Floats]:
        """`fit` for those who learn while they explore: the Q function, and max_a Q(s', a) by its last forest at the
        samples' next states that are not terminal. `start`: such values to begin with; `optimism`: what bends targets
        or leaves; `most`: the most iterations, whatever the horizon."""
        if not isinstance(transitions, Transitions):
            raise TypeError(f"transitions: is {type(transitions).__name__}, must be Transitions (see pf.collect)")
        seed = seed_number("random_state", self.random_state)
        source = self._source(transitions, seed)
        given, watched = _Samples(transitions), self._watched(transitions, source, seed)
        history: list[QIteration] = []
        n_averaged = self.n_averaged if self.horizon == "auto" and given.single else 1
        last: deque[Forest] = deque(maxlen=n_averaged)
        q, more = self.warm_start, min(self.most_iterations(), most or self.most_iterations())
        values = watched.values(q, self) if start is None else watched.started(start)
        while more > 0:
            started, h = time.perf_counter(), len(history) + 1
            last.append(self._next(given, values, source, q, (seed + h) % 2**64, optimism))
            q = QFunction(last[-1], transitions, self, tuple(history), source.report)
            old, values = values, watched.values(q, self)
            history.append(_report(h, old, values, q.forest, time.perf_counter() - started))
            if self.callback is not None:
                self.callback(history[-1])
            more -= 1
            if self.horizon == "auto" and settled(history):
                more = min(more, n_averaged - 1)
        q = QFunction(joined(last), transitions, self, tuple(history), source.report)
        return q, values[: np.count_nonzero(given.living)]

    def _next(
        self,
        given: _Samples,
        values: Floats,
        source: _Source,
        q: QFunction | None,
        seed: int,
        optimism: Optimism | None,
    ) -> Forest:
        """Q_h from Q_{h-1}, on the given samples, whose values come first, and on new ones from their model."""
        inputs, targets = given.inputs, given.targets(values[: np.count_nonzero(given.living)], self.discount)
        if source.number:
            drawn = _Samples(source.model.sample(source.number, random_state=seed))
            inputs = np.concatenate([inputs, drawn.inputs])
            targets = np.concatenate([targets, drawn.targets(drawn.values(q, self), self.discount)])
        if optimism is None:
            return self._grow(given, inputs, targets, seed)
        return optimism.leaves(self._grow(given, inputs, optimism.targets(inputs, targets), seed))

    def most_iterations(self) -> int:
        """No fit takes more iterations than this."""
        if self.horizon != "auto":
            return self.horizon
        return 1 if self.discount == 0 else max(10, int(np.ceil(np.log(FORGOTTEN) / np.log(self.discount))))

    def _grow(self, given: _Samples, inputs: Floats, targets: Floats, seed: int) -> Forest:
        return grow_forest(
            inputs,
            targets,
            n_estimators=self.n_estimators,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            min_variance=self.min_variance,
            score=self.score,
            grid=given.grid,
            periodic=given.transitions.periodic,
            box=given.box,
            random_state=seed,
            n_jobs=self.n_jobs,
        )

    def _watched(self, transitions: Transitions, source: _Source, seed: int) -> _Samples:
        """The samples whose values tell how learning goes: the given ones, and some of the model's if they are few."""
        missing = min(source.number, WATCHED_SAMPLES - len(transitions))
        if missing <= 0:
            return _Samples(transitions)
        return _Samples(Transitions.concatenate([transitions, source.model.sample(missing, random_state=seed)]))

    def _source(self, transitions: Transitions, seed: int) -> _Source:
        if self.resample is None:
            return _Source(None, 0, None)
        model = DynamicsForest(random_state=seed, n_jobs=self.n_jobs).fit(transitions)
        number = model.recommended_samples() if self.resample == "auto" else self.resample
        return _Source(model, number, model.resampling(number))


class _Source(NamedTuple):
    """Where more samples come from.

    They are drawn anew in each iteration: what a batch of them got wrong by chance is gone in the next, where the
    same batch would make the maximum trust its luck again and again (pendulum of 8 kg, the four worst of 34 policies:
    -163 with one batch, -117 with new ones).
    """

    model: Any
    number: int
    report: Resampling | None


@dataclass(frozen=True)
class _Samples:
    """What stays the same of samples: their inputs (s, a), the box, and where the maximum is needed."""

    transitions: Transitions

    def __post_init__(self) -> None:
        set_field = object.__setattr__.__get__(self)
        box = np.concatenate([self.transitions.state_box(), bounds(self.transitions.action_space)])
        set_field("inputs", np.concatenate([self.transitions.states, self.transitions.actions], axis=1))
        set_field("box", box)
        set_field("single", self.transitions.actions.shape[1] == 1)
        set_field("grid", {len(box) - 1: ACTION_GRID} if self.single and box[-1, 0] < box[-1, 1] else None)
        set_field("living", ~self.transitions.terminals)

    inputs: Floats = field(init=False)
    box: Floats = field(init=False)
    single: bool = field(init=False)
    """Whether there is one action dimension: the maximum over several costs a millisecond a state"""
    grid: dict[int, int] | None = field(init=False)
    living: Any = field(init=False)

    def values(self, q: QFunction | None, settings: FittedQIteration) -> Floats:
        """max_a Q(s', a) where s' is not terminal."""
        ahead = self.transitions.next_states[self.living]
        if q is None or len(ahead) == 0:
            return np.zeros(len(ahead))
        return q.maxima(ahead, settings.n_jobs).value

    def started(self, values: Floats) -> Floats:
        """Values to begin with, checked."""
        n_living = int(np.count_nonzero(self.living))
        if values.shape != (n_living,):
            raise ValueError(f"start: has shape {values.shape}, must have shape ({n_living},)")
        return values

    def targets(self, values: Floats, discount: float) -> Floats:
        y = self.transitions.rewards.copy()
        y[self.living] += discount * values
        return y


def joined(forests: Iterable[Forest]) -> Forest:
    """One forest of all trees; the average of forests of the same size."""
    parts = [forest.arrays for forest in forests]
    offsets = [np.zeros(1, dtype=np.int64)]
    for part in parts:
        offsets.append(offsets[-1][-1] + part["node_offsets"][1:])
    whole = {name: np.concatenate([part[name] for part in parts]) for name in ("feature", "split", "child")}
    return Forest.from_arrays(**whole, node_offsets=np.concatenate(offsets), box=parts[0]["box"])


def _report(h: int, old: Floats, new: Floats, forest: Forest, seconds: float) -> QIteration:
    if len(new) == 0:
        return QIteration(h, 0.0, 0.0, 0.0, forest.n_leaves, seconds)
    size = np.abs(new) + np.abs(old)
    relative = np.divide(new - old, size, out=np.zeros_like(new), where=size > 0)
    return QIteration(
        iteration=h,
        change=float(np.mean(np.abs(new - old))),
        drift=float(np.mean(relative)),
        value=float(np.mean(new)),
        n_leaves=forest.n_leaves,
        seconds=seconds,
    )


def settled(history: list[QIteration], tolerance: float = 5e-3, window: int = 6) -> bool:
    """Whether the values have stopped drifting.

    Forests are regrown with other splits in each iteration, so single values never stand still; but news that still
    travels back from rewards moves them to one side. The relative change, averaged with its sign over the samples and
    over the last `window` iterations, must be small. (Measured: 18 iterations on the pendulum, 33 on Car on the Hill,
    40 on the swing-up; a criterion on |change| stops at the noise of the forests or never.)
    """
    return len(history) > window and bool(abs(np.mean([it.drift for it in history[-window:]])) < tolerance)
