"""A robot of many messages: publishes Odometry, Imu and an array, and writes down commands of every type as JSON."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from policyforest.ros.message_fields import time_of
from policyforest.ros.transport import Content, MessageTime, open_transport

transport, path = sys.argv[1], sys.argv[2]
network: Any = open_transport(transport, "robot")  # type: ignore[arg-type]
ended = threading.Event()
array = [[1.5, 2.5]]
half_turn = {"z": 1.0, "w": 0.0}


def listen() -> None:
    for line in sys.stdin:
        array[0] = json.loads(line)
    ended.set()


threading.Thread(target=listen, daemon=True).start()
odometry = network.publisher("/odom", "nav_msgs/Odometry", keep=10)
imu = network.publisher("/imu", "sensor_msgs/Imu", keep=10)
arrays = network.publisher("/array", "numbers", keep=10)
with open(path, "w", buffering=1) as file:

    def note(name: str, value: Any) -> None:
        file.write(json.dumps({name: value}) + "\n")

    def trajectory(sample: Any) -> None:
        (point,) = sample.message.points
        joints, positions = list(sample.message.joint_names), list(point.positions)
        note("trajectory", [joints, positions, list(point.velocities), time_of(point.time_from_start)])

    network.subscribe("/forward", "numbers", lambda values: note("array", values))
    network.subscribe("/cmd", "geometry_msgs/Twist", lambda s: note("twist", [s.message.linear.x, s.message.angular.z]))
    network.subscribe(
        "/stamped", "geometry_msgs/TwistStamped", lambda s: note("stamped", [s.message.twist.linear.x, s.stamp > 1e9])
    )
    network.subscribe("/trajectory", "trajectory_msgs/JointTrajectory", trajectory)
    while not ended.wait(0.02):
        arrays.send(array[0])
        imu.send(
            Content("sensor_msgs/msg/Imu", {"header": {"stamp": MessageTime(network.now())}, "orientation": half_turn})
        )
        pose = {"pose": {"position": {"x": 0.25}}}
        header = {"stamp": MessageTime(network.now())}
        odometry.send(Content("nav_msgs/msg/Odometry", {"header": header, "pose": pose}))
network.close()
