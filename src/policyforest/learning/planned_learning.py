"""From samples to the best policy that this library can make of them, by the learned model: `pf.learn`.

The model is learned; candidates are made (the best constant action, the linear-quadratic regulator, a Fitted Policy
Forest, a controller that is given); the best of them is improved by rollouts; and all are compared on members of the
model's ensemble that none of them was made with. What does not beat the constant action, or the controller that was
there, is not handed over silently.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from policyforest._support.arguments import Floats, real_number, seed_number
from policyforest._support.settings import HOW
from policyforest.data.readers.datasets import as_transitions
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.known_functions import Known
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.improvement.linear_quadratic import linear_quadratic_policy
from policyforest.learning.improvement.rollout_improvement import (
    Improvement,
    RolloutImprovement,
    certainly_better,
)
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.starts import best_constant

# A Q forest carries values in so many dimensions of (s, a); in more, rollouts do better without it.
Q_DIMENSIONS = 4
# Members of the ensemble that policies are made with, and the first of those that only compare them.
MEMBERS, FIRST_JUDGE = 4, 100
JUDGED = 200
# Candidates in the order in which they are trusted: the system's own controller first, then what the samples say.
TRUSTED = ("baseline", "fpf-pwl", "linear-quadratic", "constant")


class PlanningWarning(UserWarning):
    """Planning was not used, or found nothing better than a constant action or the controller that was there."""


@dataclass(frozen=True)
class CandidateValue:
    """What a candidate is worth on models that it was not made with."""

    name: str
    value: float
    """Mean discounted return over states and members"""
    gain: float
    """Over the best constant action"""
    error: float
    """Standard error of the gain"""


@dataclass(frozen=True)
class PlannedPolicy:
    """A policy, and how it was chosen."""

    policy: Any
    winner: str
    candidates: tuple[CandidateValue, ...]
    """Best first; empty where planning was not used"""
    model: DynamicsModel = field(repr=False)
    start: Any = field(repr=False)
    """The policy that the improvement started from"""
    improvement: Improvement | None = field(repr=False)
    note: str = ""
    """Why planning was not used, or what the result does not beat"""


@dataclass(frozen=True)
class PlannedLearning:
    """Learns a policy from samples by planning with a learned model; `fit` returns a `PlannedPolicy`.

    Args:
        discount: gamma, in [0, 1).
        baseline: A controller that is there already, with ``act_batch``; the result is not worse in the model.
        reward: A known reward function of rows (states, actions, next_states), instead of a learned one.
        terminal: The same for terminal steps.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        callback: Called with a line of text at each stage.
    """

    discount: float = 0.98
    baseline: Any = None
    reward: Known | None = None
    terminal: Known | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    callback: Callable[[str], None] | None = field(default=None, repr=False, metadata=HOW)

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        if self.baseline is not None and not callable(getattr(self.baseline, "act_batch", None)):
            raise TypeError(f"baseline: is {self.baseline!r}, must have act_batch(states) or be None")

    def fit(self, data: Transitions | Any) -> PlannedPolicy:
        """Learns from Transitions, or from a dataset that `as_transitions` knows."""
        samples = as_transitions(data)
        seed = seed_number("random_state", self.random_state)
        self._tell("learning the model")
        model = DynamicsForest(self.reward, self.terminal, random_state=seed, n_jobs=self.n_jobs).fit(samples)
        if not model.is_good:
            return self._without_model(samples, model, seed)
        return _Contest(self, model, seed).run()

    def _without_model(self, samples: Transitions, model: DynamicsModel, seed: int) -> PlannedPolicy:
        explained = max(0.0, min(*model.state_scores, model.reward_score))
        note = (
            f"planning was not used: the model explains only {100 * explained:.0f}% of the variance of an output on "
            "held-out samples; the policy comes from Fitted Q Iteration on the samples"
        )
        warnings.warn(note, PlanningWarning, stacklevel=3)
        policy = self.fitted_policy(samples, None, seed)
        return PlannedPolicy(policy, "fpf-pwl", (), model, policy, None, note)

    def fitted_policy(self, samples: Transitions, model: DynamicsModel | None, seed: int) -> Any:
        """The Fitted Policy Forest of the samples, and of samples that the model draws."""
        self._tell("Fitted Q Iteration")
        resample: Literal["auto"] | None = None if model is None else "auto"
        q = FittedQIteration(self.discount, resample=resample, random_state=seed, n_jobs=self.n_jobs).fit(samples)
        return FittedPolicyForest(random_state=seed, n_jobs=self.n_jobs).fit(q)

    def _tell(self, stage: str) -> None:
        if self.callback is not None:
            self.callback(stage)


class _Contest:
    """The candidates of one fit, and their comparison."""

    def __init__(self, how: PlannedLearning, model: DynamicsModel, seed: int) -> None:
        self.how, self.model, self.seed = how, model, seed
        self.data = model.transitions
        self.improver = RolloutImprovement(how.discount, n_members=MEMBERS, random_state=seed, n_jobs=how.n_jobs)
        self.rollouts = ModelRollouts(model, how.discount, MEMBERS, how.n_jobs)
        self.rng = np.random.default_rng([seed, 41])
        first = np.unique(self.data.episodes, return_index=True)[1]
        self.starts = self.data.states[first]

    def run(self) -> PlannedPolicy:
        """Makes the candidates, improves the best of them, and picks the winner."""
        policies = self._first_candidates()
        states = self._judged_states()
        start = _champion({name: self._values(policy, states, 0) for name, policy in policies.items()})
        self.how._tell(f"improving {start} by rollouts")
        improvement = self.improver.improve(self.model, policies[start], self.rollouts)
        if improvement.improved:
            policies["improved"] = improvement.policy
        values = {name: self._values(policy, states, FIRST_JUDGE) for name, policy in policies.items()}
        winner = "improved" if improvement.improved else start
        if winner != "constant" and not (values[winner] - values["constant"]).mean() > 0:
            winner = "constant"
        table, note = self._table(values), self._note(winner, values)
        if note:
            warnings.warn(note, PlanningWarning, stacklevel=4)
        policy = self._labelled(policies[winner], winner, table, note)
        return PlannedPolicy(policy, winner, table, self.model, policies[start], improvement, note)

    def _first_candidates(self) -> dict[str, Any]:
        n_steps = 2 * self.improver.n_steps
        found: dict[str, Any] = {"constant": best_constant(self.rollouts, self.starts, n_steps, self.seed)}
        if self.how.baseline is not None:
            found["baseline"] = self.how.baseline
        regulator = linear_quadratic_policy(self.data, self.how.discount)
        if regulator is not None:
            found["linear-quadratic"] = regulator
        if self.data.states.shape[1] + self.data.actions.shape[1] <= Q_DIMENSIONS and self.data.actions.shape[1] == 1:
            found["fpf-pwl"] = self.how.fitted_policy(self.data, self.model, self.seed)
        return found

    def _judged_states(self) -> Floats:
        """Where episodes begin: what a policy is worth there is what counts."""
        return self.starts[self.rng.integers(len(self.starts), size=JUDGED)]

    def _values(self, policy: Any, states: Floats, first_member: int) -> Floats:
        members = range(first_member, first_member + MEMBERS)
        n_steps = 2 * self.improver.n_steps
        return np.stack(
            [self.rollouts.values(policy, states, n_steps=n_steps, seed=self.seed + 977 + b, member=b) for b in members]
        )

    def _table(self, values: dict[str, Floats]) -> tuple[CandidateValue, ...]:
        rows = []
        for name, value in values.items():
            gain = value - values["constant"]
            error = float(gain.std() / np.sqrt(gain.size))
            rows.append(CandidateValue(name, float(value.mean()), float(gain.mean()), error))
        return tuple(sorted(rows, key=lambda row: -row.value))

    def _note(self, winner: str, values: dict[str, Floats]) -> str:
        if winner == "constant":
            return "no policy beats the best constant action in the learned model; that constant action is returned"
        notes = (
            ["nothing beats the controller that was given; it is returned unchanged"] if winner == "baseline" else []
        )
        gain = values[winner] - values["constant"]
        if gain.mean(axis=1).min() <= 0:
            notes.append("the policy does not beat the best constant action on every member of the model's ensemble")
        return "; ".join(notes)

    def _labelled(self, policy: Any, winner: str, table: tuple[CandidateValue, ...], note: str) -> Any:
        info = getattr(policy, "info", None)
        if info is None or not hasattr(policy, "with_info"):
            return policy
        compared = [asdict(candidate) for candidate in table]
        told = {"discount": self.how.discount, "winner": winner, "candidates": compared, "note": note}
        return policy.with_info(replace(info, settings={**info.settings, **told}, n_samples=len(self.data)))


def _champion(values: dict[str, Floats]) -> str:
    """The candidate to start from: one later in the order of trust, only if it is certainly better."""
    order = [name for name in TRUSTED if name in values]
    best = order[0]
    for name in order[1:]:
        if certainly_better(values[name] - values[best]):
            best = name
    return best


def learn(
    data: Transitions | Any,
    *,
    discount: float = 0.98,
    baseline: Any = None,
    reward: Known | None = None,
    terminal: Known | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = 1,
) -> Any:
    """The best policy that the samples allow, without tuning.

    Args:
        data: Transitions, or a dataset that `as_transitions` knows.
        discount: gamma, in [0, 1).
        baseline: A controller that is there already; the result is not worse in the model.
        reward: A known reward function of rows (states, actions, next_states), instead of a learned one.
        terminal: The same for terminal steps.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
    """
    learner = PlannedLearning(discount, baseline, reward, terminal, random_state, n_jobs)
    return learner.fit(data).policy
