"""§ Inverted pendulum stabilization: keep a pole upright by pushing the cart that it stands on."""

from __future__ import annotations

import math

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GROUND, ROD, Canvas, Point

GRAVITY = 9.8
POLE_MASS = 2.0
POLE_LENGTH = 0.5
MAX_FORCE = 50.0
MAX_ANGLE = math.pi / 2
CONTROL_STEP = 0.1


class InvertedPendulum(NativeProblem):
    """A pole on a cart; only its angle theta (0: upright) and its speed omega are observed.

    With m = 2 kg, l = 0.5 m, g = 9.8 m/s², M = `cart_mass`, alpha = 1 / (m + M), and u the force f in
    [-50, 50] N plus a noise that is drawn uniformly from [-`noise`, `noise`] N once per control step
    (Wang et al., 1996):

        dtheta/dt = omega
        domega/dt = (g sin(theta) - alpha m l omega² sin(2 theta) / 2 - alpha u cos(theta))
                    / (4 l / 3 - alpha m l cos²(theta))

    integrated by Euler's explicit method in steps of 1 ms; a control step takes 100 ms. The reward charges
    the state after the step and the force without its noise, -((2 theta/pi)² + omega² + (f/50)²). A step that
    ends with abs(theta) > pi/2 or abs(omega) > `max_speed` ends the episode with -1000. Start: (0, 0).

    The defaults are those that the paper prints. Its figures can be reproduced with 6 kg and 2 rad/s, the
    registered variant ``policyforest/InvertedPendulum6kg-v0``.
    """

    def __init__(
        self,
        cart_mass: float = 8.0,
        max_speed: float = math.inf,
        noise: float = 10.0,
        render_mode: str | None = None,
    ) -> None:
        if not 0.0 <= noise < math.inf:
            raise ValueError(f"noise: is {noise}, must be a force of at least 0 N")
        self.cart_mass = float(cart_mass)
        self.max_speed = float(max_speed)
        angle_reach, speed_reach = _reach(self.cart_mass, self.max_speed, noise)
        super().__init__(
            _core.InvertedPendulum(self.cart_mass, self.max_speed),
            start=[0.0, 0.0],
            state_limits=[[-MAX_ANGLE, MAX_ANGLE], [-self.max_speed, self.max_speed]],
            observation_limits=[[-angle_reach, angle_reach], [-speed_reach, speed_reach]],
            action_limits=[[-MAX_FORCE, MAX_FORCE]],
            noise=float(noise),
            render_mode=render_mode,
        )

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the pole and its cart."""
        theta = float(state[0])
        canvas.begin(center=(0.0, 0.3), height=1.7)
        canvas.line((-2.0, -0.16), (2.0, -0.16), GROUND, 0.012)
        canvas.rectangle((-0.2, -0.1), (0.2, 0.06), BODY)
        for wheel in (-0.12, 0.12):
            canvas.disc((wheel, -0.1), 0.05, ROD)
        tip: Point = (2 * POLE_LENGTH * math.sin(theta), 2 * POLE_LENGTH * math.cos(theta))
        canvas.line((0.0, 0.0), tip, ROD, 0.05)
        canvas.disc((0.0, 0.0), 0.035, GROUND)


def _reach(cart_mass: float, max_speed: float, noise: float) -> tuple[float, float]:
    """The largest angle and speed that one control step can reach from within the limits.

    The factor 2 bounds how much the pole speeds up by itself: its effective inertia 4l/3 - alpha m l cos²
    varies by a factor of less than 4 for any cart."""
    if not cart_mass > 0.0:
        raise ValueError(f"cart_mass: is {cart_mass}, must be positive")
    alpha = 1.0 / (POLE_MASS + cart_mass)
    push = GRAVITY + alpha * (MAX_FORCE + noise)
    acceleration = push / (4 * POLE_LENGTH / 3 - alpha * POLE_MASS * POLE_LENGTH)
    speed = 2 * (max_speed + CONTROL_STEP * acceleration)
    return MAX_ANGLE + CONTROL_STEP * speed, speed
