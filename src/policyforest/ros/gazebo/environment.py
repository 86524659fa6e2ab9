"""``policyforest/SwingUpGazebo-v0``: the swing-up in a running Gazebo."""

from __future__ import annotations

from typing import Any

from policyforest._support.arguments import Floats, real_number
from policyforest.environments.problems.swing_up import SwingUp
from policyforest.ros.gazebo.rod import GazeboRod


class SwingUpGazebo(SwingUp):
    """The same task as ``policyforest/SwingUp-v0``, in the Gazebo that ``policyforest gazebo start`` has started; it is
    found by ROS_MASTER_URI.

    The simulator runs in lock-step, so an episode depends only on its torques. If the simulator does not answer within
    `timeout` seconds, or has died, a `SimulatorLostError` is raised. One simulator has one rod: two environments must
    not play at the same time."""

    def __init__(self, timeout: float = 10.0, render_mode: str | None = None) -> None:
        from policyforest.ros.transport import open_transport

        timeout = real_number("timeout", timeout, at_least=0.01)
        self.backend = "gazebo"
        self._gazebo = GazeboRod(open_transport("ros1", "swing_up"), timeout)
        self._set_up(self._gazebo, render_mode)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        state, info = super().reset(seed=seed, options=options)
        self._gazebo.place(state)
        return state, info
