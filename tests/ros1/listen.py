"""Somebody who listens to the commands, and writes them down as the simulated pendulum does."""

from __future__ import annotations

import signal
import sys
import threading

from policyforest.ros.transport import open_transport

stop = threading.Event()
signal.signal(signal.SIGINT, lambda number, frame: stop.set())
network = open_transport("ros1", "listener")
with open(sys.argv[1], "w", buffering=1) as file:
    network.subscribe("/pendulum/pivot_controller/command", "number", lambda torque: file.write(f"0 {torque!r} 0\n"))
    stop.wait()
network.close()
