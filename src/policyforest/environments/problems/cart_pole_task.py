"""The task of the cart-pole: its reward, where an episode ends, and whether it ends balanced."""

from __future__ import annotations

import math

import numpy as np

from policyforest._support.arguments import Floats, real_number, whole_number

MAX_FORCE = 10.0
TRACK = 6.0
MAX_SPEED, MAX_OMEGA = 10.0, 25.0
ANGLE_SCALE, POSITION_SCALE = 3.0, 1.0
BALANCE_ANGLE = math.radians(12.0)
BALANCE_STEPS = 10


def cart_pole_reward(states: Floats, actions: Floats, next_states: Floats) -> Floats:
    """The reward of the cart-pole for rows of steps: exp(-(theta/3)² - x²) of the next state, between 0 and 1.

    It is one minus the cost of MC-PILCO. Pass it as ``reward=`` to a learner that should know the reward.
    """
    x, theta = next_states[:, 0] / POSITION_SCALE, next_states[:, 2] / ANGLE_SCALE
    rewards: Floats = np.exp(-(theta * theta + x * x))
    return rewards


def cart_pole_balanced(
    states: Floats, *, steps: int = BALANCE_STEPS, angle: float = BALANCE_ANGLE, position: float = TRACK
) -> bool:
    """Whether the pole is balanced at the end of an episode.

    Args:
        states: The states of one episode in order, for instance ``pf.collect(env, policy, episodes=1).next_states``.
        steps: The number of last states to check; 10 are half a second. A shorter episode is not balanced.
        angle: The largest angle from upright in each of them, in rad; the default is 12 degrees.
        position: The largest distance of the cart from the middle in each of them, in m; default: the whole track.
    """
    steps = whole_number("steps", steps, at_least=1)
    angle, position = real_number("angle", angle, at_least=0.0), real_number("position", position, at_least=0.0)
    rows = np.asarray(states, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise ValueError(f"states: has the shape {rows.shape}, must be rows of (x, v, theta, omega)")
    last = rows[-steps:]
    turned = np.abs((last[:, 2] + math.pi) % (2 * math.pi) - math.pi)
    return bool(len(last) == steps and (turned <= angle).all() and (np.abs(last[:, 0]) <= position).all())
