"""A simulated pendulum as a process: publishes states at a rate, and writes what it was told to a file.

The file gets a line for each command: seconds since the latest state was sent, the torque, the number of that state.
"""

from __future__ import annotations

import signal
import sys
import threading
import time

from policyforest.ros.simulator import SimulatedPendulum
from policyforest.ros.transport import open_transport

transport, rate, most, path = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
stop, heard = threading.Event(), threading.Event()
signal.signal(signal.SIGINT, lambda number, frame: stop.set())
network = open_transport(transport, "pendulum")
pendulum = SimulatedPendulum(network, services=transport != "dds")
sent = [0, 0.0]
publish = pendulum._publish


def counted() -> None:
    sent[:] = [sent[0] + 1, time.monotonic()]
    publish()
    if sent[0] >= most:
        stop.set()


pendulum._publish = counted
with open(path, "w", buffering=1) as file:

    def logged(torque: float) -> None:
        heard.set()
        file.write(f"{time.monotonic() - sent[1]:.9f} {torque!r} {sent[0]}\n")

    network.subscribe("/pendulum/pivot_controller/command", "number", logged)
    # What is sent before both ways are open is lost; without a state the node sends the safe action.
    while not (pendulum._states.listeners() and heard.wait(0.01)) and not stop.is_set():
        time.sleep(0.01)
    pendulum.run(rate, stop)
    time.sleep(0.5)
network.close()
