"""The cart-pole swing-up of PILCO and MC-PILCO: swing a pole up by pushing its cart, and balance it there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policyforest import _core
from policyforest._support.arguments import Floats, real_number, whole_number
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.problem_pictures import BODY, GOAL, GROUND, LIMIT, ROD, Canvas, Point

LENGTH = 0.5
MAX_FORCE = 10.0
FRICTION = 0.1
TRACK = 6.0
MAX_SPEED, MAX_OMEGA = 10.0, 25.0
ANGLE_SCALE, POSITION_SCALE = 3.0, 1.0
BALANCE_ANGLE = math.radians(12.0)
BALANCE_STEPS = 10


def cart_pole_reward(states: Floats, actions: Floats, next_states: Floats) -> Floats:
    """The reward of the cart-pole for rows of steps: exp(-(theta/3)² - x²) of the next state, between 0 and 1.

    It is one minus the cost of MC-PILCO. Give it as ``reward=`` to what learns a model, if the reward is to be known.
    """
    x, theta = next_states[:, 0] / POSITION_SCALE, next_states[:, 2] / ANGLE_SCALE
    rewards: Floats = np.exp(-(theta * theta + x * x))
    return rewards


def cart_pole_balanced(
    states: Floats, *, steps: int = BALANCE_STEPS, angle: float = BALANCE_ANGLE, position: float = TRACK
) -> bool:
    """Whether the pole is balanced at the end of an episode.

    Args:
        states: The states of one episode in order, for instance ``pf.collect(env, policy, episodes=1).next_states``.
        steps: The last states to look at; 10 are half a second. A shorter episode is not balanced.
        angle: The largest angle from upright in each of them, in rad; the default is 12 degrees.
        position: The largest distance of the cart from the middle in each of them, in m; default: the whole track.
    """
    steps = whole_number("steps", steps, at_least=1)
    angle, position = real_number("angle", angle, at_least=0.0), real_number("position", position, at_least=0.0)
    rows = np.asarray(states, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise ValueError(f"states: has the shape {rows.shape}, must be rows of (x, v, theta, omega)")
    last = rows[-steps:]
    turned = np.abs((last[:, 2] + math.pi) % (2 * math.pi) - math.pi)
    return bool(len(last) == steps and (turned <= angle).all() and (np.abs(last[:, 0]) <= position).all())


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

    They measure the angle from hanging and to the other side, theta_there = pi - theta; PILCO itself has g = 9.82 m/s².
    The force is held for a control step of 50 ms, which takes 20 steps of 2.5 ms of the Runge-Kutta method of fourth
    order. The reward of a step is `cart_pole_reward`, one minus MC-PILCO's cost of the state after it. An episode lasts
    60 steps (3 s); ``gym.make(id, max_episode_steps=100)`` has 5 s. `cart_pole_balanced` is the test of a good end.

    PILCO's track has no ends. Here a step that ends with abs(x) > `track`, abs(v) > 10 or abs(omega) > 25 ends the
    episode. It has no penalty: every reward is positive, so what an ended episode misses is its cost.

    Start: hanging at rest, (0, 0, -pi, 0), plus a normal disturbance of each of the four numbers with the standard
    deviation `start_spread`, which is 0.01 as in MC-PILCO. The state is observed without noise, unlike there.
    """

    metadata: dict[str, Any] = NativeProblem.metadata | {"render_fps": 20}

    def __init__(
        self,
        track: float = TRACK,
        friction: float = FRICTION,
        start_spread: float = 0.01,
        render_mode: str | None = None,
    ) -> None:
        self.track, self.friction = real_number("track", track), real_number("friction", friction)
        # Cart and pole exchange momentum: a control step moves the cart by at most 0.62 m, and changes the two speeds
        # by at most 4.8 m/s and 9.4 rad/s.
        limits = np.array([self.track, MAX_SPEED, math.pi, MAX_OMEGA])
        reach = limits + [0.8, 6.0, 0.0, 11.0]
        super().__init__(
            _core.CartPole(self.track, self.friction),
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
        middle = x - min(max(x, -1.0), 1.0)
        canvas.begin(center=(middle, 0.0), height=2.0)
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
