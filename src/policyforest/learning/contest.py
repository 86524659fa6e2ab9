"""The candidates for a policy, made and compared in a learned model.

Candidates are the best constant action, the linear-quadratic regulator, dynamic programming on a grid of states of few
dimensions, the regulator of the predicted state if commands act late, and the existing controller, if one is given.
If noise matters or there is no grid, and a Q forest can represent the values, a Fitted Policy Forest and the greedy
policy of the Q function are also candidates. The best candidate is improved in a model that is fitted again for the
states that it visits: by trajectories, by the gains of a linear law, or by rollouts, in this order, until one of them
gives a clear improvement. All are compared on members of the ensemble that none of them was made with. A regulator that
is optimal by its formula needs neither rivals nor improvement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.learning.comparison import (
    TRUSTED,
    CandidateValue,
    alike,
    champion,
    gain_over,
    is_concave,
    pays,
    table_of,
)
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.focus import focused
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.improvement.gain_improvement import GainImprovement
from policyforest.learning.improvement.grid_planning import GridPlanning
from policyforest.learning.improvement.late_regulator import late_regulator
from policyforest.learning.improvement.linear_quadratic import linear_quadratic_policy
from policyforest.learning.improvement.mean_policy import mean_policy
from policyforest.learning.improvement.policy_search import (
    Improvement,
    ModelImprovement,
    certainly_better,
    rollout_steps,
)
from policyforest.learning.improvement.rollout_improvement import RolloutImprovement
from policyforest.learning.improvement.rollouts import ModelRollouts, checked_actions
from policyforest.learning.improvement.starts import best_constant
from policyforest.learning.improvement.trajectory_improvement import TrajectoryImprovement

# A Q forest can represent values in up to so many dimensions of (s, a); in more, rollouts do better without it.
Q_DIMENSIONS = 4
# Members of the ensemble that policies are made with, and the first of those that only compare them.
MEMBERS, FIRST_JUDGE = 4, 100
# The number of states at which candidates are compared; fewer for the greedy policy of Q, which searches its action at
# each step.
JUDGED, JUDGED_SLOWLY = 200, 40
GREEDY, MEAN = "q-greedy", "mean"
# The fraction of its actions that a regulator may take near the limits of the action box, and how near, as a fraction
# of the box.
LIMIT = 0.01


@dataclass(frozen=True)
class PlannedPolicy:
    """A policy, and how it was chosen."""

    policy: Any
    winner: str
    candidates: tuple[CandidateValue, ...]
    """Best first; empty if planning was not used"""
    model: DynamicsModel = field(repr=False)
    start: Any = field(repr=False)
    """The policy that the improvement started from"""
    improvement: Improvement | None = field(repr=False)
    note: str = ""
    """Why planning was not used, or which alternative the result does not beat"""


class Contest:
    """The candidates of one fit, and their comparison."""

    def __init__(
        self,
        model: DynamicsModel,
        *,
        discount: float,
        baseline: Any,
        seed: int,
        n_jobs: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self.model, self.discount, self.baseline, self.seed, self.n_jobs = model, discount, baseline, seed, n_jobs
        self.tell = tell
        self.data = model.transitions
        self.rollouts = ModelRollouts(model, discount, MEMBERS, n_jobs)
        self.rng = np.random.default_rng([seed, 41])
        first = np.unique(self.data.episodes, return_index=True)[1]
        self.starts = self.data.states[first]
        self.n_steps = 2 * rollout_steps(discount)
        self.solved = False
        """Whether the regulator is the best policy of the model, by its formula"""

    def run(self) -> PlannedPolicy:
        """Makes the candidates, improves the best of them, and picks the winner."""
        policies = self._first_candidates()
        states = self.starts[self.rng.integers(len(self.starts), size=JUDGED)]
        simple = {name: self._values(policies[name], states, 0) for name in TRUSTED if name in policies}
        start = self._averaged(champion(simple), simple, policies, states)
        if start != "constant":  # a better policy does not visit the states of a constant action
            self._focus(policies[start])
        values = {
            name: self._values(policy, states[: JUDGED_SLOWLY if name == GREEDY else None], FIRST_JUDGE)
            for name, policy in policies.items()
        }
        improvement = self._improve(start, policies, values, states)
        kept = "improved" in policies
        winner = self._winner("improved" if kept else start, values)
        table, note = table_of(values), self._note(winner, values)
        policy = self._labelled(policies[winner], winner, table, note)
        return PlannedPolicy(policy, winner, table, self.model, policies[start], improvement, note)

    def _first_candidates(self) -> dict[str, Any]:
        found: dict[str, Any] = {"constant": best_constant(self.rollouts, self.starts, self.n_steps, self.seed)}
        if self.baseline is not None:
            found["baseline"] = self.baseline
        if self.data.plant.delay > 0:
            steps = 3 * rollout_steps(self.discount)
            law = late_regulator(self.rollouts, self.starts, steps, self.seed)
            if law is not None:
                found["linear"] = law
        regulator = None if "linear" in found else linear_quadratic_policy(self.data, self.discount)
        if regulator is not None:
            found["linear-quadratic"] = regulator
            self.solved = self._solves(regulator)
        if self.solved:
            return found
        planning = GridPlanning(self.discount, n_members=MEMBERS, random_state=self.seed, n_jobs=self.n_jobs)
        if planning.fits(self.model):
            self.tell("planning on a grid of states")
            found["grid"] = planning.fit(self.model, self.rollouts)
        dimensions = self.data.states.shape[1] + self.data.actions.shape[1]
        few = dimensions <= Q_DIMENSIONS and self.data.actions.shape[1] == 1
        if few and not ("grid" in found and self.model.is_quiet):
            self.tell("Fitted Q Iteration")
            learner = FittedQIteration(self.discount, resample=self.model, random_state=self.seed, n_jobs=self.n_jobs)
            q = learner.fit(self.data)
            found["fpf-pwl"] = FittedPolicyForest(random_state=self.seed, n_jobs=self.n_jobs).fit(q)
            found[GREEDY] = q.policy()
        return found

    def _averaged(self, best: str, values: dict[str, Floats], policies: dict[str, Any], states: Floats) -> str:
        """The best candidate, or the mean of those that cannot be distinguished from it, which becomes a candidate.
        Without noise, the members distinguish them."""
        names = [best] if self.model.is_mostly_quiet else alike(values, best)
        if len(names) == 1:
            return best
        mean = mean_policy(self.data, [policies[name] for name in names])
        found = self._values(mean, states, 0)
        if not is_concave(found, [values[name] for name in names]):
            return best
        policies[MEAN], values[MEAN] = mean, found
        return MEAN

    def _solves(self, regulator: Any) -> bool:
        """Whether the model is linear with a quadratic reward, and the regulator stays away from ends, from the edge of
        the data and from the limits of actions: then no policy is better in this model."""
        if not self.model.is_linear_quadratic or self.baseline is not None:
            return False
        seed, box = self.seed + 5, bounds(self.data.action_space)
        passed = self.rollouts.visited(
            regulator, self.starts, n_steps=self.n_steps, seed=seed, member=0, action_noise=0.0
        )
        inner = np.concatenate([self.starts, passed])
        actions, slack = checked_actions(regulator, inner, len(box)), LIMIT * (box[:, 1] - box[:, 0])
        free = ((actions > box[:, 0] + slack) & (actions < box[:, 1] - slack)).all(axis=1)
        lasted = len(passed) == self.n_steps * len(self.starts) and not self.model.edge(self.discount).left(inner).any()
        return lasted and bool(free.mean() >= 1.0 - LIMIT)

    def _focus(self, policy: Any) -> None:
        """Fits the model again for the states that a policy visits."""
        starts = self.starts[self.rng.integers(len(self.starts), size=40)]
        visited = [
            self.rollouts.visited(
                policy, starts, n_steps=self.n_steps, seed=self.seed + 5 + b, member=b, action_noise=0.03
            )
            for b in range(2)
        ]
        model = focused(self.model, np.concatenate([*visited, starts]))
        if model is not self.model:
            self.tell("fitting the model for the states that the best candidate visits")
            self.model, self.rollouts = model, ModelRollouts(model, self.discount, MEMBERS, self.n_jobs)

    def _improve(self, start: str, policies: dict[str, Any], values: dict[str, Floats], states: Floats) -> Improvement:
        """Improves the start policy in several ways, and adds the first result that pays to the candidates."""
        made = Improvement(policies[start], False, 0.0, ())
        for what, improver in self._ways(start):
            self.tell(what)
            made = improver.improve(self.model, policies[start], self.rollouts)
            if not made.improved:
                continue
            found = self._values(made.policy, states, FIRST_JUDGE)
            gained = float(gain_over(values, start, "constant").mean())
            if pays(found - values[start], gained):
                policies["improved"], values["improved"] = made.policy, found
                return made
        return replace(made, policy=policies[start], improved=False)

    def _ways(self, start: str) -> list[tuple[str, ModelImprovement]]:
        """The ways to improve the start policy. A plan on a grid is already the best for all states, apart from the
        size of its cells; the gains of a linear law matter if there is noise."""
        if self.solved and start == "linear-quadratic":
            return []
        how: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.n_jobs}
        few = {**how, "n_members": MEMBERS}
        ways: list[tuple[str, ModelImprovement]] = []
        if start != "grid":
            ways.append((f"improving {start} by trajectories", TrajectoryImprovement(self.discount, **few)))
        # With late commands, the gains belong to a prediction of the state that has the same errors as the model.
        if not self.model.is_quiet and self.data.plant.delay == 0:
            ways.append((f"improving the gains of {start}", GainImprovement(self.discount, **how)))
        if start != "grid":
            ways.append((f"improving {start} by rollouts", RolloutImprovement(self.discount, **few)))
        return ways

    def _values(self, policy: Any, states: Floats, first_member: int) -> Floats:
        members = range(first_member, first_member + MEMBERS)
        return np.stack(
            [
                self.rollouts.values(policy, states, n_steps=self.n_steps, seed=self.seed + 977 + b, member=b)
                for b in members
            ]
        )

    def _winner(self, best: str, values: dict[str, Floats]) -> str:
        """The best candidate, unless Q's own policy is certainly better, or the constant action as good."""
        if GREEDY in values and best != "baseline" and certainly_better(gain_over(values, GREEDY, best)):
            best = GREEDY
        if best != "constant" and not gain_over(values, best, "constant").mean() > 0:
            best = "constant"
        return best

    def _note(self, winner: str, values: dict[str, Floats]) -> str:
        if winner == "constant":
            return "no policy beats the best constant action in the learned model; that constant action is returned"
        notes = []
        if winner == "baseline":
            notes.append("nothing beats the controller that was given; it is returned unchanged")
        if gain_over(values, winner, "constant").mean(axis=1).min() <= 0:
            notes.append("the policy does not beat the best constant action on every member of the model's ensemble")
        return "; ".join(notes)

    def _labelled(self, policy: Any, winner: str, table: tuple[CandidateValue, ...], note: str) -> Any:
        if callable(getattr(policy, "with_signals", None)) and getattr(policy, "signals", None) is None:
            policy = policy.with_signals(self.data.plant.signals)
        info = getattr(policy, "info", None)
        if info is None or not hasattr(policy, "with_info"):
            return policy
        compared = [asdict(candidate) for candidate in table]
        told = {"discount": self.discount, "winner": winner, "candidates": compared, "note": note}
        settings = {**info.settings, **self.data.plant.given_names, **told}
        return policy.with_info(replace(info, settings=settings, n_samples=len(self.data)))
