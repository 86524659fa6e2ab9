"""The rod of the swing-up in a rigid-body engine: the same interface as a system of the core, another's physics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from policyforest import _core
from policyforest._support.angles import turned_half_open
from policyforest._support.arguments import Floats
from policyforest.environments.problems.native import Played

CONTROL_STEPS = 100  # of 1 ms
MAX_TORQUE, MAX_SPEED, PENALTY = 15.0, 10.0, -50.0


class EngineRod:
    """A control step is a function of state and torque; engines differ in `advance` alone."""

    n_state, n_action, n_noise = 2, 1, 0

    def advance(self, state: Floats, torque: float) -> tuple[float, float]:
        """Angle (of any turn) and speed, 100 ms after a state."""
        raise NotImplementedError

    def picture(self, state: Floats) -> npt.NDArray[np.uint8] | None:
        """A frame of the engine's own; None where it has none."""
        return None

    def close(self) -> None:
        """Lets go of what the engine holds."""

    def step_many(self, states: Floats, actions: Floats, noise: Floats) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        stepped = [self._step(state, float(action[0])) for state, action in zip(states, actions, strict=True)]
        next_states, rewards, terminals = zip(*stepped, strict=True)
        return np.array(next_states), np.array(rewards), np.array(terminals, dtype=np.bool_)

    def play(self, controller: _core.Controller, start: Floats, noise: Floats) -> Played:
        """An episode of at most as many steps as `noise` has rows."""
        return self._roll_out(lambda state, t: controller.act(state), start, len(noise))

    def replay(self, actions: Floats, start: Floats, noise: Floats) -> Played:
        """The same for given actions."""
        return self._roll_out(lambda state, t: actions[t], start, len(noise))

    def _roll_out(self, control_law: Any, start: Floats, steps: int) -> Played:
        states, actions, rewards, terminal = [np.array(start)], [], [], False
        for t in range(steps):
            actions.append(np.array(control_law(states[-1], t)))
            state, reward, terminal = self._step(states[-1], float(actions[-1][0]))
            states.append(state)
            rewards.append(reward)
            if terminal:
                break
        return np.array(states), np.array(actions).reshape(-1, 1), np.array(rewards), terminal

    def _step(self, state: Floats, torque: float) -> tuple[Floats, float, bool]:
        turned, omega = self.advance(state, torque)
        theta = wrapped_angle(turned)
        if abs(omega) > MAX_SPEED:
            return np.array([theta, omega]), PENALTY, True
        return np.array([theta, omega]), -(abs(theta) / math.pi + (torque / MAX_TORQUE) ** 2), False


def wrapped_angle(turned: float) -> float:
    """The angle in [-pi, pi), by the rule of the core's swing-up."""
    return turned_half_open(turned, -math.pi, math.pi)
