"""The rod of the swing-up in DART, from the SDF file that Gazebo also uses: Gazebo's physics without Gazebo."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

from gymnasium.error import DependencyNotInstalled

from policyforest._support.arguments import Floats
from policyforest.environments.problems.swing_up_engine import CONTROL_STEPS, EngineRod

MODEL = files("policyforest.environments.problems") / "models" / "swing_up.sdf"


class DartRod(EngineRod):
    """DART, in-process. Its state is the joint's angle and speed alone, so every step begins by setting them."""

    def __init__(self) -> None:
        try:
            import dartpy
        except ImportError as error:
            message = "dartpy is not installed; run `pip install 'policyforest[dart]'`"
            raise DependencyNotInstalled(message) from error
        with as_file(MODEL) as path:
            self._world: Any = dartpy.utils.SdfParser.readWorld(str(path))
        if self._world is None:
            raise ValueError(f"{MODEL}: is not a world that DART can read")
        self._rod: Any = self._world.getSkeleton("pendulum")

    def advance(self, state: Floats, torque: float) -> tuple[float, float]:
        self._rod.setPositions([float(state[0])])
        self._rod.setVelocities([float(state[1])])
        for _ in range(CONTROL_STEPS):
            self._rod.setForces([torque])
            self._world.step()
        return float(self._rod.getPositions()[0]), float(self._rod.getVelocities()[0])
