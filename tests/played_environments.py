"""Environments and policies whose samples are known, for the tests of collecting and evaluating."""

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

from policyforest import Forest, _core

IDS = [
    "policyforest/InvertedPendulum-v0",
    "policyforest/InvertedPendulum6kg-v0",
    "policyforest/DoubleIntegrator-v0",
    "policyforest/CarOnTheHill-v0",
    "policyforest/SwingUp-v0",
]


class Watched(gym.Wrapper):
    """Changes nothing, but is no wrapper that the core may look through."""


class StepPolicy:
    """A policy of one tree: `low` where the first state is at most `split`, else `high`."""

    def __init__(self, low, high, split=0.0):
        forest = Forest.from_arrays(
            feature=[0, -1, -1],
            split=[split, low, high],
            child=[1, 0, 1],
            node_offsets=[0, 3],
            box=[[-np.inf, np.inf]] * 2,
        )
        box = np.array([[min(low, high), max(low, high)]])
        self.native = _core.Controller([forest._native], box, np.empty((0, 2)))

    def act(self, state):
        return self.native.act(state)


class Line(gym.Env):
    """A point that walks: the state is the sum of the actions, in single precision."""

    observation_space = Box(-10.0, 10.0, (1,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, observation=None, reward=0.0, ends_at=np.inf):
        self.observation, self.reward, self.ends_at = observation, reward, ends_at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.steps = np.zeros(1, dtype=np.float32), 0
        return self.x.copy(), {}

    def step(self, action):
        assert action.dtype == np.float32
        self.x = self.x + action
        self.steps += 1
        observation = self.x.copy() if self.observation is None else self.observation
        return observation, self.reward, self.steps == self.ends_at, self.steps == 7, {}


def assert_same(a, b):
    for name in ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert (a.observation_space, a.action_space, a.periodic) == (
        b.observation_space,
        b.action_space,
        b.periodic,
    )
