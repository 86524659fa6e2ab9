"""What the rest of this package knows of a robot's network: topics that carry three kinds of messages, and a few calls.

ROS 1 and DDS (the wire of ROS 2) implement it; a test can too, in a dozen lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MessageKind = Literal["joints", "number", "numbers"]
"""sensor_msgs/JointState as `JointSample`, std_msgs/Float64 as float, std_msgs/Float64MultiArray as list of float"""


@dataclass(frozen=True, slots=True)
class JointSample:
    """The joints at one time; a field that the robot does not measure is empty."""

    names: Sequence[str]
    position: Sequence[float] = ()
    velocity: Sequence[float] = ()
    effort: Sequence[float] = ()
    stamp: float = 0.0
    """Seconds, as the robot has written them into the header"""
    arrived: float = field(default_factory=time.monotonic)
    """Seconds of this process's monotonic clock"""

    @property
    def header_stamp(self) -> tuple[int, int]:
        """The stamp as a header holds it: whole seconds, and nanoseconds."""
        seconds = int(self.stamp)
        return seconds, int((self.stamp - seconds) * 1e9)


class Publisher(Protocol):
    """One end of a topic."""

    def send(self, value: Any) -> None:
        """Publishes a value of the topic's kind; never waits for those who listen."""

    def listeners(self) -> int:
        """How many are connected."""


class Transport(Protocol):
    """A robot's network, seen from one process."""

    def subscribe(self, topic: str, kind: MessageKind, callback: Callable[[Any], None]) -> None:
        """Calls back for every message, from a thread of the transport."""

    def publisher(self, topic: str, kind: MessageKind, *, keep: int = 1, latch: bool = False) -> Publisher:
        """A topic to publish on; at most `keep` messages wait, the oldest gives way. `latch`: whoever comes late gets
        the last message."""

    def serve(self, service: str, callback: Callable[[], None]) -> None:
        """Offers a service without arguments, std_srvs/Trigger."""

    def call(self, service: str, timeout: float) -> None:
        """Calls such a service and waits for its end; a TimeoutError or a ConnectionError if there is none."""

    def connected(self) -> bool:
        """Whether the network is whole; never waits."""

    def close(self) -> None:
        """Ends all of it."""


def open_transport(name: Literal["ros1", "dds"], node: str) -> Transport:
    """A transport by its name in a configuration; `node` is what this process is called there."""
    if name == "ros1":
        from policyforest.ros.rospy_transport import RospyTransport

        return RospyTransport(node)
    from policyforest.ros.dds_transport import DdsTransport

    return DdsTransport()
