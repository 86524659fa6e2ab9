"""A robot in a simulation: publishes /clock and states stamped by it, at 50 Hz, and writes down its commands.

Lines on its input set the simulated time. Arguments: file of commands, the simulated time of the start."""

from __future__ import annotations

import sys
import threading
import time

from policyforest.ros.transport import Content, JointSample, MessageTime, open_transport

path, begin = sys.argv[1], [float(sys.argv[2]), time.monotonic()]
network = open_transport("ros2", "robot")
ended = threading.Event()


def listen() -> None:
    for line in sys.stdin:
        begin[:] = [float(line), time.monotonic()]
    ended.set()


threading.Thread(target=listen, daemon=True).start()
clock = network.publisher("/clock", "rosgraph_msgs/Clock", keep=10)
states = network.publisher("/pendulum/joint_states", "joints", keep=10)
with open(path, "w", buffering=1) as file:
    network.subscribe("/pendulum/pivot_controller/command", "number", lambda torque: file.write(f"0 {torque!r} 0\n"))
    while not ended.wait(0.02):
        now = begin[0] + time.monotonic() - begin[1]
        clock.send(Content("rosgraph_msgs/msg/Clock", {"clock": MessageTime(now)}))
        states.send(JointSample(["pivot"], [0.5], [0.0], stamp=now))
network.close()
