"""Planning between episodes: Fitted Q Iteration with optimism where little is known, then a policy forest.

Two optimistic rules. "leaves", Eq. 9, moves every leaf of every tree after every iteration,

    v' = knownness(c) v + (1 - knownness(c)) v_opt,    c the centre of the leaf's box,

so that actions which were never tried have an effect. "targets", Eq. 7, moves the targets of the samples,

    y' = knownness(s, a) y + (1 - knownness(s, a)) v_opt.

The optimistic value v_opt is R_max / (1 - gamma), the value of R_max in every step, or R_max itself, as
Eq. 9 is printed. A plan is a function of its `PlanInput` alone, so that it can be made again after a crash.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from policyforest._support.arguments import Floats, one_of, real_number
from policyforest._support.settings import plain_settings, result_settings
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.forest.knownness import Form, KnownnessForest
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration, Optimism
from policyforest.learning.q_function import QFunction
from policyforest.policy.policy import Policy

Update = Literal["leaves", "targets"]
OptimisticValue = Literal["discounted", "printed"]


@dataclass(frozen=True)
class Planner:
    """How to plan.

    Args:
        q_learner: Fitted Q Iteration and its settings.
        policy_learner: Fitted Policy Forest and its settings.
        knownness: "density" (the paper's) or "original" (Nouri and Littman's).
        update: The optimistic rule, "leaves" or "targets".
        optimistic_value: "discounted", R_max / (1 - gamma), or "printed", R_max.
        n_estimators: The number of trees of the knownness forest.
        max_points: nu of the knownness forest.
        enough: As in `KnownnessForest`.
        warm_start: A plan without optimism begins with the values of the last one. Optimistic plans always start from
            zero, so that disproved optimism does not remain.
        most_iterations: The largest number of iterations of a plan, whatever its horizon.
        most_warm_iterations: The same for a plan that begins with values; the next plan continues from it.
    """

    q_learner: FittedQIteration = field(default_factory=lambda: FittedQIteration(resample=None))
    policy_learner: FittedPolicyForest = field(default_factory=FittedPolicyForest)
    knownness: Form = "density"
    update: Update = "leaves"
    optimistic_value: OptimisticValue = "discounted"
    n_estimators: int = 25
    max_points: int = 10
    enough: float | None = None
    warm_start: bool = False
    most_iterations: int | None = None
    most_warm_iterations: int | None = None

    def __post_init__(self) -> None:
        one_of("knownness", self.knownness, ("density", "original"))
        one_of("update", self.update, ("leaves", "targets"))
        one_of("optimistic_value", self.optimistic_value, ("discounted", "printed"))

    def settings(self) -> dict[str, Any]:
        """All that a plan depends on, as plain data."""
        own = plain_settings(self)
        return own | {"q": result_settings(self.q_learner), "policy": result_settings(self.policy_learner)}

    def knownness_forest(self, box: Floats, seed: int) -> KnownnessForest:
        """An empty knownness forest."""
        return KnownnessForest(
            box,
            form=self.knownness,
            n_estimators=self.n_estimators,
            max_points=self.max_points,
            enough=self.enough,
            random_state=seed,
        )

    def plan(self, task: PlanInput) -> Plan:
        """Learns Q and a policy."""
        started = time.perf_counter()
        optimism = None if task.known is None else self._optimism(task.known, task.r_max)
        q_learner = replace(self.q_learner, random_state=task.seed)
        most = self.most_iterations if task.start is None else self.most_warm_iterations
        q, values = q_learner.iterate(task.samples, start=task.start, optimism=optimism, most=most)
        policy = replace(self.policy_learner, random_state=task.seed).fit(q)
        return Plan(task, q, policy, values, time.perf_counter() - started)

    def start(self, last: Plan | None, samples: Transitions) -> Floats | None:
        """The values to begin with: those of the last plan, and its Q function's at the samples it has not seen."""
        if last is None or not self.warm_start or last.task.known is not None:
            return None
        newer = samples[len(last.task.samples) :]
        ahead = newer.next_states[~newer.terminals]
        added = last.q.maxima(ahead).value if len(ahead) else np.empty(0)
        return np.concatenate([last.values, added])

    def _optimism(self, known: KnownnessForest, r_max: float) -> Optimism:
        value = r_max
        if self.optimistic_value == "discounted":
            value /= 1.0 - self.q_learner.discount
        rule = OptimisticLeaves if self.update == "leaves" else OptimisticTargets
        return rule(known, value, self.q_learner.n_jobs)


@dataclass(frozen=True, eq=False)
class PlanInput:
    """All that a plan depends on, besides the planner's settings."""

    samples: Transitions
    seed: int
    start: Floats | None = None
    known: KnownnessForest | None = None
    """None: plan without optimism"""
    r_max: float = 0.0


@dataclass(frozen=True, eq=False)
class Plan:
    """The result of planning: Q, the policy, and max_a Q at the samples' next states."""

    task: PlanInput
    q: QFunction
    policy: Policy
    values: Floats
    seconds: float


@dataclass(frozen=True)
class OptimisticLeaves:
    """Optimism in the leaves, Eq. 9."""

    known: KnownnessForest
    value: float
    n_jobs: int | None = 1

    def targets(self, inputs: Floats, targets: Floats) -> Floats:
        return targets

    def leaves(self, forest: Forest) -> Forest:
        return self.known.optimistic(forest, self.value, n_jobs=self.n_jobs)


@dataclass(frozen=True)
class OptimisticTargets:
    """Optimism in the targets, Eq. 7."""

    known: KnownnessForest
    value: float
    n_jobs: int | None = 1

    def targets(self, inputs: Floats, targets: Floats) -> Floats:
        knownness = self.known.knownness(inputs, self.n_jobs)
        return knownness * targets + (1.0 - knownness) * self.value

    def leaves(self, forest: Forest) -> Forest:
        return forest


def knownness_box(samples: Transitions) -> Floats:
    """The box of states and actions."""
    return np.concatenate([samples.state_box(), bounds(samples.action_space)])


def checked_r_max(r_max: float | None) -> float | None:
    return None if r_max is None else real_number("r_max", r_max)
