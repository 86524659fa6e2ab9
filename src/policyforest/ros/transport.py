"""The interface to a robot's network for the rest of this package: topics that carry messages, and a few calls.

ROS 1, ROS 2 and DDS (the network protocol under ROS 2) implement this interface. A test can implement it in a dozen
lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MessageKind = str
""""joints": sensor_msgs/JointState as `JointSample`; "number": std_msgs/Float64 as float; "numbers":
std_msgs/Float64MultiArray as list of float; or the name of any other type, "nav_msgs/msg/Odometry", which arrives as
`MessageSample` and is published as `Content`"""
TransportName = Literal["ros1", "dds", "ros2"]
Reliability = Literal["reliable", "best_effort"]
Durability = Literal["volatile", "transient_local"]
READ_DEPTH = 100
"""The number of messages that may wait for a callback: one second at 100 Hz, because a busy machine may stop for that
long"""


@dataclass(frozen=True, slots=True)
class JointSample:
    """The joints at one time; a field that the robot does not measure is empty."""

    names: Sequence[str]
    position: Sequence[float] = ()
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()
    stamp: float = 0.0
    """The stamp in seconds that the robot has written into the header"""
    arrived: float = field(default_factory=time.monotonic)
    """The time of arrival, in seconds of this process's monotonic clock"""

    @property
    def header_stamp(self) -> tuple[int, int]:
        """The stamp as a header holds it: whole seconds, and nanoseconds."""
        return seconds_and_nanoseconds(self.stamp)


@dataclass(frozen=True, slots=True)
class MessageSample:
    """A message of any other type, as an object of the transport: its fields are attributes."""

    message: Any
    stamp: float = 0.0
    """Seconds; 0 for a type without a header"""
    arrived: float = field(default_factory=time.monotonic)


Sample = JointSample | MessageSample


class MessageTime(float):
    """A time or a duration within `Content`, in seconds."""


@dataclass(frozen=True, slots=True)
class Content:
    """The fields of a message that are not zero or empty: numbers, text, lists, `MessageTime`, mappings for fields of
    fields, and `Content` for the entries of a list of messages."""

    type: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Qos:
    """The quality of service of a topic; None means the default of the publisher or subscriber that is opened.

    ROS 1 has no quality of service."""

    reliability: Reliability | None = None
    durability: Durability | None = None
    depth: int | None = None

    def for_reading(self) -> Qos:
        """These settings, with the defaults of sensor data, which accept whatever a publisher offers."""
        return Qos(self.reliability or "best_effort", self.durability or "volatile", self.depth or READ_DEPTH)

    def for_publishing(self, keep: int, latch: bool) -> Qos:
        """These settings, with the defaults of commands: reliable, so that every subscriber can listen.

        Only the newest message is kept for late subscribers, because a robot that connects late must not repeat a
        hundred old commands."""
        durability = self.durability or ("transient_local" if latch else "volatile")
        kept = 1 if self.durability == "transient_local" else keep
        return Qos(self.reliability or "reliable", durability, self.depth or kept)


@dataclass(frozen=True)
class TopicEnd:
    """A publisher or a subscriber of a topic."""

    node: str
    type: str = ""
    reliability: Reliability | None = None
    durability: Durability | None = None
    own: bool = False
    """Whether it belongs to this process"""


@dataclass(frozen=True)
class TopicEnds:
    """Both sides of a topic, as far as they are known."""

    publishers: tuple[TopicEnd, ...] = ()
    subscribers: tuple[TopicEnd, ...] = ()
    network_name: str = ""
    """The topic's name on the network, if it was remapped"""


class Publisher(Protocol):
    """The publishing end of a topic."""

    def send(self, value: Any) -> None:
        """Publishes a value of the topic's kind; never waits for the subscribers."""

    def check(self, value: Any) -> None:
        """Refuses a value that a message of the topic's type cannot hold, and publishes nothing."""

    def listeners(self) -> int:
        """The number of connected subscribers."""


class Transport(Protocol):
    """A robot's network, seen from one process."""

    def subscribe(self, topic: str, kind: MessageKind, callback: Callable[[Any], None]) -> None:
        """Calls back for every message, from a thread of the transport."""

    def publisher(self, topic: str, kind: MessageKind, *, keep: int = 1, latch: bool = False) -> Publisher:
        """Opens a topic for publishing; at most `keep` messages wait, and the oldest are dropped.

        With `latch`, late subscribers get the last message."""

    def empty(self, kind: MessageKind) -> Any:
        """An empty message of a kind, whose fields can be inspected."""

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        """Offers a service without arguments, std_srvs/Trigger."""

    def call(self, service: str, timeout: float) -> None:
        """Calls such a service and waits for its answer; raises a TimeoutError or a ConnectionError if there is
        none."""

    def connected(self) -> bool:
        """Whether the network works (for ROS 1, whether the master answers); never waits."""

    def now(self) -> float:
        """Seconds of the clock with which the robot's stamps are compared; simulated time if there is one."""

    def ends(self, topic: str) -> TopicEnds:
        """The publishers and subscribers of a topic; this may wait for a moment."""

    def on_activity(self, callback: Callable[[bool], None]) -> bool:
        """Calls back when a lifecycle node is activated or deactivated. Returns whether it is active now; a node
        without a life cycle is always active."""

    def close(self) -> None:
        """Closes the connection and everything that was opened on it."""


def seconds_and_nanoseconds(seconds: float) -> tuple[int, int]:
    """A time as messages hold it, to the nearest nanosecond: 11.8 is (11, 800000000)."""
    whole, nanoseconds = divmod(round(seconds * 1e9), 10**9)
    return whole, nanoseconds


def whole_topic(topic: str) -> str:
    """A topic with its leading slash, for comparisons."""
    return "/" + topic.lstrip("/")


def open_transport(
    name: TransportName,
    node: str,
    *,
    qos: Mapping[str, Qos] | None = None,
    arguments: Sequence[str] = (),
    lifecycle: bool = False,
    parameters: Mapping[str, str] | None = None,
) -> Transport:
    """A transport by its name in a configuration.

    Args:
        node: The name of this process on the network.
        qos: Quality of service by topic (with its leading slash), if it is not the default; not for ROS 1.
        arguments: ``--ros-args`` of ROS 2 and the arguments after it.
        lifecycle: Whether to be a lifecycle node of ROS 2.
        parameters: The parameters that a node of ROS 2 shows.
    """
    if name == "ros1":
        from policyforest.ros.rospy_transport import RospyTransport

        return RospyTransport(node)
    if name == "ros2":
        from policyforest.ros.rclpy_transport import RclpyTransport

        return RclpyTransport(node, qos=qos, arguments=arguments, lifecycle=lifecycle, parameters=parameters)
    from policyforest.ros.dds_transport import DdsTransport

    return DdsTransport(node=node, qos=qos)
