"""Planning with the learned model between episodes: when a plan is due, how it is made, and what it explores.

A plan is made when the samples have grown by a share since the last one, or when the last model did not predict the
newest episode. The model is learned again, and candidates compete in it: the policies of earlier plans, constant
actions, the linear-quadratic regulator, and a new plan. The new plan is made on a grid if states have few dimensions,
else by trajectories, which start from those of the last plan. With trajectories, and a model that is quick enough, the
winner is improved by rollouts, unless it is the new policy and nearly as good as its trajectories.

A plan also explores: it is charged little for leaving the data (`EXPLORING`), so unknown regions promise what the model
cannot exclude. If no candidate is better than a constant action, the next episode seeks novelty: states far from all
samples, and steps about whose outcome the members of the ensemble disagree, earn a bonus. No `r_max` is needed. While
actions have no effect in the model, there is nothing to plan: random actions show whether they have one.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats, real_number
from policyforest._support.blas import one_blas_thread
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import Known
from policyforest.data.transitions import Transitions
from policyforest.exploration.ensemble_judge import FAR, MEMBERS, EnsembleJudge, was_wrong
from policyforest.exploration.found_goals import negligible, nothing_paid, novelty_bonus
from policyforest.learning.contest import Q_DIMENSIONS
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.improvement.grid_planning import GridPlanning
from policyforest.learning.improvement.grid_policy import grid_policy
from policyforest.learning.improvement.linear_quadratic import linear_quadratic_policy
from policyforest.learning.improvement.policy_search import certainly_better
from policyforest.learning.improvement.rollout_improvement import RolloutImprovement
from policyforest.learning.improvement.simple_policies import constant_policy, middle_action
from policyforest.learning.improvement.simulation import EXPLORING, LEAVING
from policyforest.learning.improvement.trajectory_policy import (
    FINAL,
    NOVEL,
    USUAL,
    TrajectoryPlan,
    trajectory_policy,
)
from policyforest.policy.policy import Policy

# No plan is made from fewer samples, or from fewer new samples per dimension of (s, a): they teach little.
FEWEST_SAMPLES, SAMPLES_PER_DIMENSION = 20, 4
# A plan is also due if the model mispredicted the newest episode and the samples have grown by at least this share.
LEAST_GROWTH = 0.05
# Gaussian processes need the fewest samples, but are too slow for a grid: they compete above this number of dimensions.
FEW_DIMENSIONS = 3
# Candidates with the same action in every state: zero (the middle if zero is out of range), the lowest, the highest.
IDLE = "constant"
CONSTANTS = (IDLE, "least", "most")
# The policies of earlier plans have this name and a number.
EARLIER = "earlier"
# Random actions instead of a plan, because the model does not know of any effect of actions.
HELD = "held actions"
# The new plan, if it is played although an earlier policy has a higher value.
OPTIMISTIC = "optimistic"
# The new plan is played if its own member values it higher than the best earlier policy, by this share of that policy's
# gain over a constant action.
PROMISING = 0.1
# Steps of planned trajectories: this multiple of 1 / (1 - discount), for which a reward matters, within limits.
HORIZON, SHORTEST, LONGEST = 1.2, 20, 100
ROLLED_STATES = 600
# The number of observed states in which the effect of actions is looked for.
PROBED = 64


@dataclass(frozen=True)
class ModelTask:
    """All that a plan depends on, besides the planner's settings."""

    samples: Transitions = field(repr=False)
    seed: int
    earlier: tuple[Policy, ...] = ()
    """Policies of earlier plans, newest first"""
    sequence: Floats | None = field(default=None, repr=False)
    """The actions of the last plan's best trajectory"""
    explored: int = 0
    """The number of plans so far that sought novelty: its bonus falls with them"""
    final: bool = False
    """Whether the plan is relied on, and does not explore"""
    like: DynamicsModel | None = field(default=None, repr=False)
    """A model of fewer samples, whose kinds of outputs are used again"""


@dataclass(frozen=True)
class ModelPlan:
    """The result of planning."""

    policy: Policy
    winner: str
    """The candidate that the policy comes from"""
    explores: bool
    """Whether the plan seeks unknown states, because nothing known is better than a constant action"""
    found: bool
    """Whether a policy is better than a constant action"""
    sequence: Floats | None = field(repr=False)
    model: DynamicsModel = field(repr=False)
    values: dict[str, float]
    """The value of each candidate in the model, from the first states of episodes"""
    seconds: float


