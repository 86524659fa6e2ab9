"""From an action to the messages that a robot takes: dimensions that share a topic form one message.

| type | content |
|---|---|
| std_msgs/Float64 | one dimension, on a topic of its own |
| std_msgs/Float64MultiArray | the dimensions in their order, for ros2_control's forward controllers |
| trajectory_msgs/JointTrajectory | one point, to be reached after `duration`; dimensions by joint |
| geometry_msgs/Twist, TwistStamped, any other | numbers by their path, ``linear.x``; a header gets the time |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policyforest.ros.config import ActionDimension, RobotConfig
from policyforest.ros.config_checks import TRAJECTORY
from policyforest.ros.message_fields import FLOAT, FLOATS, full_type, merged, nested
from policyforest.ros.transport import Content, MessageKind, MessageTime, Publisher, Transport

POINT = "trajectory_msgs/msg/JointTrajectoryPoint"
STAMPED = "Stamped"
"""The endings of message types that are commands with a header"""
KEEP = 100
"""The number of commands that may wait for a slow robot"""


class CommandTopic:
    """A topic of commands, and which dimensions of the action it carries."""

    def __init__(self, topic: str, dimensions: list[tuple[int, ActionDimension]]) -> None:
        self.topic = topic
        self._dimensions = dimensions
        self.type = full_type(dimensions[0][1].type)
        self.kind: MessageKind = {FLOAT: "number", FLOATS: "numbers"}.get(self.type, self.type)

    def value(self, action: Any, now: float) -> Any:
        """The value that is published for an action; `now` is the time in a header."""
        values = [(dimension, float(action[i])) for i, dimension in self._dimensions]
        if self.kind == "number":
            return values[0][1]
        if self.kind == "numbers":
            return [value for _, value in values]
        if self.type == TRAJECTORY:
            return self._trajectory(values)
        fields: dict[str, Any] = {}
        for dimension, value in values:
            merged(fields, nested(str(dimension.field), value))
        if self.type.endswith(STAMPED):
            fields["header"] = {"stamp": MessageTime(now)}
        return Content(self.type, fields)

    def _trajectory(self, values: list[tuple[ActionDimension, float]]) -> Content:
        # The stamp stays zero, which means "from now on", so that different clocks do no harm.
        joints = list(dict.fromkeys(str(dimension.joint) for dimension, _ in values))
        point: dict[str, Any] = {"time_from_start": MessageTime(values[0][0].duration)}
        for field in dict.fromkeys(dimension.field or "positions" for dimension, _ in values):
            given = {d.joint: value for d, value in values if (d.field or "positions") == field}
            point[field] = [given[joint] for joint in joints]
        return Content(self.type, {"joint_names": joints, "points": [Content(POINT, point)]})


def command_topics(config: RobotConfig) -> list[CommandTopic]:
    """The topics of the actions, in the order of the configuration."""
    topics = dict.fromkeys(action.topic for action in config.action)
    return [CommandTopic(topic, [(i, a) for i, a in enumerate(config.action) if a.topic == topic]) for topic in topics]


class Commands:
    """Publishes actions."""

    def __init__(self, config: RobotConfig, transport: Transport) -> None:
        self._now: Callable[[], float] = transport.now
        self._topics = command_topics(config)
        self.publishers: list[Publisher] = [transport.publisher(t.topic, t.kind, keep=KEEP) for t in self._topics]
        for topic, publisher in zip(self._topics, self.publishers, strict=True):
            try:
                publisher.check(topic.value(config.safe_action, 0.0))
            except (AttributeError, TypeError, ValueError, AssertionError) as error:
                raise ValueError(f"action: {topic.type} on {topic.topic} cannot hold the action ({error})") from error

    def send(self, action: Any, stamp: float | None = None) -> None:
        """Publishes an action; `stamp` is the time in a header, now by default."""
        now = self._now() if stamp is None else stamp
        for topic, publisher in zip(self._topics, self.publishers, strict=True):
            publisher.send(topic.value(action, now))
