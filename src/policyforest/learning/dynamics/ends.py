"""Where episodes end: thresholds on single dimensions if they separate the samples, otherwise a learned probability.

Thresholds are exact where they exist: most systems end at a limit on the next state. Otherwise a logistic model of a
quadratic function of the next state and a forest are compared on held-out episodes (Brier score).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest._support.linear_systems import solved
from policyforest.data.transitions import Transitions
from policyforest.forest.growing import grow_forest
from policyforest.learning.dynamics.choice import HeldOut, choose
from policyforest.learning.dynamics.regression import FittedOutput, ModelInputs, fit_output, predict

EndKind = Literal["never", "thresholds", "logistic", "forest"]
# A threshold that explains fewer of the ends than this share is a coincidence.
EXPLAINED = 0.02
LOGISTIC_STEPS, LOGISTIC_RIDGE = 12, 0.01


@dataclass(frozen=True)
class EndModel:
    """What is known about terminal steps."""

    kind: EndKind
    error: float
    """Mean |chance - outcome| on held-out samples; 0 if thresholds separate them"""
    thresholds: tuple[tuple[int, float, float], ...] = ()
    """(dimension, sign, limit): terminal if sign * s'_d > limit"""
    inputs: ModelInputs | None = None
    chance: FittedOutput | None = None
    reward: FittedOutput | None = None
    """The reward of a terminal step, over the inputs of the dynamics"""

    def chance_at(self, next_states: Floats) -> Floats:
        """The probability that steps to these states are terminal."""
        if self.inputs is not None and self.chance is not None:
            linear = predict(self.chance, self.inputs, next_states)
            return _sigmoid(linear) if self.kind == "logistic" else np.clip(linear, 0.0, 1.0)
        beyond = [sign * next_states[:, d] > limit for d, sign, limit in self.thresholds]
        return np.any(beyond, axis=0).astype(np.float64) if beyond else np.zeros(len(next_states))

    def compile_into(self, model: _core.LearnedModel, dynamics_inputs: ModelInputs) -> None:
        """Adds the end to a compiled model."""
        if self.kind == "never" or self.reward is None:
            return
        paid = dynamics_inputs.group()
        self.reward.add_to(paid)
        chance = None
        if self.inputs is not None and self.chance is not None:
            chance = self.inputs.group()
            self.chance.add_to(chance)
        model.set_end(self.kind, list(self.thresholds), chance, paid)


def fit_end(
    data: Transitions, inputs: ModelInputs, held_out: HeldOut, seed: int, n_jobs: int | None, kernels: bool = False
) -> EndModel:
    """Learns where episodes end and the reward of their last steps; `inputs` are those of the dynamics."""
    if not data.terminals.any():
        return EndModel("never", 0.0)
    reward = _last_reward(data, inputs, held_out, seed, n_jobs, kernels)
    rule = find_thresholds(data)
    if rule is not None:
        return EndModel("thresholds", 0.0, rule, reward=reward)
    return _chance(data, held_out.fold, reward, seed, n_jobs)


def _last_reward(
    data: Transitions, inputs: ModelInputs, held_out: HeldOut, seed: int, n_jobs: int | None, kernels: bool
) -> FittedOutput:
    """The reward of terminal steps, which is often constant. If every step is terminal, it is all that there is to
    learn, and is learned like any other output."""
    ends = data.terminals
    if ends.all():
        kind = choose(inputs, data.rewards, held_out, seed, n_jobs, kernels).kind
        rows = np.arange(len(data))
        return fit_output(kind, inputs, data.rewards, rows, n_estimators=25, seed=seed, n_jobs=n_jobs)
    paid = grow_forest(
        inputs.rows[ends],
        data.rewards[ends],
        n_estimators=10,
        min_samples_leaf=5,
        periodic=inputs.periodic or None,
        random_state=seed % 2**64,
        n_jobs=n_jobs,
    )
    return FittedOutput(np.zeros(0), paid)


class _Side(NamedTuple):
    dimension: int
    sign: float
    limit: float
    beyond: NDArray[np.bool_]
    """Which terminal states lie beyond it"""


