"""Connections: quality of service, who is at the other end, and how ROS 2's environment is read."""

from __future__ import annotations

import sys

import pytest

from loopback import Loopback
from policyforest.ros.config import parse_config
from policyforest.ros.dds_discovery import discovery_settings, domain_number
from policyforest.ros.network_watch import network_problems
from policyforest.ros.rclpy_modules import missing_rclpy
from policyforest.ros.transport import Qos, TopicEnd, TopicEnds


def test_defaults_read_whatever_is_offered_and_publish_reliably():
    assert Qos().for_reading() == Qos("best_effort", "volatile", 100)
    assert Qos().for_publishing(keep=100, latch=False) == Qos("reliable", "volatile", 100)
    assert Qos().for_publishing(keep=100, latch=True) == Qos("reliable", "transient_local", 100)
    # A robot that comes late gets the newest command, and not the last hundred.
    assert Qos(durability="transient_local").for_publishing(keep=100, latch=False).depth == 1


class Ends(Loopback):
    """A network whose ends the test makes up."""

    def __init__(self, **topics: TopicEnds) -> None:
        super().__init__()
        self.topics = topics

    def ends(self, topic: str) -> TopicEnds:
        return self.topics["command" if "command" in topic else "states"]


def test_problems_of_the_network_name_the_topic_and_both_ends(content):
    config = parse_config(content)
    own = TopicEnd("/node", "std_msgs/msg/Float64", "reliable", "volatile", own=True)
    asks = TopicEnd("/arm", "std_msgs/msg/Float64", "reliable", "transient_local")
    reader = TopicEnd("/node", "sensor_msgs/msg/JointState", "reliable", "volatile", own=True)
    sensor = TopicEnd("/sensor", "sensor_msgs/msg/JointState", "best_effort", "volatile")
    joystick = TopicEnd("/joystick", "std_msgs/msg/Float64", "reliable", "volatile")
    network = Ends(command=TopicEnds((own, joystick), (asks,)), states=TopicEnds((sensor,), (reader,)))
    command, states = config.action[0].topic, config.joint_states
    assert list(network_problems(config, network)) == [
        f"{command}: is commanded by /joystick and /node, the robot obeys the latest command",
        f"{command}: /node offers durability volatile, /arm asks for transient_local: it gets no commands; "
        "set durability in [[qos]]",
        f"{states}: /sensor offers reliability best_effort, /node asks for reliable: no state arrives from it; "
        "set reliability in [[qos]]",
    ]
    other = TopicEnd("/arm", "std_msgs/msg/Float32", "reliable", "volatile")
    network.topics["command"] = TopicEnds((own,), (other,))
    assert f"{command}: is std_msgs/msg/Float32 at /arm, std_msgs/msg/Float64 here" in next(
        iter(network_problems(config, network))
    )
    network.topics["command"] = TopicEnds((own,), network_name="/left/command")
    assert f"{command} (remapped to /left/command): no subscriber takes the commands" in network_problems(
        config, network
    )


@pytest.mark.parametrize(
    ("env", "parts"),
    [
        ({}, ["<ParticipantIndex>auto</ParticipantIndex>"]),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, ['address="localhost"', 'name="lo"', "Multicast>false"]),
        ({"ROS_LOCALHOST_ONLY": "1", "ROS_STATIC_PEERS": "far"}, ['name="lo"', 'address="localhost"']),
        ({"ROS_STATIC_PEERS": "10.0.0.2;robot.local"}, ['address="10.0.0.2"', 'address="robot.local"']),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, ["<Tag>ros_discovery_off_", "Multicast>false"]),
        ({"CYCLONEDDS_URI": "file:///a.xml"}, ["</CycloneDDS>,file:///a.xml"]),
    ],
)
def test_the_environment_of_ros_2_says_who_is_found(env, parts):
    settings = discovery_settings(env)
    assert all(part in settings for part in parts)
    assert "far" not in settings


def test_a_variable_that_is_empty_is_not_set():
    names = ("ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "CYCLONEDDS_URI")
    assert discovery_settings(dict.fromkeys(names, "")) == discovery_settings({})
    assert domain_number({"ROS_DOMAIN_ID": ""}) == 0


def test_system_default_leaves_everything_to_the_middleware():
    env = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", "ROS_STATIC_PEERS": "10.0.0.2"}
    assert discovery_settings(env) == ""
    assert discovery_settings(env | {"CYCLONEDDS_URI": "<CycloneDDS/>"}) == "<CycloneDDS/>"


@pytest.mark.parametrize(
    "env",
    [
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "WORLD"},
        {"ROS_LOCALHOST_ONLY": "yes"},
        {"ROS_STATIC_PEERS": 'a"/><b'},
    ],
)
def test_an_environment_that_cannot_be_meant_is_named(env):
    (name,) = env
    with pytest.raises(ValueError, match=f"{name}: "):
        discovery_settings(env)
    assert domain_number({"ROS_DOMAIN_ID": "42"}) == 42


def test_ends_carry_the_type_hash_that_ros_2_looks_for():
    pytest.importorskip("cyclonedds")
    from policyforest.ros.dds_messages import user_data

    # As the files of std_msgs in ROS 2 Jazzy have it.
    expected = b"typehash=RIHS01_705ba9c3d1a09df43737eb67095534de36fd426c0587779bda2bc51fe790182a;"
    assert user_data("std_msgs/msg/Float64") == expected


def test_an_rclpy_of_another_python_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "python3.99" / "site-packages" / "rclpy"
    folder.mkdir(parents=True)
    (folder / "_rclpy_pybind11.cpython-399-x86_64-linux-gnu.so").touch()
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"is built for Python 3.99, this is Python {own}" in missing_rclpy(ImportError("x"))
    (folder / "_rclpy_pybind11.cpython-310-x86_64-linux-gnu.so").touch()
    assert "policyforest needs Python 3.11: use ROS 2 Jazzy or later" in missing_rclpy(ImportError("x"))
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    monkeypatch.setattr("policyforest.ros.rclpy_modules.INSTALLATIONS", tmp_path)
    assert "rclpy is not found; install ROS 2" in missing_rclpy(ImportError("x"))
    (tmp_path / "jazzy").mkdir()
    (tmp_path / "jazzy" / "setup.bash").touch()
    assert f"run `source {tmp_path}/jazzy/setup.bash` first" in missing_rclpy(ImportError("x"))
