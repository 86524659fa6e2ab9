"""States from Odometry, Imu and arrays, and commands of every type, over every transport."""

from __future__ import annotations

import json
import math

import pytest

from ros_network import Network, require_transport, wait_until

STATES = [
    ("x", "/odom", "nav_msgs/Odometry", "pose.pose.position.x"),
    ("yaw", "/imu", "sensor_msgs/Imu", "orientation.yaw"),
    ("a", "/array", "std_msgs/Float64MultiArray", "data[1]"),
]
"""Their values: 0.25, pi and 2.5"""
ACTIONS = [
    'topic = "/forward"\ntype = "std_msgs/Float64MultiArray"',
    'topic = "/forward"\ntype = "std_msgs/Float64MultiArray"',
    'topic = "/cmd"\ntype = "geometry_msgs/Twist"\nfield = "linear.x"',
    'topic = "/cmd"\ntype = "geometry_msgs/Twist"\nfield = "angular.z"',
    'topic = "/stamped"\ntype = "geometry_msgs/TwistStamped"\nfield = "twist.linear.x"',
    'topic = "/trajectory"\ntype = "trajectory_msgs/JointTrajectory"\njoint = "hip"\nduration = 0.25',
    'topic = "/trajectory"\ntype = "trajectory_msgs/JointTrajectory"\njoint = "knee"\nduration = 0.25',
]
SAFE = 0.125


def configuration(transport: str) -> str:
    parts = [f'[robot]\nname = "controller"\ntransport = "{transport}"\nrate = "state"\nmax_age = 2.0\n']
    for name, topic, kind, field in STATES:
        parts.append(f'[[state]]\nname = "{name}"\ntopic = "{topic}"\ntype = "{kind}"\nfield = "{field}"\n')
    for i, keys in enumerate(ACTIONS):
        parts.append(f'[[action]]\nname = "u{i}"\n{keys}\nsafe = {SAFE}\nlow = -15.0\nhigh = 15.0\n')
    return "\n".join(parts)


@pytest.fixture(params=["ros1", "dds", "ros2"])
def network(request, tmp_path):
    require_transport(request.param)
    made = Network(tmp_path)
    try:
        if request.param == "ros1":
            made.start_master()
        (tmp_path / "robot.toml").write_text(configuration(request.param))
        made.robot = made.python("scripted_messages.py", request.param, "commands.txt")
        made.node = made.python("table_node.py", str(tmp_path / "robot.toml"))
        yield made
    finally:
        made.close()


def heard(network: Network) -> list[tuple[str, object]]:
    rows = (
        (network.folder / "commands.txt").read_text().splitlines()
        if (network.folder / "commands.txt").is_file()
        else []
    )
    return [next(iter(json.loads(row).items())) for row in rows if row.endswith("}")]


def wait_for(network: Network, *entry: object) -> None:
    begin = len(heard(network))
    wait_until(lambda: entry in heard(network)[begin:], f"{entry}, heard {heard(network)[-4:]}")


def test_states_come_from_three_types_and_actions_go_out_in_four(network):
    wait_for(network, "array", [0.25, math.pi])
    wait_for(network, "twist", [2.5, 0.25])
    wait_for(network, "stamped", [math.pi, True])
    wait_for(network, "trajectory", [["hip", "knee"], [2.5, 0.25], [], 0.25])
    for array, reason in (
        ([1.5, math.nan], "data[1] is nan"),
        ([1.5], "data[1] is missing, the array has 1 entries"),
        ([1.5, 2.5, 3.5], "data of /array has 3 entries, it had 2 before"),
    ):
        network.robot.stdin.write(json.dumps(array) + "\n")
        network.robot.stdin.flush()
        wait_for(network, "array", [SAFE, SAFE])
        assert f"safe action, bad: {reason}" in network.log("table_node.py")
        network.robot.stdin.write("[1.5, 2.5]\n")
        network.robot.stdin.flush()
        wait_for(network, "array", [0.25, math.pi])
