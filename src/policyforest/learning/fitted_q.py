"""Fitted Q Iteration (Ernst et al. 2005) on improved Extra-Trees, for continuous actions.

Q_1 is fitted on the rewards; then, with the samples (s, a, r, s'), Eqs. (FQI:input) and (FQI:output),

    x = (s, a),    y = r + gamma * max_a' Q_{h-1}(s', a')    (y = r if s' is terminal).

The maximum over the action box is exact for one action dimension. For several, a value near the maximum is used,
because the exact one can cost milliseconds per state (`Forest.best_action`). The paper's merged and pruned tree is used
on request.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from policyforest._support.arguments import Floats, one_of, real_number, seed_number, whole_number
from policyforest._support.files import array_digest
from policyforest._support.settings import HOW, result_settings
from policyforest.data.transitions import Transitions
from policyforest.forest.best_actions import SearchMode
from policyforest.forest.executors.interface import Executor, Threads
from policyforest.forest.forest import Forest
from policyforest.forest.forest_blocks import SharedInputs, Tell, silent
from policyforest.forest.growth_rules import Score
from policyforest.forest.maximiser import ACTION_SEARCHES, ActionSearch, Maximiser, search_mode
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.q_checkpoint import QCheckpoint, forest_digest, samples_digest
from policyforest.learning.q_function import QFunction
from policyforest.learning.q_history import QIteration, QState, Settling, first_settled
from policyforest.learning.q_observer import QObserver
from policyforest.learning.q_progress import QProgress
from policyforest.learning.q_samples import QSamples
from policyforest.learning.q_source import SampleSource

# `horizon="auto"` ends at the latest when this fraction of the discounted future is left.
FORGOTTEN = 0.02
# The values of settings that files of version 0.1.0 do not have.
EARLIER_SETTINGS: dict[str, Any] = {"settling": "sign"}


class Optimism(Protocol):
    """The optimism that an explorer adds to every iteration (see `policyforest.exploration`)."""

    def targets(self, inputs: Floats, targets: Floats, /) -> Floats:
        """The targets y of the samples (s, a) with optimism."""

    def leaves(self, forest: Forest, /) -> Forest:
        """The forest that was grown on the targets, with optimism in its leaves."""


@dataclass(frozen=True)
class FittedQIteration:
    """Learns Q from a batch of samples. `fit(transitions)` returns a `QFunction`.

    Args:
        discount: gamma, in [0, 1).
        horizon: H, the number of iterations, or "auto": until the values have settled.
        settling: The measure by which `horizon="auto"` ends: how much the "differences" between values still change, or
            the signed change of the values ("sign", the rule of version 0.1.0, which files of that version still use).
        n_averaged: With `horizon="auto"`, Q is the average of this many forests: the first one that has settled and
            those after it. Each is grown with other samples and splits, so the arg max of their average is steadier.
            If several action dimensions are searched by "exact" or "merged", Q is only the last forest, because the
            maximum over more trees would cost too much.
        n_estimators: The number of trees of the Q forest.
        max_features: As in `grow_forest`.
        min_samples_leaf: n_min of the Q forest. The default is 1: 25 trees and the policy's larger leaves average the
            noise of single samples away (on the pendulum 1 gives -128, ln N = 9 gives -149).
        min_variance: As in `grow_forest`.
        score: As in `grow_forest`.
        action_search: How the maximum over the actions is searched, as in `Forest.best_action`: "exact", "bounded",
            "merged" for the paper's pruned merge with `max_leaves`, or "auto": exact for one action dimension, bounded
            for several.
        max_leaves: Leaves of the merged tree, with `action_search="merged"`.
        resample: Adds samples drawn from a learned model to the given samples, new ones in each iteration (see
            `DynamicsForest`): "auto" if the model predicts held-out samples well; a fitted `DynamicsModel` of the
            samples, which is then used instead of learning one; a number of samples; or None for never.
        warm_start: Begin with this Q function in place of zero.
        callback: Called with a `QIteration` after each iteration.
        random_state: The seed.
        n_jobs: The number of threads; the result does not depend on it.
        executor: Grows trees and finds maxima instead of threads of this process, see `policyforest.executors`; the
            result is the same, bit for bit.
        checkpoint_dir: A folder that keeps each finished iteration. The same fit resumes from it and ends with the same
            bits. A folder of a fit with other settings or samples is refused.
        progress: Called with a `QProgress` after each block of trees or states.
    """

    discount: float = 0.98
    horizon: int | Literal["auto"] = "auto"
    n_averaged: int = 5
    n_estimators: int = 25
    max_features: int | None = None
    min_samples_leaf: int | None = 1
    min_variance: float = 0.0
    score: Score = None
    action_search: ActionSearch = "auto"
    max_leaves: int = 50
    resample: int | DynamicsModel | Literal["auto"] | None = "auto"
    warm_start: QFunction | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    callback: Callable[[QIteration], None] | None = field(default=None, repr=False)
    executor: Executor | None = field(default=None, repr=False, metadata=HOW)
    checkpoint_dir: str | os.PathLike[str] | None = field(default=None, repr=False, metadata=HOW)
    progress: Callable[[QProgress], None] | None = field(default=None, repr=False, metadata=HOW)
    settling: Settling = "differences"

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        if self.horizon != "auto":
            whole_number("horizon", self.horizon, at_least=1)
        whole_number("n_averaged", self.n_averaged, at_least=1)
        if self.resample not in ("auto", None) and not isinstance(self.resample, DynamicsModel):
            whole_number("resample", self.resample, at_least=1)
        if self.warm_start is not None and not isinstance(self.warm_start, QFunction):
            raise TypeError(f"warm_start: is {self.warm_start!r}, must be a QFunction or None")
        for name in ("callback", "progress"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(f"{name}: is {getattr(self, name)!r}, must be callable or None")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise TypeError(f"executor: is {self.executor!r}, must be one of policyforest.forest.executors or None")
        one_of("action_search", self.action_search, ACTION_SEARCHES)
        one_of("settling", self.settling, ("differences", "sign"))

    def search_mode(self, transitions: Transitions) -> SearchMode:
        """How the maximum over the actions of these samples is searched."""
        return search_mode(self.action_search, transitions.actions.shape[1])

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
        """`fit` for agents that learn while they explore. Returns the Q function, and max_a Q(s', a) of its last forest
        at the samples' next states that are not terminal. `start`: such values to begin with; `optimism`: changes
        targets or leaves; `most`: the largest number of iterations, whatever the horizon."""
        given = self._samples(transitions)
        seed = seed_number("random_state", self.random_state)
        with self._observer(transitions, seed, start, optimism, most) as observer:
            seed, settling = observer.seed(seed), observer.settling(self.settling)
            source = SampleSource.of(transitions, self.resample, seed, self.n_jobs)
            watched = source.watched(given, seed)
            n_averaged = self.n_averaged if self.horizon == "auto" and given.by_lines else 1
            state = observer.resumed(n_averaged) or QState.start(self._first_values(watched, start))
            most = min(self.most_iterations(), most or self.most_iterations())
            observer.start(state, most)
            while self._left(state, most, n_averaged) > 0:
                h_seed = (seed + len(state.history) + 1) % 2**64
                state = observer.begin(state, keep_forests=source.number > 0 or n_averaged > 1)
                forest = self._next(given, state, source, h_seed, optimism, observer.trees)
                values = watched.values(self._maximiser(forest, given), observer.values)
                state = state.then(forest, values, n_averaged, observer.seconds, watched.ends, settling)
                del forest  # growing the next forest needs the memory
                observer.finish(state, keep_search=source.number > 0)
        q = QFunction(Forest.join(state.last), transitions, self, state.history, source.report)
        return q, state.values[: given.n_living]

    def _samples(self, transitions: Transitions) -> QSamples:
        if not isinstance(transitions, Transitions):
            raise TypeError(f"transitions: is {type(transitions).__name__}, must be Transitions (see pf.collect)")
        executor = self.executor or Threads(self.n_jobs)
        given = QSamples(transitions, executor, "samples", self.search_mode(transitions))
        executor.require(given.n_bytes)
        return given

    def _first_values(self, watched: QSamples, start: Floats | None) -> Floats:
        """V_0 at the next states: the argument, the value of the warm start, or 0."""
        if start is not None:
            return watched.started(start)
        return watched.values(None if self.warm_start is None else self.warm_start.maximiser())

    def _left(self, state: QState, most: int, n_averaged: int) -> int:
        """The number of iterations left: after the first one that has settled, those that Q is averaged over."""
        done = len(state.history)
        first = first_settled(state.history) if self.horizon == "auto" else None
        return most - done if first is None else min(most, first + n_averaged - 1) - done

    def _next(
        self,
        given: QSamples,
        state: QState,
        source: SampleSource,
        seed: int,
        optimism: Optimism | None,
        tell: Tell = silent,
    ) -> Forest:
        """Q_h from Q_{h-1}, on the given samples, whose values come first, and on new ones from their model."""
        targets = given.targets(state.values[: given.n_living], self.discount)
        drawn = source.draw(given, seed)
        if drawn is None and optimism is None:
            return self._grow(given.shared_inputs, targets, given, seed, tell)
        inputs = given.inputs
        if drawn is not None:
            ahead = drawn.values(self._newest_maximiser(state, given))
            inputs = np.concatenate([inputs, drawn.inputs])
            targets = np.concatenate([targets, drawn.targets(ahead, self.discount)])
        if optimism is not None:
            targets = optimism.targets(inputs, targets)
        shared = SharedInputs(given.executor, "all", [*inputs.T], given.box, given.transitions.periodic)
        forest = self._grow(shared, targets, given, seed, tell)
        return forest if optimism is None else optimism.leaves(forest)

    def _maximiser(self, forest: Forest, given: QSamples) -> Maximiser:
        n_states, search = given.transitions.states.shape[1], self.search_mode(given.transitions)
        return Maximiser(forest, n_states, given.transitions.periodic, search, self.max_leaves)

    def _newest_maximiser(self, state: QState, given: QSamples) -> Maximiser | None:
        if state.last:
            return self._maximiser(state.last[-1], given)
        return None if self.warm_start is None else self.warm_start.maximiser()

    def most_iterations(self) -> int:
        """The largest number of iterations of a fit."""
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

    def _observer(
        self, transitions: Transitions, seed: int, start: Floats | None, optimism: Optimism | None, most: int | None
    ) -> QObserver:
        """The observer of this fit; a folder of other settings or samples is refused here."""
        if self.checkpoint_dir is None:
            return QObserver(self.progress, self.callback, None)
        if optimism is not None:
            raise ValueError("checkpoint_dir: works only with fit, must be None while exploring")
        settings = {
            "learner": result_settings(self) | self._resolved(transitions),
            "seed": seed,
            "samples": samples_digest(transitions),
            "warm_start": forest_digest(None if self.warm_start is None else self.warm_start.forest),
            "start": None if start is None else array_digest({"start": start}),
            "most": most,
        }
        checkpoint = QCheckpoint.open(
            self.checkpoint_dir,
            settings,
            defaults=result_settings(FittedQIteration()),
            earlier=EARLIER_SETTINGS,
            any_seed=self.random_state is None,
        )
        return QObserver(self.progress, self.callback, checkpoint)

    def _resolved(self, transitions: Transitions) -> dict[str, Any]:
        """Settings that a checkpoint keeps in another form: the search that is used, and a digest of samples drawn from
        a model."""
        resolved: dict[str, Any] = {"action_search": self.search_mode(transitions)}
        if isinstance(self.resample, DynamicsModel):
            resolved["resample"] = f"model {samples_digest(self.resample.sample(100, random_state=0))}"
        return resolved
