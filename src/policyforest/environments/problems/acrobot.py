"""The acrobot: swing up two links that hang from a pivot, with a motor between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GOAL, GROUND, ROD, Canvas, Point

MAX_TORQUE = 1.0
MAX_SPEEDS = (4 * math.pi, 9 * math.pi)


class Acrobot(NativeProblem):
    """Gymnasium's Acrobot-v1 (Sutton, 1996) with a continuous torque tau in [-1, 1] Nm between its two links, and with
    the angles themselves as its state: theta1 of the first link and theta2 of the second relative to it (0: hanging,
    wrapped into [-pi, pi)), and their speeds omega1 and omega2.

    With links of 1 kg and 1 m, their centres of mass in the middle, inertias of 1 kg m² and g = 9.8 m/s²:

        d1 = 3.5 + cos(theta2),  d2 = 1.25 + cos(theta2) / 2
        phi2 = g sin(theta1 + theta2) / 2
        phi1 = -(omega2² + 2 omega1 omega2) sin(theta2) / 2 + 1.5 g sin(theta1) + phi2
        domega2/dt = (tau + phi1 d2 / d1 - omega1² sin(theta2) / 2 - phi2) / (1.25 - d2² / d1)
        domega1/dt = -(d2 domega2/dt + phi1) / d1

    A control step is one step of 200 ms of the Runge-Kutta method of fourth order, after which the speeds are clipped
    to 4 pi and 9 pi, as in Gymnasium. A step costs 1 until the end of the second link is more than 1 m above the pivot;
    the step that reaches this height costs nothing and ends the episode. An episode has at most 500 steps. Start:
    hanging at rest, plus a uniform disturbance of each of the four numbers of at most `start_range`, which is 0.1.
    """

    metadata: dict[str, Any] = NativeProblem.metadata | {"render_fps": 5}

    def __init__(self, start_range: float = 0.1, render_mode: str | None = None) -> None:
        if not 0.0 <= start_range < math.pi:
            raise ValueError(f"start_range: is {start_range}, must be at least 0 and below pi")
        self.start_range = float(start_range)
        limits = np.array([math.pi, math.pi, *MAX_SPEEDS])
        super().__init__(
            _core.Acrobot(),
            start=[0.0, 0.0, 0.0, 0.0],
            state_limits=np.stack([-limits, limits], axis=1),
            observation_limits=np.stack([-limits, limits], axis=1),
            action_limits=[[-MAX_TORQUE, MAX_TORQUE]],
            periodic={0: (-math.pi, math.pi), 1: (-math.pi, math.pi)},
            render_mode=render_mode,
        )

    def draw_start(self, generator: np.random.Generator) -> Floats:
        """The first state of an episode, uniform around the hanging links."""
        return generator.uniform(-self.start_range, self.start_range, size=4)

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the links and the height that the end of the second one must pass."""
        theta1, both = float(state[0]), float(state[0] + state[1])
        elbow: Point = (math.sin(theta1), -math.cos(theta1))
        end: Point = (elbow[0] + math.sin(both), elbow[1] - math.cos(both))
        canvas.begin(center=(0.0, 0.0), height=4.6)
        canvas.line((-3.4, 1.0), (3.4, 1.0), GOAL, 0.02)
        canvas.line((0.0, 0.0), elbow, BODY, 0.12)
        canvas.line(elbow, end, ROD, 0.1)
        canvas.disc((0.0, 0.0), 0.08, GROUND)
        canvas.disc(elbow, 0.07, GROUND)
