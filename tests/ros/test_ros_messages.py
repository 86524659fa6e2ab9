"""Messages by path, what of them a configuration may ask for, and how ROS 2's environment is read."""

from __future__ import annotations

import copy
import math
import re
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

from loopback import EXAMPLE, Loopback, LoopbackPublisher
from policyforest.ros.commands import Commands, command_topics
from policyforest.ros.config import parse_config
from policyforest.ros.control import Controller
from policyforest.ros.dds_discovery import discovery_settings, domain_number
from policyforest.ros.message_fields import FieldError, FieldPath, fill, known_types
from policyforest.ros.network_watch import network_problems
from policyforest.ros.rclpy_modules import missing_rclpy
from policyforest.ros.recording import Recording
from policyforest.ros.recording_reader import read_recording
from policyforest.ros.robot_episode import Robot
from policyforest.ros.state_reader import require_fields
from policyforest.ros.transport import JointSample, MessageSample, Qos, TopicEnd, TopicEnds, seconds_and_nanoseconds

TWIST = {"type": "geometry_msgs/Twist", "topic": "/cmd_vel"}
POINT = {"type": "trajectory_msgs/JointTrajectory", "topic": "/arm"}
LIMITS = {"safe": 0.0, "low": -1.0, "high": 1.0}
ODOMETRY = {"topic": "/odom", "type": "nav_msgs/Odometry", "field": "pose.pose.position.x"}


@pytest.fixture
def content():
    return copy.deepcopy(tomllib.loads(EXAMPLE.read_text()))


def action(name, **keys):
    return LIMITS | {"name": name} | keys


def with_actions(content, *actions):
    content["action"] = list(actions)
    content["episode"] |= {"reward": "theta"}
    return content


def broken(content):
    with pytest.raises(ValueError) as error:
        parse_config(content, "robot.toml")
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"field": "pose.x"}),
            "state[2].field: is 'pose.x', 'x'",
        ),
        (lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"field": "pose.pose"}), "'pose.pose' is not a number"),
        (lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"field": "header.frame_id"}), "is not a number"),
        (lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"field": "pose.covariance"}), "needs an index"),
        (lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"field": "pose.covariance[36]"}), "has 36 entries"),
        (lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"field": "a b"}), "state[2].field: is 'a b', must be"),
        (lambda c: c["state"].append({"name": "x"} | ODOMETRY | {"type": "odometry"}), "state[2].type: is 'odometry'"),
        (lambda c: c["state"].append({"name": "x", "field": "a"}), "state[2].joint: is missing"),
        (lambda c: c["state"].append({"name": "x", "topic": "/odom", "field": "a"}), "state[2].type: is missing"),
        (lambda c: c["state"].append(ODOMETRY | {"name": "x", "joint": "j", "field": "position"}), "state[2].type: is"),
        (lambda c: c["state"].append(ODOMETRY | {"name": "x", "topic": "/pendulum/joint_states"}), "another than that"),
        (lambda c: c["robot"].pop("joint_states"), "robot.joint_states: is missing"),
        (lambda c: with_actions(c, action("u", **TWIST)), "action[0].field: is missing, must be the path"),
        (
            lambda c: with_actions(c, action("u", **TWIST, field="linear.w")),
            "'w' is not a field of geometry_msgs/msg/Vec",
        ),
        (
            lambda c: with_actions(c, action("u", topic="/u", type="std_msgs/Int32", field="data")),
            "'data' is int32, not a",
        ),
        (lambda c: with_actions(c, *[action(n, **TWIST, field="linear.x") for n in "uv"]), "writes the same field as"),
        (lambda c: with_actions(c, action("u", **POINT)), "action[0].joint: is missing"),
        (lambda c: with_actions(c, action("u", **POINT, joint="j", field="speed")), "action[0].field: is 'speed'"),
        (
            lambda c: with_actions(
                c, action("u", **POINT, joint="j"), action("v", **POINT, joint="k", field="velocities")
            ),
            "must have the same joints in each field",
        ),
        (lambda c: with_actions(c, action("u", topic="/u", field="data")), "action[0].field: is 'data', must be left"),
        (lambda c: with_actions(c, action("u", topic="/u", joint="j")), "action[0].joint: is 'j', must be left out"),
        (
            lambda c: with_actions(c, action("u", topic="/cmd_vel"), action("v", **TWIST, field="linear.x")),
            "action[1].topic: is '/cmd_vel', must be another",
        ),
        (lambda c: c.update(qos=[{"topic": "/pendulum/joint_states"}]), "qos: must be left out with ros1"),
        (lambda c: c["robot"].update(lifecycle=True), "robot.lifecycle: is True, must be left out"),
        (lambda c: c["robot"].update(transport="dds"), "episode.reset_service: is '/pendulum/reset', must be left out"),
        (
            lambda c: (c["robot"].update(transport="dds"), c["action"][0].update(type="my_msgs/Torque", field="x")),
            "action[0].type: is 'my_msgs/Torque', must be a standard message of ROS 2 with dds",
        ),
    ],
)
def test_a_message_that_cannot_be_is_named_when_the_configuration_is_read(content, change, named):
    change(content)
    assert named in broken(content)


