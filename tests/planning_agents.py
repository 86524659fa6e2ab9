"""Agents that plan with the learned model, a reward that they may know, and a goal to find."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

import policyforest as pf
from exploring import Corridor


def distance(states, actions, next_states):
    return -np.abs(next_states[:, 0])


def agent(system: Any = None, **settings: Any) -> pf.ModelExploration:
    """Plans take less than a second."""
    return pf.ModelExploration(Corridor() if system is None else system, discount=0.7, **settings)


class Valley(gym.Env[Any, Any]):
    """A car on a plain; only far to the right is there a reward, and it ends the episode."""

    observation_space = Box(-10.0, 10.0, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)
    goal = 3.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.t = self.np_random.uniform(-0.1, 0.1, 2), 0
        return self.x.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        speed = 0.9 * self.x[1] + 0.1 * float(action[0])
        self.x = np.clip(np.array([self.x[0] + 0.3 * speed, speed]), -9.0, 9.0)
        self.t += 1
        done = bool(self.x[0] > self.goal)
        return self.x.copy(), (10.0 if done else 0.0) - 0.01 * float(action[0]) ** 2, done, self.t >= 60, {}
