"""The swing-up as a robot: a separate process that publishes its joint and takes torques over the same topics.

The simulator is used in the tests, in the tutorial, and to try a configuration before using it on the real robot. In
real time, it publishes at a fixed rate and holds the last torque. In lock-step, it waits until a torque arrives,
simulates one step, and publishes.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

import numpy as np

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.ros.transport import JointSample, Transport

CONTROL_STEP = 0.1


@dataclass(frozen=True)
class Topics:
    """The topics of the simulated robot; the defaults are those of the Gazebo plugin and of the original work."""

    joint_states: str = "/pendulum/joint_states"
    command: str = "/pendulum/pivot_controller/command"
    place: str = "/pendulum/place"
    reset: str = "/pendulum/reset"


class SimulatedPendulum:
    """The rod of ``policyforest/SwingUp-v0`` behind a transport; its joint is called ``pivot``, and an angle of 0 is
    upright."""

    def __init__(self, transport: Transport, topics: Topics | None = None, *, services: bool = True) -> None:
        topics = topics or Topics()
        self._system = _core.SwingUp()
        self._lock = threading.Lock()
        self._state: Floats = np.array([-math.pi, 0.0])
        self._torque = 0.0
        self._time = 0.0
        self._lock_step = False
        self._states = transport.publisher(topics.joint_states, "joints", keep=100, latch=True)
        transport.subscribe(topics.command, "number", self._on_torque)
        transport.subscribe(topics.place, "numbers", self._on_place)
        if services:
            transport.serve(topics.reset, lambda: self._on_place([-math.pi, 0.0]))

    @property
    def time(self) -> float:
        """Simulated seconds since the start."""
        return self._time

    def run(self, rate: float, stop: threading.Event) -> int:
        """Publishes `rate` times per second, and returns the number of published states.

        Each state is one control step later than the last one, 0.1 s of the robot's time. The robot's time therefore
        runs at the speed of real time at 10 Hz; at other rates, a control step takes one period."""
        due, n = time.monotonic(), 0
        while not stop.wait(max(0.0, due - time.monotonic())):
            with self._lock:
                self._advance()
                self._publish()
            due, n = due + 1.0 / rate, n + 1
        return n

    def run_in_lock_step(self, stop: threading.Event) -> None:
        """Publishes the start, and then one state for each torque."""
        with self._lock:
            self._lock_step = True
            self._publish()
        stop.wait()

    def _on_torque(self, torque: float) -> None:
        with self._lock:
            if not math.isfinite(torque):
                return
            self._torque = min(max(torque, -15.0), 15.0)
            if self._lock_step:
                self._advance()
                self._publish()

    def _on_place(self, state: list[float]) -> None:
        if len(state) != 2 or not all(map(math.isfinite, state)):
            raise ValueError(f"place: is {state}, must be [angle, speed]")
        with self._lock:
            self._state, self._torque = np.array(state, dtype=np.float64), 0.0
            self._publish()

    def _advance(self) -> None:
        action, noise = np.array([[self._torque]]), np.zeros((1, 0))
        self._state = self._system.step_many(self._state[None], action, noise)[0][0]
        self._time += CONTROL_STEP

    def _publish(self) -> None:
        angle, speed = self._state.tolist()
        self._states.send(JointSample(["pivot"], [angle], [speed], [self._torque], stamp=self._time))
