"""The rod of the swing-up in MuJoCo: the physics of the MJCF file."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from policyforest._support.arguments import Floats
from policyforest.environments.problems.swing_up_engine import CONTROL_STEPS, EngineRod

MODEL = files("policyforest.environments.problems") / "models" / "swing_up.xml"


class MujocoRod(EngineRod):
    """MuJoCo; its own state is cleared before each control step."""

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

    def advance(self, state: Floats, torque: float) -> tuple[float, float]:
        self._place(state)
        self._data.ctrl[0] = torque
        self._mujoco.mj_step(self._model, self._data, nstep=CONTROL_STEPS)
        return float(self._data.qpos[0]), float(self._data.qvel[0])

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

    def _place(self, state: Floats) -> None:
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[0], self._data.qvel[0] = state
