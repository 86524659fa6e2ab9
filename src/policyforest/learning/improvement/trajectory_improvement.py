"""Policies regressed on the best trajectories that the learned model allows.

Repeat: from states where episodes begin, that the policy visits and that are near the data, follow the policy in a
member of the ensemble and improve these trajectories as a whole (`iterated_lqr`); regress policies of several leaf
sizes on all their states and actions so far, and on states next to them with the actions of the trajectories' own
feedback law, weighted by how much each action matters. A trajectory is optimised over all of its steps at once, so a
few rounds achieve what takes many rounds of one-step improvements. It needs rewards that change with the state or the
action, and ignores noise: if noise costs the policy more than trajectories gain, nothing is changed, and rollouts
improve the policy instead (`rollout_improvement`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.improvement.iterated_lqr import ModelPaths, TrajectorySearch
from policyforest.learning.improvement.policy_search import (
    Improvement,
    ImprovementRound,
    ModelImprovement,
    PolicySearch,
    better,
)
from policyforest.learning.improvement.rollouts import ModelRollouts, checked_actions
from policyforest.learning.improvement.simple_policies import middle_action
from policyforest.policy.policy import Policy

# A round has as many trajectories as an iteration over them takes model steps, within limits.
MODEL_STEPS, FEWEST, MOST = 80_000, 50, 150
# Iterations of the first round, and of later ones: those begin at a policy that was regressed on such trajectories, and
# only small changes of it can be learned.
ITERATIONS, LATER_ITERATIONS = 12, 6
# Weights of labels: equal ones to this part, the rest by curvature up to this quantile.
EVEN, CURVED = 0.2, 0.95
# Leaf sizes of the policies that are tried first, as parts of the states; None: one linear function of the state.
LEAF_SHARES = (None, 0.1, 0.03, 0.01, 0.003)
# The last part of a trajectory is left out, because too little of the future follows it.
LABELLED = 0.6
ACTION_NOISE = 0.03
# States next to a trajectory are so far from it, in parts of the data's spread: one for each of its states. (A second
# one, at 0.03, was worth less than trajectories that take as long: Reacher-v5, -5.4 with it and -5.1 without.)
ASIDE = (0.1,)


class _TrajectoryRounds(PolicySearch):
    """One run of the improvement."""

    method = "trajectory-improvement"

    def __init__(self, how: Any, model: DynamicsModel, rollouts: ModelRollouts, seed: int) -> None:
        super().__init__(how, model, rollouts, seed)
        self.length = how.n_steps
        self.labels: list[tuple[Floats, Floats, Floats]] = []
        self.unused = np.empty(0, dtype=np.intp)
        self.shares: tuple[float | None, ...] = LEAF_SHARES

    def run(self, policy: Any) -> Improvement:
        """All rounds; ends early where the first finds nothing."""
        start, history = policy, list[ImprovementRound]()
        self.judged = self.judged_states(policy)
        value = self.judge(policy, 7)
        for number in range(1, self.how.n_rounds + 1):
            gain = self._collect(policy, number)
            if number == 1 and gain <= self._cost_of_noise(policy, value):
                break
            share, candidate, judged = self._best_candidate(value, number)
            taken = better(judged - value, 1.0)
            if taken:
                policy, value = candidate, judged
            history.append(ImprovementRound(number, gain, share, float(value.mean()), taken))
            if self.how.callback is not None:
                self.how.callback(history[-1])
            if not any(made.taken for made in history[-2:]) and any(made.taken for made in history):
                break
        return self.result(start, policy, tuple(history))

    def _cost_of_noise(self, policy: Any, value: Floats) -> float:
        """The value that the policy loses by the noise of the model."""
        noisy, self.rollouts = self.rollouts, replace(self.rollouts, noisy=False)
        cost = float(np.mean(self.judge(policy, 7) - value))
        self.rollouts = noisy
        return cost

    def _collect(self, policy: Any, number: int) -> float:
        """Improves trajectories of a round and remembers their states and actions; returns the mean gain."""
        member = number % self.how.n_members
        n_iterations = ITERATIONS if number == 1 else LATER_ITERATIONS
        search = TrajectorySearch(self.rollouts, member, self.length, n_iterations)
        starts = self._starts(policy, number, member, self._number(search))
        begun = search.follow(starts, lambda states: checked_actions(policy, states, len(self.box)))
        found = search.improve(starts, begun)
        idle = middle_action(self.data)
        if number == 1 and (begun.actions != idle).any():  # actions at their limits have no slope to follow
            resting = search.follow(starts, lambda states: np.broadcast_to(idle, begun.actions[:, 0].shape))
            found = found.or_better(search.improve(starts, resting))
        self.labels += self._labels(found, search.scale)
        return float(np.mean(found.values - begun.values))

    def _number(self, search: TrajectorySearch) -> int:
        if self.how.n_trajectories is not None:
            return int(self.how.n_trajectories)
        return int(np.clip(MODEL_STEPS // (self.length * (2 * len(search.varied) + 1)), FEWEST, MOST))

    def _starts(self, policy: Any, number: int, member: int, n: int) -> Floats:
        """A third where episodes begin, a third where the policy goes from there, the rest near the data."""
        passed = self.rollouts.visited(
            policy, self.draw_starts(30), n_steps=self.length, seed=1_000 * self.seed + number, member=member,
            action_noise=ACTION_NOISE,
        )  # fmt: skip
        passed = np.concatenate([passed, self.starts])
        there = passed[self.rng.integers(len(passed), size=n // 3)]
        near = self.model.nearby.draw(max(n // 3, 1), self.rng)
        return np.concatenate([self._beginnings(n - len(there) - len(near)), there, near])

    def _beginnings(self, n: int) -> Floats:
        """States where episodes begin, each once before one is taken again."""
        while len(self.unused) < n:
            self.unused = np.concatenate([self.unused, self.rng.permutation(len(self.starts))])
        taken, self.unused = self.unused[:n], self.unused[n:]
        found: Floats = self.starts[taken]
        return found

    def _labels(self, found: ModelPaths, scale: Floats) -> list[tuple[Floats, Floats, Floats]]:
        """States, actions and weights of the trajectories, and of states next to them. Those of trajectories that end
        are left out where most go on: nothing can be learned from a fall that no action prevents."""
        n = int(LABELLED * self.length)
        lasts = found.alive[:, -1] > 0.5
        lasts = lasts if lasts.mean() >= 0.3 else np.ones(len(lasts), dtype=bool)
        rows = (found.alive[:, :n] > 0.5) & lasts[:, None]
        states, actions, gains = found.states[:, :n][rows], found.actions[:, :n][rows], found.gains[:, :n][rows]
        weights = _evened(found.weights[:, :n][rows])
        labels = [(self._wrapped(states), actions, weights)]
        for size in ASIDE:
            aside = size * scale[: states.shape[1]] * self.rng.standard_normal(states.shape)
            corrected = np.clip(actions + np.einsum("bij,bj->bi", gains, aside), self.box[:, 0], self.box[:, 1])
            labels.append((self._wrapped(states + aside), corrected, weights))
        return labels

    def _wrapped(self, states: Floats) -> Floats:
        states = states.copy()
        for d, (low, high) in self.data.periodic.items():
            states[:, d] = low + (states[:, d] - low) % (high - low)
        return states

    def _best_candidate(self, value: Floats, number: int) -> tuple[float | None, Policy, Floats]:
        """Of the policies of several leaf sizes the one that does best in the model; later only this size and the next
        smaller one, because labels become more."""
        states, actions, weights = (np.concatenate(column) for column in zip(*self.labels, strict=True))
        tried = []
        for share in self.shares:
            candidate = self.fit(states, actions, share, number, weights)
            judged = self.judge(candidate, 7)
            tried.append((better(judged - value, 1.0), float(judged.mean()), share, candidate, judged))
        best = max(tried, key=lambda row: row[:2])
        at = min(LEAF_SHARES.index(best[2]), len(LEAF_SHARES) - 2)
        self.shares = LEAF_SHARES[at : at + 2]
        return best[2], best[3], best[4]


def _evened(weights: Floats) -> Floats:
    """Curvatures as weights with mean 1 and one column per action: bounded, and never zero."""
    if len(weights) == 0:
        return weights
    bounded = np.minimum(weights, np.quantile(weights, CURVED, axis=0))
    mean = bounded.mean(axis=0)
    scaled = np.divide(bounded, mean, out=np.ones_like(bounded), where=mean > 0)
    found: Floats = (1 - EVEN) * scaled + EVEN
    return found


@dataclass(frozen=True)
class TrajectoryImprovement(ModelImprovement):
    """Improves a policy by the best trajectories in a learned model; `fit(model, policy)` returns a policy.

    Args:
        discount: gamma, in [0, 1).
        n_rounds: The rounds of improvement.
        n_trajectories: Trajectories per round; None: 50 in many dimensions, up to 150 in few.
        n_members: Members of the model's ensemble.
        n_estimators: Trees of the policy's forests.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
        callback: Called with an `ImprovementRound` after each round.
    """

    n_rounds: int = 4
    n_estimators: int = 16
    n_trajectories: int | None = None
    search = _TrajectoryRounds