@dataclass(frozen=True)
class ModelPlanner:
    """Plans with the learned model.

    Args:
        discount: gamma, in [0, 1).
        reward: A known reward function of rows (states, actions, next_states), instead of a learned one.
        terminal: The same for terminal steps.
        growth: A plan is due when the samples have grown by this share.
        n_jobs: Threads; the result does not depend on them.
    """

    discount: float = 0.98
    reward: Known | None = None
    terminal: Known | None = None
    growth: float = 0.25
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        real_number("growth", self.growth, at_least=0.0)

    @property
    def n_steps(self) -> int:
        """The number of steps of planned trajectories."""
        return int(np.clip(round(HORIZON / (1.0 - self.discount)), SHORTEST, LONGEST))

    def learn_model(self, samples: Transitions, seed: int, like: DynamicsModel | None = None) -> DynamicsModel:
        """The model that a plan with this seed uses; its kinds of outputs are those of `like`, if that is given."""
        few = samples.states.shape[1] <= FEW_DIMENSIONS
        how = DynamicsForest(self.reward, self.terminal, random_state=seed, n_jobs=self.n_jobs, kernels=not few)
        return how.fit(samples, like)

    def judge(self, model: DynamicsModel, seed: int) -> EnsembleJudge:
        """The judge of the policies of a run. It charges steps beyond the data as plans that explore do: a higher
        charge would hide what policies do there, and policies that were played went there."""
        return EnsembleJudge(self.discount, self.n_steps, model, seed, EXPLORING, FAR)

    @one_blas_thread
    def due(self, model: DynamicsModel | None, samples: Transitions, vain: int = 0) -> bool:
        """Whether a plan is due: by the growth of the samples, or because `model`, the last plan's, was wrong. `vain`
        is the number of plans in a row that kept an earlier policy; each doubles the growth that the next waits for."""
        planned = 0 if model is None else len(model.transitions)
        width = samples.states.shape[1] + samples.actions.shape[1]
        if len(samples) < FEWEST_SAMPLES or len(samples) - planned < SAMPLES_PER_DIMENSION * width:
            return False
        if model is None or len(samples) >= (1.0 + self.growth * 2**vain) * planned:
            return True
        return len(samples) >= (1.0 + LEAST_GROWTH) * planned and was_wrong(model, samples[planned:])

    @one_blas_thread
    def plan(self, task: ModelTask) -> ModelPlan:
        """Learns the model and a policy."""
        started = time.perf_counter()
        made = _Planning(self, task).run()
        return replace(made, seconds=time.perf_counter() - started)


