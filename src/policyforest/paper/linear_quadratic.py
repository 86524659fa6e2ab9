"""Random linear-quadratic systems, whose optimum is known for any number of dimensions.

    s' = A s + B a,    r = -(s'Q s + a'R a),    Q = I,    R = 0.1 I

A has the spectral radius 1.02, so that doing nothing fails slowly. The optimum of the discounted cost is the control
law a = -K s of a Riccati equation (scipy, the extra "paper").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats, whole_number
from policyforest._support.extras import import_extra
from policyforest.data.transitions import Transitions

DISCOUNT = 0.98
SPECTRAL_RADIUS, INPUT_SCALE, ACTION_COST = 1.02, 0.3, 0.1
EPISODE_STEPS = 50
STARTS, JUDGED_STEPS, EVALUATION_SEED = 50, 200, 1
# The action box, as a multiple of the largest action that the optimum takes from any start.
ROOM = 1.5

BatchLaw = Callable[[Floats], Floats]
"""A function from rows of states to rows of actions"""


@dataclass(frozen=True, eq=False)
class LinearQuadratic:
    """One system; episodes begin uniformly in [-1, 1]^n."""

    a: Floats
    b: Floats

    @classmethod
    def draw(cls, n: int, m: int, seed: int) -> LinearQuadratic:
        """A system with `n` states and `m` actions; the same seed gives the same one."""
        shape = (whole_number("n", n, at_least=1), whole_number("m", m, at_least=1))
        rng = np.random.default_rng([seed, *shape])
        a = rng.standard_normal((n, n))
        a *= SPECTRAL_RADIUS / np.abs(np.linalg.eigvals(a)).max()
        return cls(a, INPUT_SCALE * rng.standard_normal(shape))

    @property
    def n(self) -> int:
        return len(self.b)

    @property
    def m(self) -> int:
        return len(self.b.T)

    @cached_property
    def gain(self) -> Floats:
        """K of the optimal control law a = -K s, without limits on the actions.

        With y_t = gamma^(t/2) s_t the discounted problem is the undiscounted one of sqrt(gamma) A and sqrt(gamma) B."""
        a, b = np.sqrt(DISCOUNT) * self.a, np.sqrt(DISCOUNT) * self.b
        r = ACTION_COST * np.eye(self.m)
        p = import_extra("scipy.linalg", "paper").solve_discrete_are(a, b, np.eye(self.n), r)
        return np.asarray(np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a))

    @cached_property
    def largest_optimal_actions(self) -> Floats:
        """The largest magnitude of each action on optimal episodes from any start: |K (A - B K)^t| is summed over
        the states, each of which is at most 1 in magnitude at the start."""
        closed, ahead, largest = self.a - self.b @ self.gain, np.eye(self.n), np.zeros(self.m)
        for _ in range(JUDGED_STEPS):
            largest = np.maximum(largest, np.abs(self.gain @ ahead).sum(axis=1))
            ahead = closed @ ahead
        return largest

    @cached_property
    def action_space(self) -> Box:
        """The action box, which is so large that it does not restrict the optimum."""
        most = ROOM * self.largest_optimal_actions
        return Box(-most, most, dtype=np.float64)

    def step(self, states: Floats, actions: Floats) -> tuple[Floats, Floats]:
        """The next states and the rewards."""
        costs = (states**2).sum(axis=1) + ACTION_COST * (actions**2).sum(axis=1)
        return states @ self.a.T + actions @ self.b.T, -costs

    def collect(self, steps: int, seed: int) -> Transitions:
        """Episodes of random actions; the last episode may be cut short."""
        whole_number("steps", steps, at_least=1)
        rng = np.random.default_rng([seed, self.n, self.m, 1])
        episodes = -(-steps // EPISODE_STEPS)
        low, high = self.action_space.low, self.action_space.high
        here, columns = rng.uniform(-1.0, 1.0, (episodes, self.n)), []
        for _ in range(EPISODE_STEPS):
            actions = rng.uniform(low, high, (episodes, self.m))
            ahead, rewards = self.step(here, actions)
            columns.append((here, actions, rewards, ahead))
            here = ahead
        states, taken, paid, next_states = (
            np.concatenate(np.stack(part, axis=1))[:steps] for part in zip(*columns, strict=True)
        )
        numbers = np.repeat(np.arange(episodes), EPISODE_STEPS)[:steps]
        ends = np.zeros(steps, dtype=np.bool_)
        return Transitions(states, taken, paid, next_states, ends, numbers, action_space=self.action_space)

    def cost(self, law: BatchLaw) -> float:
        """The mean discounted cost over the same starts for every law."""
        here = np.random.default_rng([EVALUATION_SEED, self.n]).uniform(-1.0, 1.0, (STARTS, self.n))
        total = np.zeros(STARTS)
        for t in range(JUDGED_STEPS):
            actions = np.clip(law(here), self.action_space.low, self.action_space.high)
            here, rewards = self.step(here, actions)
            total -= DISCOUNT**t * rewards
        return float(total.mean())

    def optimal(self, states: Floats) -> Floats:
        """The optimal control law."""
        return -states @ self.gain.T

    def nothing(self, states: Floats) -> Floats:
        """The control law that always returns zero."""
        return np.zeros((len(states), self.m))
