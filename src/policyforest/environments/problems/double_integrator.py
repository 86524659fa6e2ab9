"""§ Double integrator: bring a car to rest at the origin with little acceleration."""

from __future__ import annotations

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GOAL, GROUND, LIMIT, ROD, Canvas


class DoubleIntegrator(NativeProblem):
    """A car on a line with position p and velocity v, driven by its acceleration a in [-1, 1].

        dp/dt = v
        dv/dt = a

    integrated by Euler's explicit method in steps of 50 ms (p changes by the old v); a control step takes 500 ms.
    The reward charges the position before the step, -(p² + a²). A step that ends with abs(p) > 1 or abs(v) >
    1 ends the episode with -50. Start: (1, 0).
    """

    metadata = NativeProblem.metadata | {"render_fps": 2}

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(
            _core.DoubleIntegrator(),
            start=[1.0, 0.0],
            state_limits=[[-1.0, 1.0], [-1.0, 1.0]],
            # One control step moves v by at most 0.5 and p by at most 0.5 + 45 dt² = 0.6125.
            observation_limits=[[-1.75, 1.75], [-1.75, 1.75]],
            action_limits=[[-1.0, 1.0]],
            render_mode=render_mode,
        )

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the car, its speed, its goal and the limits of the line."""
        p, v = (float(x) for x in state)
        canvas.begin(center=(0.0, 0.0), height=1.9)
        canvas.line((-1.6, -0.14), (1.6, -0.14), GROUND, 0.012)
        for end in (-1.0, 1.0):
            canvas.line((end, -0.14), (end, 0.3), LIMIT, 0.02)
        canvas.line((0.0, -0.14), (0.0, 0.5), GOAL, 0.012)
        canvas.polygon([(0.0, 0.5), (0.16, 0.43), (0.0, 0.36)], GOAL)
        canvas.rectangle((p - 0.12, -0.08), (p + 0.12, 0.04), BODY)
        for wheel in (-0.07, 0.07):
            canvas.disc((p + wheel, -0.09), 0.045, ROD)
        canvas.arrow((p, 0.12), (p + 0.4 * v, 0.12), ROD, 0.015)
