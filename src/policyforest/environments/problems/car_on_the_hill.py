"""§ Car on the hill: a car too weak for the slope must first back away from its goal."""

from __future__ import annotations

import math
from itertools import pairwise

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GOAL, GROUND, HILLSIDE, ROD, Canvas


def hill(p: float) -> float:
    """The height of the road at position p."""
    return p * p + p if p < 0.0 else p / math.sqrt(1.0 + 5.0 * p * p)


class CarOnTheHill(NativeProblem):
    """A car of 1 kg with position p and speed s on the road Hill(p), pushed by a force u in [-4, 4] N
    (Ernst, Geurts and Wehenkel, 2005).

    With g = 9.81 m/s², Hill(p) = p² + p for p < 0 and p / sqrt(1 + 5p²) from 0 on:

        dp/dt = s
        ds/dt = (u - g Hill'(p) - s² Hill'(p) Hill''(p)) / (1 + Hill'(p)²)

    integrated by Euler's explicit method in steps of 1 ms; a control step takes 100 ms. A step that ends with
    p < -1 or abs(s) > 3 ends the episode with -1; otherwise, a step that ends with p > 1 ends it with +1. All
    other steps are worth 0. Start: (-0.5, 0), at the bottom of the valley. A random policy almost never reaches
    the top, so samples are drawn with `policyforest.sample_uniform`.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(
            _core.CarOnTheHill(),
            start=[-0.5, 0.0],
            state_limits=[[-1.0, 1.0], [-3.0, 3.0]],
            # Within the limits no acceleration exceeds 30 m/s², so one control step adds at most 3 m/s.
            observation_limits=[[-2.0, 2.0], [-6.0, 6.0]],
            action_limits=[[-4.0, 4.0]],
            render_mode=render_mode,
        )

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the road, the car and its goal."""
        p = float(state[0])
        canvas.begin(center=(0.0, 0.15), height=1.75)
        road = [(x / 50.0, hill(x / 50.0)) for x in range(-75, 76)]
        canvas.polygon([*road, (1.5, -1.0), (-1.5, -1.0)], HILLSIDE)
        for a, b in pairwise(road):
            canvas.line(a, b, GROUND, 0.012)
        canvas.line((1.0, hill(1.0)), (1.0, hill(1.0) + 0.3), GOAL, 0.012)
        canvas.polygon([(1.0, hill(1.0) + 0.3), (1.12, hill(1.0) + 0.25), (1.0, hill(1.0) + 0.2)], GOAL)
        _draw_car(canvas, p)


def _draw_car(canvas: Canvas, p: float) -> None:
    slope = math.atan2(hill(p + 1e-4) - hill(p - 1e-4), 2e-4)
    along, up = (math.cos(slope), math.sin(slope)), (-math.sin(slope), math.cos(slope))

    def at(x: float, y: float) -> tuple[float, float]:
        return p + x * along[0] + y * up[0], hill(p) + x * along[1] + y * up[1]

    canvas.polygon([at(-0.1, 0.04), at(0.1, 0.04), at(0.08, 0.11), at(-0.08, 0.11)], BODY)
    for wheel in (-0.06, 0.06):
        canvas.disc(at(wheel, 0.035), 0.032, ROD)
