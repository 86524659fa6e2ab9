"""Fitted Q Evaluation: the Q function of a given policy, from samples of any other policies.

It is Fitted Q Iteration with the policy's action in place of the maximum:

    x = (s, a),    y = r + gamma Q_{h-1}(s', pi(s'))    (y = r if s' is terminal).

With few samples, the values of good policies are too low: a leaf mixes steps that continue with steps that end, and
hardly any sample has the policy's own action. Samples that are drawn from a learned model fill that gap. They are drawn
again in each iteration, half of them with the policy's actions. Q is the average of the last forests, each of which was
grown on other drawn samples.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.q_history import WINDOW, drift, settled, some


@dataclass(frozen=True)
class FittedQEvaluation:
    """Fits the Q function of a policy.

    Args:
        policy: An object with the method ``act_batch(states)``.
        iterations: The number of iterations; with `until_settled` the largest number.
        model: The learned model that samples are drawn from.
        n_drawn: How many samples are drawn from it in each iteration.
        n_averaged: Q is the average of this many forests, the last ones.
    """

    policy: Any
    samples: Transitions
    discount: float
    iterations: int
    n_estimators: int = 25
    n_jobs: int | None = 1
    min_samples_leaf: int | None = None
    model: DynamicsModel | None = None
    n_drawn: int = 0
    n_averaged: int = 1
    until_settled: bool = False

    def fit(self, seed: int = 0) -> Forest:
        """Q after all iterations."""
        given = self._prepared(self.samples)
        box = np.concatenate([self.samples.state_box(), bounds(self.samples.action_space)])
        last: deque[Forest] = deque(maxlen=self.n_averaged)
        watched, drifts = some(given.ahead), list[float]()
        recent = deque([np.zeros(len(watched))], maxlen=WINDOW + 1)
        left = self.iterations
        while left > 0:
            number = (seed + self.iterations - left) % 2**64
            parts = [given]
            if self.model is not None and self.n_drawn:
                parts.append(self._prepared(self.model.sample(self.n_drawn, number, self.policy.act_batch)))
            targets = [part.targets(last[-1] if last else None, self.discount, self.n_jobs) for part in parts]
            last.append(
                grow_forest(
                    np.concatenate([part.inputs for part in parts]),
                    np.concatenate(targets),
                    n_estimators=self.n_estimators,
                    min_samples_leaf=self.min_samples_leaf,
                    periodic=self.samples.periodic,
                    box=box,
                    random_state=number,
                    n_jobs=self.n_jobs,
                )
            )
            left -= 1
            if self.until_settled and len(given.ahead) and left >= self.n_averaged:
                recent.append(last[-1].predict(watched, self.n_jobs))
                drifts.append(drift(np.array(recent), level=True))
                left = self.n_averaged - 1 if settled(drifts) else left
        return Forest.join(last)

    def values(self, states: Floats, forest: Forest) -> Floats:
        """Q(s, pi(s))."""
        return forest.predict(self._chosen(states), self.n_jobs)

    def _prepared(self, samples: Transitions) -> _Prepared:
        living = ~samples.terminals
        inputs = np.concatenate([samples.states, samples.actions], axis=1)
        return _Prepared(inputs, samples.rewards, living, self._chosen(samples.next_states[living]))

    def _chosen(self, states: Floats) -> Floats:
        if len(states) == 0:
            return np.empty((0, self.samples.states.shape[1] + self.samples.actions.shape[1]))
        return np.concatenate([states, self.policy.act_batch(states)], axis=1)


@dataclass(frozen=True)
class _Prepared:
    """Samples: (s, a), r, whether the episode continues, and if so (s', pi(s'))."""

    inputs: Floats
    rewards: Floats
    living: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ahead: Floats

    def targets(self, forest: Forest | None, discount: float, n_jobs: int | None) -> Floats:
        targets = self.rewards.copy()
        if forest is not None and len(self.ahead):
            targets[self.living] += discount * forest.predict(self.ahead, n_jobs)
        return targets