@pytest.mark.parametrize(
    ("qos", "named"),
    [
        ({"reliability": "sure"}, "qos[0].reliability: is 'sure', must be one of 'reliable', 'best_effort'"),
        (
            {"durability": "transient"},
            "qos[0].durability: is 'transient', must be one of 'volatile', 'transient_local'",
        ),
        ({"depth": 0}, "qos[0].depth: is 0, must be a whole number of at least 1"),
        ({"speed": 1}, "qos[0].speed: is not known, must be one of depth, durability, reliability, topic"),
        ({"topic": "/elsewhere"}, "qos[0].topic: is '/elsewhere', must be one of /pendulum/joint_states"),
    ],
)
def test_a_quality_of_service_that_does_not_exist_is_named(content, qos, named):
    content["robot"]["transport"] = "ros2"
    content["qos"] = [{"topic": "/pendulum/joint_states"} | qos]
    assert named in broken(content)


def test_two_entries_for_one_topic_are_refused(content):
    content["robot"]["transport"] = "ros2"
    content["qos"] = [{"topic": "/pendulum/joint_states"}, {"topic": "pendulum/joint_states"}]
    assert "qos[1].topic: is 'pendulum/joint_states', must be another than that of qos[0].topic" in broken(content)


def test_defaults_read_whatever_is_offered_and_publish_reliably():
    assert Qos().for_reading() == Qos("best_effort", "volatile", 100)
    assert Qos().for_publishing(keep=100, latch=False) == Qos("reliable", "volatile", 100)
    assert Qos().for_publishing(keep=100, latch=True) == Qos("reliable", "transient_local", 100)
    # A robot that comes late gets the newest command, and not the last hundred.
    assert Qos(durability="transient_local").for_publishing(keep=100, latch=False).depth == 1


def test_numbers_are_read_by_path():
    quaternion = SimpleNamespace(x=0.0, y=0.0, z=math.sin(0.4), w=math.cos(0.4))
    message = SimpleNamespace(pose=SimpleNamespace(x=2, orientation=quaternion), data=[1.0, 3.0], name="text")
    assert FieldPath("pose.x")(message) == 2.0
    assert FieldPath("data[1]")(message) == 3.0
    assert FieldPath("pose.orientation.yaw")(message) == pytest.approx(0.8)
    assert FieldPath("pose.orientation.roll")(message) == pytest.approx(0.0)
    for path in ("data[2]", "pose.y", "name", "pose"):
        with pytest.raises(FieldError, match=path.partition("[")[0]):
            FieldPath(path)(message)
    quaternion.w = 0.0
    with pytest.raises(FieldError, match="is not a unit quaternion"):
        FieldPath("pose.orientation.pitch")(message)


