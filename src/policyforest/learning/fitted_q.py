"""Fitted Q Iteration (Ernst et al. 2005) on improved Extra-Trees, for continuous actions.

Q_1 is fitted on the rewards; then, with the samples (s, a, r, s'), Eqs. (FQI:input) and (FQI:output),

    x = (s, a),    y = r + gamma * max_a' Q_{h-1}(s', a')    (y = r where s' is terminal).

The maximum over the action box is exact (`Forest.best_action`), or the paper's merged and pruned tree on request.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from policyforest._support.arguments import Floats, one_of, real_number, seed_number, whole_number
from policyforest._support.files import array_digest
from policyforest._support.settings import HOW, result_settings
from policyforest.data.transitions import Transitions
from policyforest.forest.executors.interface import Executor, Threads
from policyforest.forest.forest import Forest
from policyforest.forest.forest_blocks import SharedInputs, Tell, silent
from policyforest.forest.growth_rules import Score
from policyforest.forest.maximiser import SearchMode
from policyforest.learning.dynamics_forest import ENOUGH_SAMPLES, DynamicsForest, Resampling
from policyforest.learning.q_checkpoint import QCheckpoint, QState, forest_digest, samples_digest
from policyforest.learning.q_function import QFunction
from policyforest.learning.q_progress import QClock, QProgress
from policyforest.learning.q_samples import QSamples

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
    executor: what runs trees and maxima in place of this process's threads, see `policyforest.executors`; the result
        is the same, bit for bit.
    checkpoint_dir: a folder where each finished iteration is kept; the same fit goes on from there and ends with the
        same bits. A folder of other settings or samples is refused.
    progress: called with a `QProgress` after each block of trees or states.
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
    executor: Executor | None = field(default=None, repr=False, metadata=HOW)
    checkpoint_dir: str | os.PathLike[str] | None = field(default=None, repr=False, metadata=HOW)
    progress: Callable[[QProgress], None] | None = field(default=None, repr=False, metadata=HOW)

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        if self.horizon != "auto":
            whole_number("horizon", self.horizon, at_least=1)
        whole_number("n_averaged", self.n_averaged, at_least=1)
        if self.resample not in ("auto", None):
            whole_number("resample", self.resample, at_least=1)
        if self.warm_start is not None and not isinstance(self.warm_start, QFunction):
            raise TypeError(f"warm_start: is {self.warm_start!r}, must be a QFunction or None")
        for name in ("callback", "progress"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(f"{name}: is {getattr(self, name)!r}, must be callable or None")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise TypeError(f"executor: is {self.executor!r}, must be one of policyforest.forest.executors or None")
        one_of("action_search", self.action_search, ("exact", "merged"))

    def fit(self, transitions: Transitions | Any) -> QFunction:
        """Learns from Transitions, or from a dataset of another library that `as_transitions` knows."""
        from policyforest.data.readers.datasets import as_transitions

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
        executor = self.executor or Threads(self.n_jobs)
        given = QSamples(transitions, executor, "samples")
        executor.require(given.n_bytes)
        seed = seed_number("random_state", self.random_state)
        with self._checkpoint(transitions, seed, start, optimism, most) as checkpoint:
            seed = seed if checkpoint is None else checkpoint.settings["seed"]
            source = self._source(transitions, seed)
            watched = self._watched(given, source, seed, executor)
            n_averaged = self.n_averaged if self.horizon == "auto" and given.single else 1
            state = None if checkpoint is None else checkpoint.read(n_averaged)
            if state is None:
                state = QState([], [], watched.values(self.warm_start) if start is None else watched.started(start))
            history, values = state.history, state.values
            last = deque(state.last, maxlen=n_averaged)
            q = QFunction(last[-1], transitions, self) if last else self.warm_start
            most = min(self.most_iterations(), most or self.most_iterations())
            clock = QClock(self.progress, len(history) + 1, most)
            while self._left(history, most, n_averaged) > 0:
                started, h = time.perf_counter(), len(history) + 1
                clock.begin(h)
                if source.number == 0:  # the values are enough to go on, and growing needs the memory
                    q = None
                    last = last if n_averaged > 1 else deque(maxlen=1)
                last.append(self._next(given, values, source, q, (seed + h) % 2**64, optimism, clock.trees))
                q = QFunction(last[-1], transitions, self, tuple(history), source.report)
                old, values = values, watched.values(q, clock.values)
                if source.number == 0:
                    q.forest.release_search()
                history.append(_report(h, old, values, q.forest, time.perf_counter() - started))
                if checkpoint is not None:
                    checkpoint.write(QState(history, list(last), values))
                if self.callback is not None:
                    self.callback(history[-1])
        q = QFunction(Forest.join(last), transitions, self, tuple(history), source.report)
        return q, values[: given.n_living]

    def _left(self, history: list[QIteration], most: int, n_averaged: int) -> int:
        """The iterations that are left: after the first that has settled, those that Q is averaged over."""
        left = most - len(history)
        if self.horizon == "auto":
            drifts = [done.drift for done in history]
            first = next((h for h in range(1, len(drifts) + 1) if settled(drifts[:h])), None)
            left = left if first is None else min(left, first + n_averaged - 1 - len(history))
        return left

    def _next(
        self,
        given: QSamples,
        values: Floats,
        source: _Source,
        q: QFunction | None,
        seed: int,
        optimism: Optimism | None,
        tell: Tell = silent,
    ) -> Forest:
        """Q_h from Q_{h-1}, on the given samples, whose values come first, and on new ones from their model."""
        targets = given.targets(values[: given.n_living], self.discount)
        if source.number == 0 and optimism is None:
            return self._grow(given.shared_inputs, targets, given, seed, tell)
        inputs = given.inputs
        if source.number:
            drawn = QSamples(source.model.sample(source.number, random_state=seed), given.executor, "drawn")
            inputs = np.concatenate([inputs, drawn.inputs])
            targets = np.concatenate([targets, drawn.targets(drawn.values(q), self.discount)])
        if optimism is not None:
            targets = optimism.targets(inputs, targets)
        shared = SharedInputs(given.executor, "all", [*inputs.T], given.box, given.transitions.periodic)
        forest = self._grow(shared, targets, given, seed, tell)
        return forest if optimism is None else optimism.leaves(forest)

    def most_iterations(self) -> int:
        """No fit takes more iterations than this."""
        if self.horizon != "auto":
            return self.horizon
        return 1 if self.discount == 0 else max(10, int(np.ceil(np.log(FORGOTTEN) / np.log(self.discount))))

    def _grow(self, inputs: SharedInputs, targets: Floats, given: QSamples, seed: int, tell: Tell) -> Forest:
        return inputs.grow(
            targets,
            n_estimators=self.n_estimators,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            min_variance=self.min_variance,
            score=self.score,
            grid=given.grid,
            random_state=seed,
            tell=tell,
        )

    def _watched(self, given: QSamples, source: _Source, seed: int, executor: Executor) -> QSamples:
        """The samples whose values tell how learning goes: the given ones, and some of the model's if they are few."""
        missing = min(source.number, WATCHED_SAMPLES - len(given.transitions))
        if missing <= 0:
            return given
        drawn = source.model.sample(missing, random_state=seed)
        return QSamples(Transitions.concatenate([given.transitions, drawn]), executor, "watched")

    def _checkpoint(
        self, transitions: Transitions, seed: int, start: Floats | None, optimism: Optimism | None, most: int | None
    ) -> Any:
        """The folder of this fit, to be left when it ends; None where nothing is kept."""
        if self.checkpoint_dir is None:
            return nullcontext()
        if optimism is not None:
            raise ValueError("checkpoint_dir: goes with fit alone, must be None while exploring")
        warm = None if self.warm_start is None else self.warm_start.forest
        settings = {
            "learner": result_settings(self),
            "seed": seed,
            "samples": samples_digest(transitions),
            "warm_start": forest_digest(warm),
            "start": None if start is None else array_digest({"start": start}),
            "most": most,
        }
        defaults = result_settings(FittedQIteration())
        any_seed = self.random_state is None
        return QCheckpoint.open(self.checkpoint_dir, settings, defaults=defaults, any_seed=any_seed)

    def _source(self, transitions: Transitions, seed: int) -> _Source:
        if self.resample is None or (self.resample == "auto" and len(transitions) >= ENOUGH_SAMPLES):
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


