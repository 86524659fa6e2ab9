"""A pendulum in lock-step whose service fails as those of other people's nodes do, with an exception."""

from __future__ import annotations

import signal
import threading
from typing import Any

from policyforest.ros.rospy_transport import RospyTransport
from policyforest.ros.simulator import SimulatedPendulum

stop = threading.Event()
signal.signal(signal.SIGINT, lambda number, frame: stop.set())
network = RospyTransport("pendulum")
pendulum = SimulatedPendulum(network)


def jammed(request: Any) -> None:
    raise RuntimeError("the motor is jammed")


network._ros.rospy.Service("/pendulum/jammed", network._ros.trigger, jammed)
pendulum.run_in_lock_step(stop)
network.close()
