"""The rod of the swing-up in MuJoCo: the physics of the MJCF file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from policyforest._support.arguments import Floats
from policyforest.environments.problems.mujoco_model import MujocoModel
from policyforest.environments.problems.swing_up_engine import CONTROL_STEPS, EngineRod


class MujocoRod(EngineRod):
    """MuJoCo with ``swing_up.xml``."""

    def __init__(self) -> None:
        self._model = MujocoModel("swing_up.xml")

    def advance(self, state: Floats, torque: float) -> tuple[float, float]:
        angles, speeds = self._model.moved(state[:1], state[1:], torque, CONTROL_STEPS)
        return float(angles[0]), float(speeds[0])

    def picture(self, state: Floats) -> npt.NDArray[np.uint8]:
        return self._model.picture(state[:1])

    def close(self) -> None:
        self._model.close()
