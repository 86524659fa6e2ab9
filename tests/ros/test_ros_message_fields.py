"""Fields of messages: read and written by path, and types of somebody's own."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import pytest

from loopback import Loopback
from policyforest.ros.config import parse_config
from policyforest.ros.message_fields import FieldError, FieldPath, fill, known_types
from policyforest.ros.robot_episode import Robot
from policyforest.ros.state_reader import require_fields
from policyforest.ros.transport import JointSample, seconds_and_nanoseconds


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


def test_content_of_a_field_that_a_message_lacks_is_refused():
    message = SimpleNamespace(linear=SimpleNamespace(x=0.0))
    assert fill(message, {"linear": {"x": 1.0}}, SimpleNamespace).linear.x == 1.0
    with pytest.raises(ValueError, match="has no field 'w'"):
        fill(message, {"linear": {"w": 1.0}}, SimpleNamespace)
    with pytest.raises(ValueError, match="n of SimpleNamespace is not a floating-point number"):
        fill(SimpleNamespace(n=0), {"n": 1.0}, SimpleNamespace)


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
