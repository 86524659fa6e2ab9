"""Messages of states and actions: what a configuration may ask for, what is sent and what is recorded."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from loopback import Loopback, LoopbackPublisher
from policyforest.ros.commands import Commands, command_topics
from policyforest.ros.config import parse_config
from policyforest.ros.control import Controller
from policyforest.ros.message_fields import fill, known_types
from policyforest.ros.recording import Recording
from policyforest.ros.recording_reader import read_recording
from policyforest.ros.transport import JointSample, MessageSample

TWIST = {"type": "geometry_msgs/Twist", "topic": "/cmd_vel"}
POINT = {"type": "trajectory_msgs/JointTrajectory", "topic": "/arm"}
LIMITS = {"safe": 0.0, "low": -1.0, "high": 1.0}
ODOMETRY = {"topic": "/odom", "type": "nav_msgs/Odometry", "field": "pose.pose.position.x"}


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