def test_the_angles_of_a_quaternion_are_those_of_its_rotations():
    for name, side in (("roll", "x"), ("pitch", "y"), ("yaw", "z")):
        quaternion = SimpleNamespace(x=0.0, y=0.0, z=0.0, w=math.cos(0.3))
        setattr(quaternion, side, math.sin(0.3))
        assert FieldPath(f"q.{name}")(SimpleNamespace(q=quaternion)) == pytest.approx(0.6)
    assert FieldPath("orientation.yaw").problem("sensor_msgs/msg/Imu", known_types().fielddefs) is None


def test_times_are_rounded_to_the_nearest_nanosecond():
    assert seconds_and_nanoseconds(11.8) == (11, 800_000_000)
    assert seconds_and_nanoseconds(0.9999999999) == (1, 0)
    assert JointSample([], stamp=11.8).header_stamp == (11, 800_000_000)


def messages(config, action):
    return {topic.topic: topic.value(action, 12.5) for topic in command_topics(config)}


def test_actions_of_one_topic_make_one_message(content):
    array = {"type": "std_msgs/Float64MultiArray", "topic": "/forward"}
    stamped = {"type": "geometry_msgs/TwistStamped", "topic": "/stamped"}
    config = parse_config(
        with_actions(
            content,
            action("a", **array),
            action("b", **TWIST, field="linear.x"),
            action("c", **array),
            action("d", **TWIST, field="angular.z"),
            action("e", **stamped, field="twist.linear.x"),
            action("f", **POINT, joint="hip"),
            action("g", **POINT, joint="hip", field="velocities"),
            action("h", topic="/one"),
        )
    )
    sent = messages(config, np.arange(8.0))
    assert sent["/forward"] == [0.0, 2.0]
    assert sent["/cmd_vel"].fields == {"linear": {"x": 1.0}, "angular": {"z": 3.0}}
    assert sent["/stamped"].fields == {"twist": {"linear": {"x": 4.0}}, "header": {"stamp": 12.5}}
    assert sent["/arm"].fields["joint_names"] == ["hip"]
    (point,) = sent["/arm"].fields["points"]
    assert point.fields == {"time_from_start": 0.1, "positions": [5.0], "velocities": [6.0]}
    assert sent["/one"] == 7.0


@pytest.mark.parametrize("suffix", [".bag", ".mcap"])
def test_every_type_is_recorded_and_read_back(tmp_path, content, suffix):
    content["state"].append({"name": "x"} | ODOMETRY)
    actions = (action("u", **TWIST, field="linear.x"), action("v", **POINT, joint="hip"))
    config = parse_config(with_actions(content, *actions))
    store = known_types()
    message = store.types["nav_msgs/msg/Odometry"]
    recording = Recording(tmp_path / f"run{suffix}", config, warn=lambda line: pytest.fail(line))
    controller = Controller(lambda s: s[:2], config, clock=lambda: 1.0, wall=lambda: 1.0, warn=lambda line: None)
    from policyforest.ros.recorded_messages import recorded_message

    odometry = recorded_message(store, "nav_msgs/msg/Odometry", None)
    assert isinstance(odometry, message)
    for x in (0.25, 0.5, 0.75):
        odometry.pose.pose.position.x = x
        controller.receive(JointSample(["pivot"], [x], [0.0], arrived=1.0))
        controller.receive(MessageSample(odometry, arrived=1.0), "/odom")
        recording.decision(controller.decide())
    recording.close()
    samples = read_recording(recording.path, lambda before, taken, after: (0.0, False))
    np.testing.assert_array_equal(samples.states[:, 2], [0.25, 0.5])
    np.testing.assert_array_equal(samples.actions[:, 0], [0.25, 0.5])
    from rosbags.highlevel import AnyReader

    with AnyReader([recording.path]) as reader:
        kinds = {connection.topic: connection.msgtype for connection in reader.connections}
        speeds = [
            reader.deserialize(raw, c.msgtype).linear.x for c, _, raw in reader.messages() if c.topic == "/cmd_vel"
        ]
    assert kinds["/odom"] == "nav_msgs/msg/Odometry"
    assert kinds["/arm"] == "trajectory_msgs/msg/JointTrajectory"
    assert speeds == [0.25, 0.5, 0.75]


