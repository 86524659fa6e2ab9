"""Converts messages of a transport to and from the values of its kinds, for ROS 1, ROS 2 and DDS.

In all three, a message is an object whose fields are attributes with the same names; only the fields of times have
different names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policyforest.ros.message_fields import FLOAT, FLOATS, JOINT_STATE, fill, set_time, stamp_of, type_of
from policyforest.ros.transport import Content, JointSample, MessageKind, MessageSample


class MessageCodec:
    """Reads and writes messages.

    Args:
        make: Gives an empty message of a type by its full name.
    """

    def __init__(self, make: Callable[[str], Any]) -> None:
        self._make = make

    def reader(self, kind: MessageKind) -> Callable[[Any], Any]:
        """The function from a message to the value of its kind."""
        readers: dict[str, Callable[[Any], Any]] = {
            "joints": _joints,
            "number": lambda message: float(message.data),
            "numbers": lambda message: [float(value) for value in message.data],
        }
        return readers.get(kind, lambda message: MessageSample(message, stamp_of(message)))

    def writer(self, kind: MessageKind) -> Callable[[Any], Any]:
        """The function from a value of a kind to a message."""
        writers: dict[str, Callable[[Any], Any]] = {
            "joints": self._joint_state,
            "number": lambda value: self._data(FLOAT, float(value)),
            "numbers": lambda values: self._data(FLOATS, [float(value) for value in values]),
        }
        return writers.get(kind, self._content)

    def empty(self, kind: MessageKind) -> Any:
        """A message of zeros and empty lists."""
        return self._make(type_of(kind))

    def _data(self, type_name: str, data: Any) -> Any:
        message = self._make(type_name)
        message.data = data
        return message

    def _content(self, content: Content) -> Any:
        return fill(self._make(content.type), content.fields, self._make)

    def _joint_state(self, sample: JointSample) -> Any:
        message = self._make(JOINT_STATE)
        message.name = list(sample.names)
        for name in ("position", "velocity", "effort"):
            setattr(message, name, [float(value) for value in getattr(sample, name)])
        set_time(message.header.stamp, sample.stamp)
        return message


def _joints(message: Any) -> JointSample:
    return JointSample(message.name, message.position, message.velocity, message.effort, stamp_of(message))
