"""The benchmark problems as Gymnasium environments, registered when this package is imported.

Their equations run in the core, so that whole episodes can be played without returning to Python
(`policyforest.collect` and `policyforest.evaluate` do so).

| id | what it is |
|---|---|
| ``policyforest/InvertedPendulum-v0`` | balance a pole on a cart of 8 kg, as the paper prints it |
| ``policyforest/InvertedPendulum6kg-v0`` | 6 kg and at most 2 rad/s, as in the paper's figures |
| ``policyforest/DoubleIntegrator-v0`` | park a car at the origin |
| ``policyforest/CarOnTheHill-v0`` | gather momentum to leave a valley |
| ``policyforest/SwingUp-v0`` | swing up a rod whose motor is too weak to lift it |
| ``policyforest/SwingUpGazebo-v0`` | the same in a running Gazebo |
| ``policyforest/Acrobot-v0`` | swing up two links by a motor between them: Gymnasium's, with a continuous torque |
| ``policyforest/CartPoleSwingUp-v0`` | swing up a pole by pushing its cart, as PILCO and MC-PILCO do |
"""

from __future__ import annotations

import gymnasium as gym

from policyforest.environments.problems.acrobot import Acrobot
from policyforest.environments.problems.car_on_the_hill import CarOnTheHill
from policyforest.environments.problems.cart_pole import CartPoleSwingUp
from policyforest.environments.problems.cart_pole_task import cart_pole_balanced, cart_pole_reward
from policyforest.environments.problems.double_integrator import DoubleIntegrator
from policyforest.environments.problems.inverted_pendulum import InvertedPendulum
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.swing_up import SwingUp

__all__ = [
    "Acrobot",
    "CarOnTheHill",
    "CartPoleSwingUp",
    "DoubleIntegrator",
    "InvertedPendulum",
    "NativeProblem",
    "SwingUp",
    "cart_pole_balanced",
    "cart_pole_reward",
]


def _register(name: str, problem: type[NativeProblem], max_episode_steps: int, **kwargs: float) -> None:
    id = f"policyforest/{name}-v0"
    if id not in gym.registry:
        entry_point = f"{problem.__module__}:{problem.__name__}"
        gym.register(id, entry_point, max_episode_steps=max_episode_steps, kwargs=kwargs)


_register("InvertedPendulum", InvertedPendulum, 3000)
_register("InvertedPendulum6kg", InvertedPendulum, 3000, cart_mass=6.0, max_speed=2.0)
_register("DoubleIntegrator", DoubleIntegrator, 200)
_register("CarOnTheHill", CarOnTheHill, 100)
_register("SwingUp", SwingUp, 100)
_register("CartPoleSwingUp", CartPoleSwingUp, 60)
_register("Acrobot", Acrobot, 500)
if "policyforest/SwingUpGazebo-v0" not in gym.registry:
    # Registered by name: the module is imported only when the problem is created, because its package imports from this
    # one.
    gym.register(
        "policyforest/SwingUpGazebo-v0", "policyforest.ros.gazebo.environment:SwingUpGazebo", max_episode_steps=100
    )
