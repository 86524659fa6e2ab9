"""A wheel on which angles matter."""

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf

PI = float(np.pi)


def wrapped(angle):
    return (angle + PI) % (2 * PI) - PI


def circle_samples():
    """A wheel that should turn to `pi`, where the seam would be: s' = s + a / 2, which pays the cosine of the way."""
    rng = np.random.default_rng(2)
    n = 1200
    states, actions = rng.uniform(-PI, PI, (n, 1)), rng.uniform(-1, 1, (n, 1))
    ahead = np.clip(wrapped(states + actions / 2), -PI, PI)
    return pf.Transitions(
        states,
        actions,
        -np.cos(ahead[:, 0]),
        ahead,
        np.zeros(n, dtype=bool),
        np.arange(n) // 4,
        action_space=Box(-1.0, 1.0, (1,), np.float64),
        observation_space=Box(-PI, PI, (1,), np.float64),
        periodic={0: (-PI, PI)},
    )
