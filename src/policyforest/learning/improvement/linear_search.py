"""The best linear law of the state in a learned model, by search.

Where commands act late, little margin is left: gains that are a few percent too low fall over once in a few hundred
steps, and the linear-quadratic regulator of the samples knows neither of falling nor of how uncertain its model is. So
its gains are varied, and laws are compared by rollouts with noise in many members of the model's ensemble, each with
gains that are slightly off. The cross-entropy method draws laws from a normal distribution and fits that to the best of
them, again and again.
"""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.simple_policies import make_policy, one_leaf
from policyforest.policy.policy import Policy

# Laws are judged in these members, which are all of the kinds that predict best. (Pendulum of 6 kg, commands two steps
# late, five seeds: returns of -761 in the mean with members of other kinds among them, -693 without.)
MEMBERS = range(0, 24, 2)
# Each member sees gains that differ from those of the law by up to this part: no law must be at the edge of falling.
MARGIN = 0.1
STATES = 150
ITERATIONS, ELITE = 10, 0.25
# Laws of a round are drawn within this part of each gain at first, and at least within this part of what fills the
# action box.
FIRST_SPREADS, SMALLEST_SPREAD = (0.2, 0.1), 0.01


class LinearSearch:
    """Varies the gains of a linear law in the members of a model's ensemble."""

    def __init__(self, rollouts: ModelRollouts, starts: Floats, n_steps: int, seed: int) -> None:
        self.rollouts, self.starts, self.n_steps, self.seed = rollouts, starts, n_steps, seed
        self.data = rollouts.model.transitions
        self.rng = np.random.default_rng([seed, 43])
        shape = (len(MEMBERS), self.data.actions.shape[1], self.data.states.shape[1] + 1)
        self.changes = 1.0 + MARGIN * self.rng.uniform(-1.0, 1.0, shape)

    def run(self, start: Policy) -> Policy:
        """The best law found: from where episodes begin, then also from where that law goes."""
        gains = np.stack([forest.arrays["coefficients"][0] for forest in start.forests])
        gains = self._search(gains, FIRST_SPREADS[0], self._drawn(self.starts, STATES))
        there, half = np.concatenate([self._visited(gains), self.starts]), STATES // 2
        states = np.concatenate([self._drawn(self.starts, half), self._drawn(there, STATES - half)])
        return self._policy(self._search(gains, FIRST_SPREADS[1], states))

    def _search(self, gains: Floats, spread: float, states: Floats) -> Floats:
        """The middle of the last distribution: a single law owes part of its value to the noise of the rollouts."""
        middle, sizes = gains, np.maximum(spread * np.abs(gains), self._smallest(len(gains)))
        count = 4 + 4 * gains.size
        for _ in range(ITERATIONS):
            laws = middle + sizes * self.rng.standard_normal((count, *gains.shape))
            values = np.array([self._value(law, states) for law in laws])
            best = laws[np.argsort(-values)[: max(2, int(ELITE * count))]]
            middle, sizes = best.mean(axis=0), best.std(axis=0)
        return middle if self._value(middle, states) > self._value(gains, states) else gains

    def _value(self, gains: Floats, states: Floats) -> float:
        roll, seed = self.rollouts.values, self.seed + 31
        values = [
            roll(self._policy(change * gains), states, n_steps=self.n_steps, seed=seed, member=b)
            for b, change in zip(MEMBERS, self.changes, strict=True)
        ]
        return float(np.mean(values))

    def _visited(self, gains: Floats) -> Floats:
        policy, roll, seed = self._policy(gains), self.rollouts.visited, self.seed + 37
        starts = self._drawn(self.starts, STATES)
        return np.concatenate(
            [roll(policy, starts, n_steps=self.n_steps, seed=seed, member=b, action_noise=0.0) for b in range(2)]
        )

    def _drawn(self, states: Floats, number: int) -> Floats:
        return states[self.rng.integers(len(states), size=number)]

    def _smallest(self, n_actions: int) -> Floats:
        low, high = self.data.action_space.low, self.data.action_space.high
        reach = np.append(np.maximum(self.data.states.std(axis=0), 1e-9), 1.0)
        smallest: Floats = SMALLEST_SPREAD * (high - low).astype(np.float64)[:n_actions, None] / reach
        return smallest

    def _policy(self, gains: Floats) -> Policy:
        return make_policy(self.data, [one_leaf(self.data.state_box(), row) for row in gains], "linear-search")
