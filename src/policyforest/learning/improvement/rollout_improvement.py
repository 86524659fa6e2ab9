"""Policy improvement by rollouts in the learned model.

Repeat: take states near the data and states that the policy itself visits; for each try actions, the value of an action
being a rollout that takes it and follows the policy afterwards,

    Q(s, a) = mean over members of  r(s, a) + gamma r_1 + … + gamma^(T-1) r_(T-1);

keep the best, search more finely around it, and regress policies of several leaf sizes on (state, best action),
weighted by how much the action matters there. A policy is taken only if it is better on every member of the ensemble.
This needs no Q function and no arg max over a forest, and works for any number of actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.improvement.policy_search import (
    Improvement,
    ImprovementRound,
    ModelImprovement,
    PolicySearch,
    better,
)
from policyforest.learning.improvement.rollouts import ModelRollouts, checked_actions
from policyforest.policy.policy import Policy

# Leaf sizes of the policies that are tried, as parts of the states; None: one linear function of the state.
LEAF_SHARES = (None, 0.3, 0.1, 0.03, 0.01)
CANDIDATES, ROUNDS, CLOSER = 6, 3, 0.4
VISITED = 0.7
ACTION_NOISE = 0.03
# The regression uses the states of this many rounds together.
REMEMBERED = 3
PATIENCE = 1


class _RolloutRounds(PolicySearch):
    """One run of the improvement."""

    method = "rollout-improvement"

    def __init__(self, how: Any, model: DynamicsModel, rollouts: ModelRollouts, seed: int) -> None:
        super().__init__(how, model, rollouts, seed)
        self.memory: list[tuple[Floats, Floats, Floats]] = []
        self.reach = 0.5

    def run(self, policy: Any) -> Improvement:
        """Improves until nothing better is found."""
        start, history, failed = policy, list[ImprovementRound](), 0
        self.judged = self.judged_states(policy)
        value = self.judge(policy, 7)
        for number in range(1, self.how.n_rounds + 1):
            gain = self._collect(policy, number)
            share, candidate, judged = self._best_candidate(value, number)
            taken = better(judged - value, 1.0)
            if taken:
                policy, value, failed = candidate, judged, 0
            else:
                failed, self.reach = failed + 1, 0.6 * self.reach
            history.append(ImprovementRound(number, gain, share, float(value.mean()), taken))
            if self.how.callback is not None:
                self.how.callback(history[-1])
            if failed > PATIENCE:
                break
        return self.result(start, policy, tuple(history))

    def _states(self, policy: Any, number: int) -> Floats:
        """The states of a round: most of them visited by the policy with some noise, the rest near the data."""
        n_visited = int(VISITED * self.how.n_states)
        passed = []
        for b in range(min(2, self.how.n_members)):
            starts = self.draw_starts(30)
            seed = 1_000 * self.seed + 77 * number + b
            passed += [starts, self.rollouts.visited(
                policy, starts, n_steps=2 * self.how.n_steps, seed=seed, member=b, action_noise=ACTION_NOISE
            )]  # fmt: skip
        there = np.concatenate(passed)
        near = self.model.nearby.draw(self.how.n_states - n_visited, self.rng)
        return np.concatenate([near, there[self.rng.integers(len(there), size=n_visited)]])

    def _collect(self, policy: Any, number: int) -> float:
        """Finds better actions at the states of a round and remembers them; returns the mean gain."""
        states = self._states(policy, number)
        n, m = len(states), len(self.box)
        width = self.box[:, 1] - self.box[:, 0]
        best = checked_actions(policy, states, m)
        own = top = self._q(policy, states, best[None], number)[0]
        spread, matters = self.reach * width / 2, np.zeros(n)
        for k in range(ROUNDS):
            tried = best + spread * self.rng.standard_normal((CANDIDATES, n, m))
            if k == 0:
                half = CANDIDATES // 2
                tried[:half] = self.box[:, 0] + width * self.rng.random((half, n, m))
            tried = np.clip(tried, self.box[:, 0], self.box[:, 1])
            values = self._q(policy, states, tried, number)
            if k == 0:
                matters = values.std(axis=0)
            chosen = values.argmax(axis=0)
            better = values[chosen, np.arange(n)] > top
            best[better] = tried[chosen, np.arange(n)][better]
            top = np.where(better, values[chosen, np.arange(n)], top)
            spread = CLOSER * spread
        self.memory = [*self.memory, (states, best, matters)][-REMEMBERED:]
        return float(np.mean(top - own))

    def _q(self, policy: Any, states: Floats, actions: Floats, number: int) -> Floats:
        """Q of several actions at each state (candidates, states, dimensions), under the same noise for all."""
        k, n, _ = actions.shape
        streams = np.tile(np.arange(n, dtype=np.uint32), k)
        rows, firsts = np.tile(states, (k, 1)), actions.reshape(k * n, -1)
        total = np.zeros(k * n)
        # Two members per round, different ones in the next, so that the errors of one member do not persist.
        members = [(2 * number + b) % self.how.n_members for b in range(min(2, self.how.n_members))]
        for b in members:
            total += self.rollouts.values(
                policy, rows, n_steps=self.how.n_steps, seed=10_000 * (self.seed + number) + b, member=b,
                first_actions=firsts, streams=streams,
            )  # fmt: skip
        return (total / len(members)).reshape(k, n)

    def _best_candidate(self, value: Floats, number: int) -> tuple[float | None, Policy, Floats]:
        """Of the policies of several leaf sizes the one that does best in the model."""
        states, actions, matters = (np.concatenate([part[i] for part in self.memory]) for i in range(3))
        picked = self._by_weight(matters)
        tried = []
        for share in LEAF_SHARES:
            candidate = self.fit(states[picked], actions[picked], share, number)
            judged = self.judge(candidate, 7)
            tried.append((better(judged - value, 1.0), float(judged.mean()), share, candidate, judged))
        best = max(tried, key=lambda row: row[:2])
        return best[2], best[3], best[4]

    def _by_weight(self, matters: Floats) -> Any:
        """Rows drawn by how much the action matters there; some of them evenly."""
        weights = np.minimum(matters, np.quantile(matters, 0.95))
        even = np.full(len(weights), 1.0 / len(weights))
        chance = 0.8 * weights / weights.sum() + 0.2 * even if weights.sum() > 0 else even
        return self.rng.choice(len(weights), size=len(weights), p=chance / chance.sum())


@dataclass(frozen=True)
class RolloutImprovement(ModelImprovement):
    """Improves a policy in a learned model; `fit(model, policy)` returns a policy, `improve` also the history.

    Args:
        discount: gamma, in [0, 1).
        n_rounds: The most rounds of improvement.
        n_states: States per round.
        n_members: Members of the model's ensemble.
        n_estimators: Trees of the policy's forests.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        callback: Called with an `ImprovementRound` after each round.
    """

    n_states: int = 1_000
    search = _RolloutRounds
