"""§ Inverted pendulum swing-up: a rod whose motor can only lift it by swinging."""

from __future__ import annotations

import math

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GOAL, GROUND, ROD, Canvas
from policyforest.environments.problems.swing_up_dart import DartRod
from policyforest.environments.problems.swing_up_engine import EngineRod
from policyforest.environments.problems.swing_up_mujoco import MujocoRod

LENGTH = 1.0
MAX_TORQUE = 15.0
MAX_SPEED = 10.0
ENGINES: dict[str, type[EngineRod] | None] = {"equation": None, "mujoco": MujocoRod, "dart": DartRod}


class SwingUp(NativeProblem):
    """A uniform rod that turns about its end, with angle theta (0: upright, wrapped into [-pi, pi)) and
    speed omega, driven by a torque tau in [-15, 15] Nm; holding it level would take 24.5 Nm.

    With m = 5 kg, l = 1 m, g = 9.81 m/s², I = m l²/3, damping d = 0.1 Nms/rad and dry friction f = 0.1 Nm:

        dtheta/dt = omega
        I domega/dt = tau + m g l sin(theta) / 2 - d omega - f sign(omega)

    in steps of 1 ms, as rigid-body engines integrate it: the speed first, with the damping implicit and the
    friction as an impulse that can stop the rod but not reverse it, then the angle. A control step takes 100
    ms. The reward charges the angle after the step, -(abs(theta)/pi + (tau/15)²). A step that ends with
    abs(omega) > 10 ends the episode with -50. Start: (-pi, 0), hanging at rest.

    `backend` selects the integrator: ``"equation"`` is the core, ``"mujoco"`` is MuJoCo with the MJCF file of this
    package, which also renders the frames, and ``"dart"`` is DART with the SDF file that Gazebo also uses. They agree
    within 1e-4 rad over 10 s of random torque.
    """

    def __init__(self, backend: str = "equation", render_mode: str | None = None) -> None:
        if backend not in ENGINES:
            raise ValueError(f"backend: is {backend!r}, must be one of {', '.join(map(repr, ENGINES))}")
        self.backend = backend
        engine = ENGINES[backend]
        self._set_up(None if engine is None else engine(), render_mode)

    def _set_up(self, rod: EngineRod | None, render_mode: str | None) -> None:
        super().__init__(
            rod or _core.SwingUp(),
            start=[-math.pi, 0.0],
            state_limits=[[-math.pi, math.pi], [-MAX_SPEED, MAX_SPEED]],
            # Weight and motor together change the speed by less than 2.4 rad/s in a control step.
            observation_limits=[[-math.pi, math.pi], [-MAX_SPEED - 2.5, MAX_SPEED + 2.5]],
            action_limits=[[-MAX_TORQUE, MAX_TORQUE]],
            periodic={0: (-math.pi, math.pi)},
            render_mode=render_mode,
        )

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the rod and the circle of its end."""
        theta = float(state[0])
        canvas.begin(center=(0.0, 0.0), height=2.5)
        canvas.circle((0.0, 0.0), LENGTH, GOAL, 0.008)
        canvas.disc((0.0, LENGTH), 0.04, GOAL)
        canvas.line((0.0, -1.25), (0.0, 0.0), GROUND, 0.04)
        canvas.line((0.0, 0.0), (LENGTH * math.sin(theta), LENGTH * math.cos(theta)), BODY, 0.1)
        canvas.disc((0.0, 0.0), 0.07, ROD)
