"""The cart-pole in MuJoCo: the physics of the MJCF file."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from policyforest._support.angles import turned_half_open
from policyforest._support.arguments import Floats
from policyforest.environments.problems.cart_pole_task import cart_pole_reward
from policyforest.environments.problems.mujoco_model import MujocoModel
from policyforest.environments.problems.problem_pictures import followed
from policyforest.environments.problems.systems import EngineSystem

CONTROL_STEPS = 20  # of 2.5 ms
ROOM = 0.8
"""How far the cart goes from the middle before the picture follows it"""


class MujocoCartPole(EngineSystem):
    """MuJoCo with ``cart_pole.xml``; an episode ends past `limits`, one for each of the four numbers."""

    n_state = 4

    def __init__(self, limits: Floats, friction: float) -> None:
        self._limits = limits
        self._model = MujocoModel("cart_pole.xml")
        self._model.set_damping(0, friction)

    def step(self, state: Floats, action: Floats) -> tuple[Floats, float, bool]:
        places, speeds = self._model.moved(state[[0, 2]], state[[1, 3]], float(action[0]), CONTROL_STEPS)
        theta = turned_half_open(float(places[1]), -math.pi, math.pi)
        after = np.array([places[0], speeds[0], theta, speeds[1]])
        reward = float(cart_pole_reward(state[None], action[None], after[None])[0])
        return after, reward, bool((np.abs(after) > self._limits).any())

    def picture(self, state: Floats) -> npt.NDArray[np.uint8]:
        return self._model.picture(state[[0, 2]], followed(float(state[0]), ROOM))

    def close(self) -> None:
        self._model.close()