class _Planning:
    """One plan."""

    def __init__(self, how: ModelPlanner, task: ModelTask) -> None:
        self.how, self.task = how, task
        self.model = how.learn_model(task.samples, task.seed, task.like)
        self.judge = EnsembleJudge(
            how.discount, how.n_steps, self.model, task.seed, LEAVING if task.final else EXPLORING
        )
        self.on_grid = GridPlanning.fits(self.model) and not self.model.has_kernels

    def run(self) -> ModelPlan:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # trajectories that diverge are dropped
            return self._run()

    def _run(self) -> ModelPlan:
        policies = self._candidates()
        values = {name: self.judge.values(policy) for name, policy in policies.items()}
        earlier = [name for name in policies if name.startswith(EARLIER)]
        incumbent = max(earlier, key=lambda name: float(values[name].mean()), default=None)
        planned = self._planned(0.0, None if incumbent is None else policies[incumbent])
        new = "grid" if self.on_grid else "trajectories"
        policies[new], values[new] = planned.policy, self.judge.values(planned.policy)
        best = max(values, key=lambda name: float(values[name].mean()))
        if self.on_grid and self.task.final and not certainly_better(values[best] - values["grid"]):
            best = "grid"  # no candidate is certainly better than the plan from all samples
        if not self.on_grid and not (policies[best] is planned.policy and planned.kept):
            improved = self._improved(policies[best])
            if improved is not None:
                policies["improved"], values["improved"] = improved, self.judge.values(improved)
                best = max((best, "improved"), key=lambda name: float(values[name].mean()))
        constant = max(CONSTANTS, key=lambda name: float(values[name].mean()) if name in values else -np.inf)
        best = self._certain(best, values, constant)
        gain = values[best] - values[constant]
        least = negligible(self.task.samples, self.how.discount)
        useless = best in CONSTANTS or not certainly_better(gain) or float(gain.mean()) < least
        useless = useless or nothing_paid(self.judge, policies[best], policies[constant])
        sequence, explores = planned.sequence, useless and not self.task.final
        if explores and not self._actions_matter():
            policies[HELD], best = policies[IDLE], HELD
        elif explores:
            novel = self._planned(novelty_bonus(self.task.samples, self.how.discount, self.task.explored))
            policies["novelty"], best, sequence = novel.policy, "novelty", novel.sequence
        elif useless:  # nothing is known to be worth doing: idle, unless another constant action is certainly better
            more = values[constant] - values[IDLE]
            best = constant if certainly_better(more) and float(more.mean()) >= least else IDLE
        elif best in earlier and self._promising(values[new], values[best], values[constant]):
            policies[OPTIMISTIC], best = planned.policy, OPTIMISTIC
        worth = {name: float(value.mean()) for name, value in values.items()}
        return ModelPlan(policies[best], best, explores, not useless, sequence, self.model, worth, 0.0)

    def _actions_matter(self) -> bool:
        """Whether the next states of the model depend on the actions at all."""
        data = self.task.samples
        states = np.ascontiguousarray(data.states[:: 1 + len(data) // PROBED])
        sides = (np.ascontiguousarray(np.tile(side, (len(states), 1))) for side in bounds(data.action_space).T)
        low, high = (self.model.native.step(states, side, None, False)[0] for side in sides)
        return not np.array_equal(low, high)

    def _certain(self, best: str, values: dict[str, Floats], constant: str) -> str:
        """The best candidate or, if the members do not agree that it is better than a constant action, the best of
        those on which they agree: one member may promise far more than the others."""
        if certainly_better(values[best] - values[constant]):
            return best
        agreed = [name for name in values if certainly_better(values[name] - values[constant])]
        return max(agreed, key=lambda name: float(values[name].mean()), default=best)

    def _promising(self, new: Floats, best: Floats, constant: Floats) -> bool:
        """Whether the member that the new plan was made in promises clearly more for it than for the best earlier
        policy: playing that policy again would teach nothing, while playing the plan shows which member is right."""
        if self.task.final or self.on_grid:
            return False
        return float((new - best)[0].mean()) > PROMISING * float((best - constant).mean())

    def _planned(self, novelty: float, incumbent: Any = None) -> TrajectoryPlan:
        if self.on_grid and self.task.final:
            seed, n_jobs = self.task.seed, self.how.n_jobs
            fine = GridPlanning(self.how.discount, n_members=MEMBERS, random_state=seed, n_jobs=n_jobs).fit(self.model)
            return TrajectoryPlan(fine, np.nan, np.nan, True, None)
        if self.on_grid:
            members = [self.judge.simulation(b, novelty) for b in range(MEMBERS)]
            return grid_policy(members, self.judge.judged, self.how.n_steps, self.task.seed)
        return trajectory_policy(
            self.judge.simulation(0, novelty), self.judge.starts, self.how.n_steps, self.task.seed % 2**32,
            self.task.sequence, FINAL if self.task.final else NOVEL if novelty > 0.0 else USUAL,
            incumbent, () if novelty > 0.0 else [self.judge.simulation(b) for b in range(1, MEMBERS)],
        )  # fmt: skip

    def _candidates(self) -> dict[str, Any]:
        data = self.task.samples
        box, middle = bounds(data.action_space), middle_action(data)
        actions = dict(zip(CONSTANTS, (middle, box[:, 0], box[:, 1]), strict=True))
        found: dict[str, Any] = {name: constant_policy(data, action) for name, action in actions.items()}
        regulator = None if data.terminals.all() else linear_quadratic_policy(data, self.how.discount)
        if regulator is not None:
            found["linear-quadratic"] = regulator
        if self._carries_values():
            seed, n_jobs = self.task.seed, self.how.n_jobs
            q = FittedQIteration(self.how.discount, random_state=seed, n_jobs=n_jobs)
            found["fpf-pwl"] = FittedPolicyForest(q_learner=q, random_state=seed, n_jobs=n_jobs).fit(data)
        # A plan on a grid does not start from earlier ones: only the newest of them competes, except in the final plan.
        earlier = self.task.earlier[: 1 if self.on_grid and not self.task.final else None]
        return found | {f"{EARLIER} {i}": policy for i, policy in enumerate(earlier)}

    def _carries_values(self) -> bool:
        """Whether a Fitted Policy Forest competes, in few dimensions: if some terminal step pays more than any other
        step, which a search of sequences hardly finds; and in the final plan, because episodes may begin in new
        states."""
        data = self.task.samples
        if self.on_grid or data.states.shape[1] + data.actions.shape[1] > Q_DIMENSIONS or data.actions.shape[1] > 1:
            return False
        ends = data.rewards[data.terminals]
        goal = len(ends) > 0 and float(ends.max()) > float(data.rewards[~data.terminals].max(initial=-np.inf))
        return goal or self.task.final

    def _improved(self, policy: Any) -> Policy | None:
        """The policy improved by rollouts; None if that is too slow or finds nothing better."""
        if self.model.has_kernels:
            return None
        improver = RolloutImprovement(
            self.how.discount, n_states=ROLLED_STATES, random_state=self.task.seed, n_jobs=self.how.n_jobs
        )
        found = improver.improve(self.model, policy)
        return found.policy if found.improved else None