def _report(h: int, old: Floats, new: Floats, forest: Forest, seconds: float) -> QIteration:
    if len(new) == 0:
        return QIteration(h, 0.0, 0.0, 0.0, forest.n_leaves, seconds)
    return QIteration(
        iteration=h,
        change=float(np.mean(np.abs(new - old))),
        drift=drift(old, new),
        value=float(np.mean(new)),
        n_leaves=forest.n_leaves,
        seconds=seconds,
    )


def drift(old: Floats, new: Floats) -> float:
    """The relative change of values, averaged with its sign."""
    size = np.abs(new) + np.abs(old)
    return float(np.mean(np.divide(new - old, size, out=np.zeros_like(new), where=size > 0)))


def settled(drifts: Sequence[float], tolerance: float = 5e-3, window: int = 6) -> bool:
    """Whether the values have stopped drifting.

    Forests are regrown with other splits in each iteration, so single values never stand still; but news that still
    travels back from rewards moves them to one side. The relative change, averaged with its sign over the samples and
    over the last `window` iterations, must be small. (Measured: 18 iterations on the pendulum, 33 on Car on the Hill,
    40 on the swing-up; a criterion on |change| stops at the noise of the forests or never.)
    """
    return len(drifts) > window and bool(abs(np.mean(drifts[-window:])) < tolerance)
