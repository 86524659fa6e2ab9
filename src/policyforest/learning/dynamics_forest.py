"""A learned model of the transitions, and samples drawn from it near the data.

Linear-leaf forests learn the change of state and the reward of steps that do not end the episode; a constant-leaf
forest learns the chance that a step is terminal, and another what a terminal step pays. A drawn sample starts near an
observed state, takes a uniform action, and adds to the model's prediction the residual of an observed step: a few
hundred samples become thousands, and Fitted Q Iteration sees the system's noise and its continuous actions instead of
single points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.angles import difference, wrapped
from policyforest._support.arguments import Floats, seed_number, whole_number
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.forest.growth_rules import LeafModel
from policyforest.learning.nearby_states import NearbyStates, clip

# Beyond this number the samples speak for themselves. (Pendulum-v1, 10,000 samples: -177 with resampling on two seeds
# that gave -206 and -630 without.)
ENOUGH_SAMPLES = 20_000
DRAWN_SAMPLES = 15_000
# The model is good enough when it explains this share of the variance of held-out changes of state and rewards.
GOOD_SCORE = 0.8
FOLDS = 3
# Leaf sizes to choose from, in units of the number of coefficients of a leaf.
LEAF_SIZES = (2, 5, 12, 30)

Folds = NDArray[np.int64]


@dataclass(frozen=True)
class Resampling:
    """What was drawn, and how good the model was on held-out samples."""

    n_drawn: int
    state_scores: tuple[float, ...]
    """R² of the change of each state dimension, by cross-validation over episodes"""
    reward_score: float
    terminal_error: float
    """Mean |chance - outcome| of terminal steps, by cross-validation"""


@dataclass(frozen=True)
class DynamicsForest:
    """Learns a model from samples; `fit` returns a `DynamicsModel`.

    The leaves' size is chosen for each output by cross-validation over episodes; so is whether the end of an episode is
    told from (s, a) or from the predicted next state.
    """

    n_estimators: int = 25
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1

    def fit(self, transitions: Transitions) -> DynamicsModel:
        """Learns the change of state, the reward and the end of a step."""
        data = transitions
        seed = seed_number("random_state", self.random_state)
        folds = _folds(data, seed)
        living = ~data.terminals
        changes = _changes(data)
        learned = [self._best_output(data, changes[:, d], living, folds, seed + 2 + d) for d in range(changes.shape[1])]
        reward = self._best_output(data, data.rewards, living, folds, seed + 1)
        held_out = np.stack([output.held_out for output in learned], axis=1)
        ends = self._best_end(data, held_out, folds, seed)
        paid = self._grow(data, _inputs(data), data.rewards, data.terminals, "constant", None, seed)
        return DynamicsModel(data, tuple(learned), reward, ends, paid)

    def _grow(
        self,
        data: Transitions,
        inputs: Floats,
        y: Floats,
        rows: NDArray[np.bool_],
        leaf_model: LeafModel,
        min_samples_leaf: int | None,
        seed: int,
    ) -> Forest | None:
        if not rows.any():
            return None
        return grow_forest(
            inputs[rows],
            y[rows],
            n_estimators=self.n_estimators,
            min_samples_leaf=min_samples_leaf,
            leaf_model=leaf_model,
            periodic=data.periodic,
            random_state=seed % 2**64,
            n_jobs=self.n_jobs,
        )

    def _held_out(
        self, data: Transitions, inputs: Floats, y: Floats, rows: NDArray[np.bool_], folds: Folds, *how: Any
    ) -> Floats:
        """Predictions for each sample by a forest that has not seen its episode."""
        predicted = np.full(len(y), np.nan)
        for fold in np.unique(folds):
            held = folds == fold
            forest = self._grow(data, inputs, y, rows & ~held, *how)
            predicted[held] = (
                predict_median(forest, inputs[held]) if how[0] == "linear" else _predict(forest, inputs[held])
            )
        return predicted

    def _best_output(
        self, data: Transitions, y: Floats, rows: NDArray[np.bool_], folds: Folds | None, seed: int
    ) -> Output:
        inputs = _inputs(data)
        width = inputs.shape[1] + 1
        sizes = [width * k for k in LEAF_SIZES if k == LEAF_SIZES[0] or 4 * width * k <= rows.sum()]
        best = Output(None, -np.inf, np.full(len(y), np.nan), y)
        size = sizes[0]
        for candidate in sizes:
            if folds is None:
                break
            held_out = self._held_out(data, inputs, y, rows, folds, "linear", candidate, seed)
            score = _r2(y[rows], held_out[rows])
            if score > best.score:
                best, size = Output(None, score, held_out, y), candidate
        forest = self._grow(data, inputs, y, rows, "linear", size, seed)
        return replace(best, forest=forest)

    def _best_end(self, data: Transitions, held_out: Floats, folds: Folds | None, seed: int) -> End:
        """The chance of a terminal step, from (s, a) or the next state: whichever errs less on held-out samples."""
        outcomes = data.terminals.astype(np.float64)
        everything = np.ones(len(data), dtype=bool)
        by_input = End(self._grow(data, _inputs(data), outcomes, everything, "constant", None, seed), False, np.inf)
        by_next = End(self._grow(data, data.next_states, outcomes, everything, "constant", 1, seed), True, np.inf)
        if folds is None:
            return by_input
        chances = self._held_out(data, _inputs(data), outcomes, everything, folds, "constant", None, seed)
        by_input = replace(by_input, error=float(np.mean(np.abs(chances - outcomes))))
        if not np.isfinite(held_out).all():
            return by_input
        guessed = np.empty(len(data))
        for fold in np.unique(folds):
            held = folds == fold
            forest = self._grow(data, data.next_states, outcomes, ~held, "constant", 1, seed)
            guessed[held] = _predict(forest, wrapped(data.states + held_out, data.periodic)[held])
        by_next = replace(by_next, error=float(np.mean(np.abs(guessed - outcomes))))
        return by_next if by_next.error < by_input.error else by_input


@dataclass(frozen=True)
class Output:
    """A learned output: its forest, R² on held-out samples, the predictions there, and what was observed."""

    forest: Forest | None
    score: float
    held_out: Floats
    observed: Floats

    def __call__(self, rows: Floats) -> Floats:
        return predict_median(self.forest, rows)


@dataclass(frozen=True)
class End:
    """Where episodes end: a forest over (s, a), or over the next state."""

    forest: Forest | None
    of_next_state: bool
    error: float

    def __call__(self, rows: Floats, next_states: Floats) -> Floats:
        return _predict(self.forest, next_states if self.of_next_state else rows)


@dataclass(frozen=True)
class DynamicsModel:
    """A model of the transitions that a `DynamicsForest` learned."""

    transitions: Transitions
    changes: tuple[Output, ...]
    reward: Output
    end: End
    terminal_reward: Forest | None

    def resampling(self, n_drawn: int) -> Resampling:
        """The report that goes with `n_drawn` samples."""
        return Resampling(n_drawn, tuple(out.score for out in self.changes), self.reward.score, self.end.error)

    def recommended_samples(self) -> int:
        """How many samples to draw: none where there are enough or the model is poor, or where several actions make the
        maximum of Q costly."""
        return DRAWN_SAMPLES if self.is_useful and self.transitions.actions.shape[1] == 1 else 0

    @property
    def is_useful(self) -> bool:
        """Whether it predicts held-out samples well, and these are so few that more of them help."""
        good = min(self.reward.score, *(out.score for out in self.changes)) >= GOOD_SCORE
        return good and len(self.transitions) < ENOUGH_SAMPLES

    @cached_property
    def _nearby(self) -> NearbyStates:
        return NearbyStates(self.transitions)

    def sample(
        self,
        n: int,
        random_state: int | np.random.Generator | None = 0,
        control_law: Callable[[Floats], Floats] | None = None,
    ) -> Transitions:
        """`n` transitions of the model: states near observed ones, uniform actions, observed residuals as noise. With a
        control law (rows of states → actions) half of the actions are its own."""
        n = whole_number("n", n, at_least=1)
        data = self.transitions
        rng = np.random.default_rng([seed_number("random_state", random_state), 1])
        states = self._nearby.draw(n, rng)
        box = bounds(data.action_space)
        actions = clip(box[:, 0] + rng.random((n, len(box))) * (box[:, 1] - box[:, 0]), box)
        if control_law is not None:
            actions[: n // 2] = clip(control_law(states[: n // 2]), box)
        rows = np.concatenate([states, actions], axis=1)
        drawn = self._residuals(n, rng)
        changes = np.stack([out(rows) for out in self.changes], axis=1) + drawn[:, :-1]
        rewards = self.reward(rows) + drawn[:, -1]
        next_states = wrapped(states + changes, data.periodic)
        terminals = rng.random(n) < self.end(rows, next_states)
        rewards[terminals] = _predict(self.terminal_reward, rows[terminals])
        next_states[~terminals] = clip(next_states[~terminals], data.state_box())
        return Transitions(
            states,
            actions,
            rewards,
            next_states,
            terminals,
            np.arange(n),
            action_space=data.action_space,
            observation_space=data.observation_space,
            state_limits=data.state_limits,
            periodic=data.periodic,
        )

    def _residuals(self, n: int, rng: np.random.Generator) -> Floats:
        """What the model missed at random observed steps, of all outputs at the same step."""
        outputs = (*self.changes, self.reward)
        living = np.flatnonzero(~self.transitions.terminals)
        if len(living) == 0:
            return np.zeros((n, len(outputs)))
        missed = np.stack([(out.observed - out.held_out)[living] for out in outputs], axis=1)
        return np.nan_to_num(missed[rng.integers(len(living), size=n)])


def predict_median(forest: Forest | None, rows: Floats) -> Floats:
    """The median of the trees: at the edge of the data single linear leaves may be wild, their median is not."""
    if forest is None or len(rows) == 0:
        return np.zeros(len(rows))
    return np.asarray(np.median([forest[k].predict(rows) for k in range(len(forest))], axis=0))


def _inputs(data: Transitions) -> Floats:
    return np.concatenate([data.states, data.actions], axis=1)


def _changes(data: Transitions) -> Floats:
    """s' - s, the short way round for angles."""
    columns = range(data.states.shape[1])
    return np.stack([difference(data.next_states[:, d], data.states[:, d], data.periodic, d) for d in columns], axis=1)


def _predict(forest: Forest | None, rows: Floats) -> Floats:
    if forest is None or len(rows) == 0:
        return np.zeros(len(rows))
    return forest.predict(rows)


def _r2(truth: Floats, predicted: Floats) -> float:
    if len(truth) < 2:
        return -np.inf
    error = float(np.mean((truth - predicted) ** 2))
    if error <= (1e-12 * float(np.abs(truth).max())) ** 2:  # right but for rounding, even if nothing varies
        return 1.0
    return 1.0 - error / float(truth.var()) if truth.var() > 0 else -np.inf


def _folds(data: Transitions, seed: int) -> Folds | None:
    """A fold a sample, whole episodes together; None where there are too few episodes."""
    episodes = np.unique(data.episodes)
    if len(episodes) < 2:
        return None
    number = min(FOLDS, len(episodes))
    order = np.random.default_rng([seed, 2]).permutation(len(episodes))
    fold_of = dict(zip(episodes[order].tolist(), np.arange(len(episodes)) % number, strict=True))
    return np.array([fold_of[e] for e in data.episodes.tolist()])