def test_content_of_a_field_that_a_message_lacks_is_refused():
    message = SimpleNamespace(linear=SimpleNamespace(x=0.0))
    assert fill(message, {"linear": {"x": 1.0}}, SimpleNamespace).linear.x == 1.0
    with pytest.raises(ValueError, match="has no field 'w'"):
        fill(message, {"linear": {"w": 1.0}}, SimpleNamespace)
    with pytest.raises(ValueError, match="n of SimpleNamespace is not a floating-point number"):
        fill(SimpleNamespace(n=0), {"n": 1.0}, SimpleNamespace)


def test_a_type_of_somebody_s_own_is_checked_before_anything_is_published(content, monkeypatch):
    own = {"topic": "/grip", "type": "my_msgs/Grip", "field": "force"}
    config = parse_config(with_actions(content, action("u", **own)))
    network, sent = Loopback(), []
    network.subscribe("/grip", "my_msgs/msg/Grip", sent.append)
    check = lambda self, content: fill(SimpleNamespace(width=0.0), content.fields, SimpleNamespace)  # noqa: E731
    monkeypatch.setattr(LoopbackPublisher, "check", check)
    with pytest.raises(
        ValueError, match=r"action: my_msgs/msg/Grip on /grip cannot hold the action \(.* no field 'force'"
    ):
        Commands(config, network)
    assert sent == []


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("width", "SimpleNamespace has no 'width'"),
        ("grip.width", "SimpleNamespace has no 'width'"),
        ("grip", "'grip' is not a number"),
        ("label", "'label' is not a number"),
        ("forces", "'forces' is not a number"),
        ("grip.force[0]", "'force' is not an array"),
        ("corner[1]", "'corner[1]' is not a number"),
        ("grip.force", None),
        ("forces[3]", None),
        ("turn.yaw", None),
    ],
)
def test_a_state_of_somebody_s_own_type_is_checked_before_the_node_starts(content, field, problem):
    content["state"].append({"name": "x", "topic": "/grip", "type": "my_msgs/Grip", "field": field})
    turn = SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
    message = SimpleNamespace(grip=SimpleNamespace(force=0.0), label="", forces=[], corner=["", ""], turn=turn)
    config, network = parse_config(content), Loopback()
    network.empty = lambda kind: message
    if problem is None:
        require_fields(config, network)
        return
    named = f"state[2].field: is {field!r}, my_msgs/msg/Grip lacks it ({problem})"
    with pytest.raises(ValueError, match=re.escape(named)):
        Robot(config, config.episode, network)


def test_a_state_of_two_topics_is_as_old_as_the_older_message(content):
    content["state"].append({"name": "x"} | ODOMETRY)
    config = parse_config(content)
    now = [100.0]
    controller = Controller(lambda s: [0.0], config, clock=lambda: now[0], wall=lambda: now[0], warn=lambda line: None)
    controller.receive(JointSample(["pivot"], [0.0], [0.0], arrived=100.0))
    assert controller.decide().fault == "none: no state has arrived yet on /odom"
    pose = SimpleNamespace(pose=SimpleNamespace(pose=SimpleNamespace(position=SimpleNamespace(x=1.0))))
    controller.receive(MessageSample(pose, arrived=100.0), "/odom")
    assert controller.decide().fault == ""
    now[0] = 100.7
    controller.receive(JointSample(["pivot"], [0.0], [0.0], arrived=100.7))
    assert controller.decide().fault.startswith("old: the state is 0.700 s old")


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
        f"{command}: is commanded by /joystick and /node, the robot obeys whoever came last",
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
