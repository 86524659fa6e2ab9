"""The rod of the swing-up in Gazebo, in lock-step over ROS: it stands still until a torque is sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.environments.problems.swing_up_engine import EngineRod, wrapped_angle
from policyforest.ros.simulator import Topics
from policyforest.ros.transport import JointSample, Transport

JOINT_STATES, COMMAND, PLACE = Topics.joint_states, Topics.command, Topics.place
# The error of the ODE engine in an angle that it was given; DART keeps the angle unchanged.
PLACED = 1e-6


class SimulatorLostError(ConnectionError):
    """The simulator has died, hangs, or was never there."""


class GazeboRod(EngineRod):
    """A control step sends a torque and waits for the resulting state.

    The world continues from its present state; if that is not the requested state, the rod is placed first. An answer
    is recognised by its torque and a later time, so that a late message is not mistaken for it."""

    def __init__(self, transport: Transport, timeout: float = 10.0) -> None:
        self._transport, self._timeout = transport, timeout
        self._news = threading.Condition()
        self._newest: JointSample | None = None
        self._commands = transport.publisher(COMMAND, "number")
        self._places = transport.publisher(PLACE, "numbers")
        transport.subscribe(JOINT_STATES, "joints", self._on_sample)
        self._connect()

    def advance(self, state: Floats, torque: float) -> tuple[float, float]:
        if self._newest is None or not np.array_equal(_state(self._newest), state):
            self.place(state)
        return self.carry_on(torque)

    def carry_on(self, torque: float) -> tuple[float, float]:
        """Angle and speed, 100 ms after the present state of the world."""
        before = self._newest
        if before is None:
            raise SimulatorLostError("Gazebo: has published no state to continue from")
        self._commands.send(torque)
        after = self._answer(lambda s: s.stamp > before.stamp and s.effort[0] == torque, f"the torque {torque}")
        return float(after.position[0]), float(after.velocity[0])

    def place(self, state: Floats) -> None:
        """Puts the rod into a state."""
        with self._news:
            self._newest = None
        self._places.send(state.tolist())
        self._answer(lambda s: bool(np.allclose(_apart(_state(s), state), 0.0, atol=PLACED)), f"the place {state}")

    def close(self) -> None:
        self._transport.close()

    def _connect(self) -> None:
        end = time.monotonic() + self._timeout
        while self._commands.listeners() == 0 or self._places.listeners() == 0:
            if time.monotonic() > end:
                self.close()
                raise SimulatorLostError(
                    f"Gazebo: no node listens to {COMMAND} after {self._timeout:g} s; run `policyforest gazebo start`"
                )
            time.sleep(0.01)

    def _answer(self, fits: Callable[[JointSample], bool], asked: str) -> JointSample:
        end = time.monotonic() + self._timeout
        with self._news:
            while self._newest is None or not fits(self._newest):
                self._news.wait(0.1)
                if self._commands.listeners() == 0:
                    raise SimulatorLostError(f"Gazebo: has ended, no node answers {asked} (see gzserver.log)")
                if time.monotonic() > end:
                    raise SimulatorLostError(f"Gazebo: has not answered {asked} within {self._timeout:g} s")
            return self._newest

    def _on_sample(self, sample: JointSample) -> None:
        if len(sample.position) and len(sample.velocity) and len(sample.effort):
            with self._news:
                self._newest = sample
                self._news.notify_all()


def _state(sample: JointSample) -> Floats:
    return np.array([wrapped_angle(float(sample.position[0])), float(sample.velocity[0])])


def _apart(a: Floats, b: Floats) -> Floats:
    """The difference of two states, the short way round."""
    return np.array([wrapped_angle(float(a[0] - b[0])), a[1] - b[1]])
