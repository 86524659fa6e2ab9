"""The rod of the swing-up in MuJoCo: the same interface as a system of the core, the physics of the MJCF file."""

from __future__ import annotations

import math
import os
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from policyforest import _core

Floats = npt.NDArray[np.float64]
Played = tuple[Floats, Floats, Floats, bool]

MODEL = files("policyforest.problems") / "models" / "swing_up.xml"
CONTROL_STEPS = 100  # of 1 ms
MAX_TORQUE, MAX_SPEED, PENALTY = 15.0, 10.0, -50.0


class MujocoRod:
    """A control step is a function of state and torque: the engine's own state is cleared before each."""

    n_state, n_action, n_noise = 2, 1, 0

    def __init__(self) -> None:
        if not any(name in os.environ for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")):
            os.environ["MUJOCO_GL"] = "egl"  # read when mujoco is imported; without a screen its own choice would fail
        try:
            import mujoco
        except ImportError as error:
            message = "mujoco is not installed; run `pip install 'policyforest[mujoco]'`"
            raise DependencyNotInstalled(message) from error
        self._mujoco: Any = mujoco
        self._model: Any = mujoco.MjModel.from_xml_string(MODEL.read_text())
        self._data: Any = mujoco.MjData(self._model)
        self._renderer: Any = None

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

    def picture(self, state: Floats) -> npt.NDArray[np.uint8]:
        """A frame of 600 x 400 pixels, rendered by MuJoCo (off-screen by EGL, or what MUJOCO_GL says)."""
        if self._renderer is None:
            self._renderer = self._mujoco.Renderer(self._model, height=400, width=600)
        self._place(state)
        self._mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data, camera="side")
        frame: npt.NDArray[np.uint8] = self._renderer.render()
        return frame

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

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

    def _place(self, state: Floats) -> None:
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[0], self._data.qvel[0] = state

    def _step(self, state: Floats, torque: float) -> tuple[Floats, float, bool]:
        self._place(state)
        self._data.ctrl[0] = torque
        self._mujoco.mj_step(self._model, self._data, nstep=CONTROL_STEPS)
        turned = float(self._data.qpos[0])
        theta = turned - 2.0 * math.pi * math.floor((turned + math.pi) / (2.0 * math.pi))
        theta = theta if -math.pi <= theta < math.pi else -math.pi
        omega = float(self._data.qvel[0])
        if abs(omega) > MAX_SPEED:
            return np.array([theta, omega]), PENALTY, True
        return np.array([theta, omega]), -(abs(theta) / math.pi + (torque / MAX_TORQUE) ** 2), False
