"""An MJCF file of this package in MuJoCo: control steps of its joints, and frames."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from policyforest._support.arguments import Floats

MODELS = files("policyforest.environments.problems") / "models"


class MujocoModel:
    """A model with one actuator. MuJoCo's own state is cleared before each control step."""

    def __init__(self, name: str) -> None:
        if not any(name in os.environ for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")):
            os.environ["MUJOCO_GL"] = "egl"  # read when mujoco is imported, whose default fails without a screen
        try:
            import mujoco
        except ImportError as error:
            message = "mujoco is not installed; run `pip install 'policyforest[mujoco]'`"
            raise DependencyNotInstalled(message) from error
        self._mujoco: Any = mujoco
        self._model: Any = mujoco.MjModel.from_xml_string((MODELS / name).read_text(encoding="utf-8"))
        self._data: Any = mujoco.MjData(self._model)
        self._renderer: Any = None

    def set_damping(self, joint: int, damping: float) -> None:
        """Replaces the file's viscous friction of a joint."""
        self._model.dof_damping[joint] = damping

    def moved(self, positions: Floats, speeds: Floats, action: float, steps: int) -> tuple[Floats, Floats]:
        """The joints' positions (angles of any turn) and speeds after `steps` time steps with one action."""
        self._place(positions, speeds)
        self._data.ctrl[0] = action
        self._mujoco.mj_step(self._model, self._data, nstep=steps)
        return self._data.qpos.copy(), self._data.qvel.copy()

    def picture(self, positions: Floats, camera_x: float = 0.0) -> npt.NDArray[np.uint8]:
        """A frame of 600 x 400 pixels, rendered by MuJoCo (off-screen by EGL, or by the backend in MUJOCO_GL)."""
        if self._renderer is None:
            self._renderer = self._mujoco.Renderer(self._model, height=400, width=600)
        self._place(positions, np.zeros_like(positions))
        self._model.camera("side").pos[0] = camera_x
        self._mujoco.mj_forward(self._model, self._data)
        self._renderer.update_scene(self._data, camera="side")
        frame: npt.NDArray[np.uint8] = self._renderer.render()
        return frame

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _place(self, positions: Floats, speeds: Floats) -> None:
        self._mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = positions, speeds
