"""Records ten seconds of random torque in Gazebo, for the tests of the engines:

    policyforest gazebo setup
    python tests/ros1/record_gazebo_trajectory.py tests/golden/gazebo_swing_up.json

100 control steps of 100 ms from hanging at rest, torques uniform in [-15, 15] Nm from NumPy's default generator with
seed 2, once with each of Gazebo's engines, over ROS and through the plugin of this package. Angles are as the plugin
publishes them; `states` are those after each step.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from policyforest.ros.gazebo.server import ENGINES, Server
from policyforest.ros.gazebo.setup import Installation, default_folder
from ros_network import free_port

SEED, STEPS = 2, 100


def recorded(engine: str) -> list[list[float]]:
    """In a process of its own: one process can be a node of one ROS network only."""
    server = Server(Installation(default_folder()), f"record-{engine}")
    uri = server.start(engine, free_port(), free_port())
    try:
        env = os.environ | {"ROS_MASTER_URI": uri, "ROS_IP": "127.0.0.1"}
        done = subprocess.run(
            [sys.executable, __file__, "--drive"], env=env, capture_output=True, text=True, check=True
        )
    finally:
        server.stop()
    return json.loads(done.stdout)


def drive() -> list[list[float]]:
    from policyforest.ros.gazebo.rod import GazeboRod
    from policyforest.ros.transport import open_transport

    rod = GazeboRod(open_transport("ros1", "recorder"))
    start = np.array([-math.pi, 0.0])
    rod.place(start)
    return [list(rod.carry_on(torque)) for torque in torques()]


def torques() -> list[float]:
    return np.random.default_rng(SEED).uniform(-15.0, 15.0, STEPS).tolist()


def versions() -> dict[str, str]:
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", "libgazebo11", "libdart6"]
    chroot = Installation(default_folder()).chroot
    done = subprocess.run(chroot.command(command), capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


if __name__ == "__main__":
    if sys.argv[1] == "--drive":
        print(json.dumps(drive()))
        sys.exit()
    content = {
        "how": "tests/ros1/record_gazebo_trajectory.py",
        "versions": versions(),
        "start": [-math.pi, 0.0],
        "torques": torques(),
        "states": {engine: recorded(engine) for engine in ENGINES},
    }
    Path(sys.argv[1]).write_text(json.dumps(content, indent=1) + "\n")