def find_thresholds(data: Transitions) -> tuple[tuple[int, float, float], ...] | None:
    """Limits on single dimensions that hold for all states that are not terminal and for no terminal one; None if there
    are none. The limits of the problem come first: an episode that ends at one of them may by coincidence be beyond the
    observed range of other dimensions. A single end beyond a limit of the problem does not count as a threshold."""
    left, rule = np.ones(int(data.terminals.sum()), dtype=bool), []
    for sides, fewest in zip(_sides(data), (1, max(2, EXPLAINED * len(left))), strict=True):
        while left.any():
            best = max(sides, key=lambda side: int((side.beyond & left).sum()), default=None)
            explained = 0 if best is None else int((best.beyond & left).sum())
            if best is None or explained < min(left.sum(), fewest):
                break
            rule.append((best.dimension, best.sign, best.limit))
            left &= ~best.beyond
    return None if left.any() else tuple(rule)


def _sides(data: Transitions) -> tuple[list[_Side], list[_Side]]:
    """The limits of the problem that terminal states lie beyond, and the limits halfway between the observed states and
    the terminal ones."""
    living = np.concatenate([data.states, data.next_states[~data.terminals]])
    ended, limits = data.next_states[data.terminals], np.asarray(data.state_limits)
    told, seen = list[_Side](), list[_Side]()
    for d in range(ended.shape[1]):
        for sign, side in ((1.0, 1), (-1.0, 0)):
            inner, limit = float((sign * living[:, d]).max()), sign * float(limits[d, side])
            beyond = sign * ended[:, d] > limit
            if inner <= limit and beyond.any():
                told.append(_Side(d, sign, limit, beyond))
            beyond = sign * ended[:, d] > inner
            if beyond.any():
                nearest = float((sign * ended[beyond, d]).min())
                seen.append(_Side(d, sign, (inner + nearest) / 2, beyond))
    return told, seen


def _chance(
    data: Transitions, fold: NDArray[np.int64], reward: FittedOutput, seed: int, n_jobs: int | None
) -> EndModel:
    inputs = ModelInputs(data.next_states, dict(data.periodic))
    outcome = data.terminals.astype(np.float64)
    guesses: dict[EndKind, Floats] = {"forest": np.empty(len(data))}
    if 3 * inputs.n_quadratic < len(data):
        guesses["logistic"] = np.empty(len(data))
    for f in np.unique(fold):
        train, held = fold != f, fold == f
        if not train.any():
            guesses = {kind: np.full(len(data), 0.5) for kind in guesses}
            break
        for kind, guess in guesses.items():
            fitted = _fit_chance(kind, inputs, outcome, train, seed, n_jobs)
            guess[held] = _guess(kind, fitted, inputs, held)
    kind = min(guesses, key=lambda name: float(np.mean((guesses[name] - outcome) ** 2)))
    fitted = _fit_chance(kind, inputs, outcome, np.ones(len(data), dtype=bool), seed, n_jobs)
    error = float(np.mean(np.abs(guesses[kind] - outcome)))
    return EndModel(kind, error, (), inputs, fitted, reward)


def _fit_chance(
    kind: EndKind, inputs: ModelInputs, outcome: Floats, rows: NDArray[np.bool_], seed: int, n_jobs: int | None
) -> FittedOutput:
    if kind == "logistic":
        return FittedOutput(_logistic(inputs.quadratic[rows], outcome[rows]), None)
    forest = grow_forest(
        inputs.rows[rows],
        outcome[rows],
        min_samples_leaf=1,
        periodic=inputs.periodic or None,
        random_state=seed % 2**64,
        n_jobs=n_jobs,
    )
    return FittedOutput(np.zeros(0), forest)


def _guess(kind: EndKind, fitted: FittedOutput, inputs: ModelInputs, rows: NDArray[np.bool_]) -> Floats:
    if kind == "logistic":
        return _sigmoid(inputs.quadratic[rows] @ fitted.coefficients)
    assert fitted.forest is not None
    return fitted.forest.predict(inputs.rows[rows])


def _logistic(features: Floats, outcome: Floats) -> Floats:
    """Newton's method with a ridge."""
    c = np.zeros(features.shape[1])
    for _ in range(LOGISTIC_STEPS):
        p = _sigmoid(features @ c)
        weight = np.maximum(p * (1 - p), 1e-6)
        hessian = (features * weight[:, None]).T @ features + LOGISTIC_RIDGE * np.eye(len(c))
        c = c + solved(hessian, features.T @ (outcome - p) - LOGISTIC_RIDGE * c)
    return c


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0))))
