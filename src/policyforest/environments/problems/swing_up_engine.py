"""The rod of the swing-up in a rigid-body engine: the interface of a system of the core, with the physics of the
engine."""

from __future__ import annotations

import math

import numpy as np

from policyforest._support.angles import turned_half_open
from policyforest._support.arguments import Floats
from policyforest.environments.problems.systems import EngineSystem

CONTROL_STEPS = 100  # of 1 ms
MAX_TORQUE, MAX_SPEED, PENALTY = 15.0, 10.0, -50.0


class EngineRod(EngineSystem):
    """The rod in any engine; the engines differ only in `advance`."""

    n_state = 2

    def advance(self, state: Floats, torque: float) -> tuple[float, float]:
        """Angle (of any turn) and speed, 100 ms after a state."""
        raise NotImplementedError

    def step(self, state: Floats, action: Floats) -> tuple[Floats, float, bool]:
        torque = float(action[0])
        turned, omega = self.advance(state, torque)
        theta = wrapped_angle(turned)
        if abs(omega) > MAX_SPEED:
            return np.array([theta, omega]), PENALTY, True
        return np.array([theta, omega]), -(abs(theta) / math.pi + (torque / MAX_TORQUE) ** 2), False


def wrapped_angle(turned: float) -> float:
    """The angle in [-pi, pi), by the rule of the core's swing-up."""
    return turned_half_open(turned, -math.pi, math.pi)
