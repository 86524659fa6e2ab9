"""What all searches for better policies in a learned model share: where policies are judged, and when one is
accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from policyforest._support.arguments import Floats, real_number, seed_number, whole_number
from policyforest._support.blas import one_blas_thread
from policyforest._support.settings import HOW, plain_settings
from policyforest._support.spaces import bounds, check_fit
from policyforest.forest.growing import grow_forest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.simple_policies import linear_policy, make_policy
from policyforest.policy.policy import Policy

# Rollouts last as long as a reward matters, within these limits; policies are judged over twice as many steps.
SHORTEST, LONGEST = 15, 100
JUDGED = 200
# Gains below this part of the spread of summed rewards come from the ridge of the model.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class ImprovementRound:
    """The results of one round of an improvement."""

    round: int
    gain: float
    """Mean gain of the actions that were found, over the states of the round"""
    leaf_share: float | None
    """The share of the states in a leaf of the best policy; None: one linear function"""
    value: float
    """Mean value of the policy that is kept, over members and judged states"""
    taken: bool


@dataclass(frozen=True)
class Improvement:
    """The result: a policy, and how it compares with the one it started from."""

    policy: Policy
    improved: bool
    """False: the start policy was kept, because nothing was better on every member of the ensemble"""
    gain: float
    """Mean gain of value over the start policy, in the model"""
    history: tuple[ImprovementRound, ...]


def rollout_steps(discount: float) -> int:
    """T, the steps of a rollout: as many as a reward matters."""
    return int(np.clip(round(1.0 / (1.0 - discount)), SHORTEST, LONGEST))


class PolicySearch:
    """One run of an improvement. `how` has the settings: discount, n_members, n_estimators, n_steps, n_jobs."""

    method = "improvement"

    def __init__(self, how: Any, model: DynamicsModel, rollouts: ModelRollouts, seed: int) -> None:
        self.how, self.model, self.rollouts, self.seed = how, model, rollouts, seed
        self.data = model.transitions
        self.rng = np.random.default_rng([seed, 21])
        self.box = bounds(self.data.action_space)
        first = np.unique(self.data.episodes, return_index=True)[1]
        self.starts = self.data.states[first]
        self.judged = self.starts

    def run(self, policy: Any) -> Improvement:
        """Improves a policy until nothing better is found."""
        raise NotImplementedError

    def judge(self, policy: Any, seed: int) -> Floats:
        """Values at the judged states: a row per member."""
        return np.stack(
            [
                self.rollouts.values(
                    policy, self.judged, n_steps=2 * self.how.n_steps, seed=100 * (self.seed + seed) + b, member=b
                )
                for b in range(self.how.n_members)
            ]
        )

    def draw_starts(self, number: int) -> Floats:
        """States where episodes begin."""
        return self.starts[self.rng.integers(len(self.starts), size=number)]

    def judged_states(self, policy: Any) -> Floats:
        """A third of them where episodes begin, a third where the policy goes from there, a third near the data,
        because episodes begin at few states, which are not typical of others."""
        passed = [
            self.rollouts.visited(
                policy, self.draw_starts(40), n_steps=2 * self.how.n_steps, seed=self.seed + 5 + b, member=b,
                action_noise=0.0,
            )
            for b in range(min(2, self.how.n_members))
        ]  # fmt: skip
        there = np.concatenate([*passed, self.starts])
        third = JUDGED // 3
        passed_by, near = there[self.rng.integers(len(there), size=third)], self.model.nearby.draw(third, self.rng)
        return np.concatenate([self.draw_starts(JUDGED - 2 * third), passed_by, near])

    def result(self, start: Any, policy: Any, history: tuple[ImprovementRound, ...]) -> Improvement:
        """The improved policy if it is better by a clear margin under new noise, else the one it started from."""
        if policy is start:
            return Improvement(start, False, 0.0, history)
        gains = np.concatenate([self.judge(policy, s) - self.judge(start, s) for s in (11, 12)], axis=1)
        smallest = NEGLIGIBLE * float(self.data.rewards.std()) / (1.0 - self.how.discount)
        if not certainly_better(gains) or gains.mean() <= smallest:
            return Improvement(start, False, float(gains.mean()), history)
        settings = plain_settings(self.how) | {"rounds": len(history), "gain": float(gains.mean())}
        info = replace(policy.info, method=self.method, settings=settings)
        return Improvement(policy.with_info(info), True, float(gains.mean()), history)

    def fit(
        self, states: Floats, actions: Floats, share: float | None, number: int, weights: Floats | None = None
    ) -> Policy:
        """A policy regressed on actions: leaves with a part of the states each, or one linear function of the state.
        Weights have a column per action."""
        if share is None:
            return linear_policy(
                self.data, states, actions, np.ones(len(states)) if weights is None else weights.mean(axis=1)
            )
        leaf = max(2 * (states.shape[1] + 1), int(share * len(states)))
        states = np.ascontiguousarray(np.clip(states, *self.data.state_box().T))
        forests = [
            grow_forest(
                states, actions[:, j], n_estimators=self.how.n_estimators, min_samples_leaf=leaf, leaf_model="linear",
                sample_weight=None if weights is None else weights[:, j], periodic=self.data.periodic or None,
                box=self.data.state_box(), random_state=(self.seed + number) % 2**64, n_jobs=self.how.n_jobs,
            )
            for j in range(actions.shape[1])
        ]  # fmt: skip
        return make_policy(self.data, forests, self.method)


@dataclass(frozen=True)
class ModelImprovement:
    """What all improvements of a policy in a learned model share: their settings and their methods."""

    discount: float = 0.98
    n_rounds: int = 6
    n_members: int = 4
    n_estimators: int = 20
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1
    callback: Callable[[ImprovementRound], None] | None = field(default=None, repr=False, metadata=HOW)

    search: ClassVar[type[PolicySearch]]
    """The class of one run"""

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        for each in fields(self):
            value = getattr(self, each.name)
            left_open = value is None and each.default is None  # chosen by the search
            if each.name.startswith("n_") and each.name != "n_jobs" and not left_open:
                whole_number(each.name, value, at_least=1)

    @property
    def n_steps(self) -> int:
        """T, the number of steps over which a reward matters; policies are judged over twice as many."""
        return rollout_steps(self.discount)

    def fit(self, model: DynamicsModel, policy: Any) -> Policy:
        """The improved policy, or the given one if nothing better was found."""
        return self.improve(model, policy).policy

    @one_blas_thread
    def improve(self, model: DynamicsModel, policy: Any, rollouts: ModelRollouts | None = None) -> Improvement:
        """The improved policy with its history; `rollouts` of the same model share its compiled members."""
        check_start(model, policy)
        shared = ModelRollouts(model, self.discount, self.n_members, self.n_jobs) if rollouts is None else rollouts
        return self.search(self, model, shared, seed_number("random_state", self.random_state)).run(policy)


def check_start(model: DynamicsModel, policy: Any) -> None:
    """Refuses a model or a policy that cannot be used."""
    if not isinstance(model, DynamicsModel):
        raise TypeError(f"model: is {model!r}, must be a DynamicsModel, which DynamicsForest.fit returns")
    if not callable(getattr(policy, "act_batch", None)):
        raise TypeError(f"policy: is {policy!r}, must have act_batch, from rows of states to rows of actions")
    check_fit(policy, model.transitions.observation_space, model.transitions.action_space)


def better(gains: Floats, t: float) -> bool:
    """Whether gains (members, states) are positive for every member, and on average above `t` standard errors."""
    return bool(gains.mean(axis=1).min() > 0 and gains.mean() > t * gains.std() / np.sqrt(gains.size))


def certainly_better(gains: Floats) -> bool:
    """Whether gains (members, states) are positive for every member, and on average above two standard errors and above
    their spread between members, because members may share errors."""
    by_member = gains.mean(axis=1)
    return better(gains, 2.0) and bool(gains.mean() > by_member.std(ddof=min(1, len(by_member) - 1)))
