"""The cart-pole swing-up of PILCO and MC-PILCO: swing a pole up by pushing its cart, and balance it there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policyforest import _core
from policyforest._support.arguments import Floats, one_of, real_number
from policyforest.environments.problems.cart_pole_mujoco import ROOM, MujocoCartPole
from policyforest.environments.problems.cart_pole_task import MAX_FORCE, MAX_OMEGA, MAX_SPEED, TRACK
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GOAL, GROUND, LIMIT, ROD, Canvas, Point, followed

LENGTH = 0.5
FRICTION = 0.1
BACKENDS = ("equation", "mujoco")


class CartPoleSwingUp(NativeProblem):
    """A uniform pole hangs from a cart on a level track. The state is the cart's position x and its speed v, the
    pole's angle theta (0: upright, wrapped into [-pi, pi), positive to the right) and its speed omega. A force u in
    [-10, 10] N pushes the cart.

    The equations and parameters are those of PILCO (Deisenroth and Rasmussen, 2011) as MC-PILCO (Amadio et al., 2022)
    uses them. With the cart's mass M = 0.5 kg, the pole's mass m = 0.5 kg and length l = 0.5 m, the cart's
    friction b = `friction` = 0.1 N s/m, g = 9.81 m/s² and D = 4 (M + m) - 3 m cos²(theta):

        dx/dt = v
        dv/dt = (2 m l omega² sin(theta) - 3 m g sin(theta) cos(theta) + 4 (u - b v)) / D
        dtheta/dt = omega
        domega/dt = (6 (M + m) g sin(theta) - 3 m l omega² sin(theta) cos(theta) - 6 (u - b v) cos(theta)) / (l D)

    Both papers measure the angle from hanging and in the other direction, theta_there = pi - theta; PILCO itself has
    g = 9.82 m/s². The force is held for a control step of 50 ms, which takes 20 steps of 2.5 ms of the Runge-Kutta
    method of fourth order. The reward of a step is `cart_pole_reward`, one minus MC-PILCO's cost of the state after it.
    An episode lasts 60 steps (3 s), or 5 s with ``gym.make(id, max_episode_steps=100)``. `cart_pole_balanced` checks
    whether an episode ends with the pole balanced.

    PILCO's track has no ends. Here a step that ends with abs(x) > `track`, abs(v) > 10 or abs(omega) > 25 ends the
    episode. There is no penalty: every reward is positive, so an episode that ends early misses rewards.

    Start: hanging at rest, (0, 0, -pi, 0), plus a normal disturbance of each of the four numbers with the standard
    deviation `start_spread`, which is 0.01 as in MC-PILCO. The state is observed without noise, unlike in MC-PILCO.

    `backend` selects the integrator: ``"equation"`` is the core, and ``"mujoco"`` is MuJoCo with the MJCF file of this
    package, which also renders the frames. The two agree within 1e-9 over 3 s of random force.
    """

    metadata: dict[str, Any] = NativeProblem.metadata | {"render_fps": 20}

    def __init__(
        self,
        backend: str = "equation",
        track: float = TRACK,
        friction: float = FRICTION,
        start_spread: float = 0.01,
        render_mode: str | None = None,
    ) -> None:
        self.backend = one_of("backend", backend, BACKENDS)
        self.track, self.friction = real_number("track", track), real_number("friction", friction)
        # Cart and pole exchange momentum: a control step moves the cart by at most 0.62 m, and changes the two speeds
        # by at most 4.8 m/s and 9.4 rad/s.
        limits = np.array([self.track, MAX_SPEED, math.pi, MAX_OMEGA])
        reach = limits + [0.8, 6.0, 0.0, 11.0]
        system = _core.CartPole(self.track, self.friction)  # refuses invalid values, also for MuJoCo
        super().__init__(
            system if backend == "equation" else MujocoCartPole(limits, self.friction),
            start=[0.0, 0.0, -math.pi, 0.0],
            start_spread=start_spread,
            state_limits=np.stack([-limits, limits], axis=1),
            observation_limits=np.stack([-reach, reach], axis=1),
            action_limits=[[-MAX_FORCE, MAX_FORCE]],
            periodic={2: (-math.pi, math.pi)},
            render_mode=render_mode,
        )

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the pole, its cart, and the track with its ends; the picture follows a cart that is far away."""
        x, theta = float(state[0]), float(state[2])
        canvas.begin(center=(followed(x, ROOM), 0.0), height=1.6)
        canvas.line((-self.track, -0.08), (self.track, -0.08), GROUND, 0.012)
        for end in (-self.track, self.track):
            canvas.line((end, -0.14), (end, 0.06), LIMIT, 0.02)
        for mark in range(-math.floor(self.track), math.floor(self.track) + 1):
            canvas.line((mark, -0.11), (mark, -0.08), GROUND, 0.008)
        canvas.disc((0.0, LENGTH), 0.025, GOAL)
        canvas.rectangle((x - 0.13, -0.05), (x + 0.13, 0.05), BODY)
        for wheel in (-0.08, 0.08):
            canvas.disc((x + wheel, -0.05), 0.03, ROD)
        tip: Point = (x + LENGTH * math.sin(theta), LENGTH * math.cos(theta))
        canvas.line((x, 0.0), tip, ROD, 0.035)
        canvas.disc((x, 0.0), 0.025, GROUND)
