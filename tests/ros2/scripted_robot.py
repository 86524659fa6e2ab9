"""A robot that publishes what it is told to, and writes down its commands.

It is told by lines of JSON on its input: the fields of the next `JointSample`s, or null for silence. A stamp of null is
now. Arguments: transport, file of commands, and as JSON the quality of service of its topics, whether it commands too,
and further arguments of ROS 2.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from policyforest.ros.transport import JointSample, Qos, open_transport

PERIOD = 0.02
STATES, COMMAND = "/pendulum/joint_states", "/pendulum/pivot_controller/command"
transport, path, more = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
qos = {topic: Qos(**given) for topic, given in more.get("qos", {}).items()}
name = more.get("name", "robot")
options: dict[str, Any] = {} if transport == "ros1" else {"qos": qos}
network = open_transport(transport, name, **options)  # type: ignore[arg-type]
current: list[Any] = [None]
ended = threading.Event()


def listen() -> None:
    for line in sys.stdin:
        current[0] = json.loads(line)
    ended.set()


threading.Thread(target=listen, daemon=True).start()
states = None if more.get("commander") else network.publisher(STATES, "joints", keep=100)
commander = network.publisher(COMMAND, "number") if more.get("commander") else None
with open(path, "w", buffering=1) as file:
    network.subscribe(COMMAND, "number", lambda torque: file.write(f"0 {torque!r} 0\n"))
    while not ended.wait(PERIOD):
        told = current[0]
        if commander is not None:
            commander.send(0.5)
        elif told is not None and states is not None:
            fields = told | {"stamp": (network.now() if told.get("stamp") is None else told["stamp"])}
            states.send(JointSample(**fields, arrived=time.monotonic()))
network.close()
