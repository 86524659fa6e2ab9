"""Small samples and learners for the tests of learning."""

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf

ACTIONS = Box(-1.0, 1.0, (1,), np.float64)
LINE = Box(-2.0, 2.0, (1,), np.float64)


def line_samples(n=60, seed=0, terminal=0.2, noise=0.0):
    """A point on a line: s' = s + a / 2, which pays -s'²; a share of the steps ends the episode with -5."""
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(-1.5, 1.5, (n, 1)), rng.uniform(-1, 1, (n, 1))
    ahead = states + actions / 2 + noise * rng.standard_normal((n, 1))
    terminals = np.arange(n) % 5 < 5 * terminal
    rewards = np.where(terminals, -5.0, -(ahead[:, 0] ** 2))
    return pf.Transitions(
        states, actions, rewards, ahead, terminals, np.arange(n) // 5, action_space=ACTIONS, observation_space=LINE
    )


def two_action_samples(n=150, seed=0):
    """The best action is (s_0, -s_1 / 2), whatever comes next."""
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (n, 2))
    wanted = states * [1.0, -0.5]
    rewards = -((actions - wanted) ** 2).sum(axis=1)
    return pf.Transitions(
        states,
        actions,
        rewards,
        states,
        np.zeros(n, dtype=bool),
        action_space=Box(-1, 1, (2,), np.float64),
        observation_space=Box(-1, 1, (2,), np.float64),
    )


def learner(**changes):
    """Small, and without anything that the samples do not contain."""
    return pf.FittedQIteration(**{"discount": 0.9, "horizon": 3, "n_estimators": 5, "resample": None, **changes})


def same_forest(a, b):
    return all(np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays)
