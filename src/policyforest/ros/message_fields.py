"""Numbers of any ROS message by a path such as ``pose.pose.position.x`` or ``data[2]``, and messages from content.

The types of the standard messages come from `rosbags`, so that a path can be checked when a configuration is read, and
a DDS type or a recording can be made, on a machine without ROS. A type that rosbags does not know is checked against
the transport's class for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, SupportsFloat

from policyforest._support.extras import import_extra
from policyforest.ros.transport import Content, MessageKind, MessageTime, seconds_and_nanoseconds

TYPE = r"[a-z]\w*/(msg/)?[A-Z]\w*"
PATH = r"[A-Za-z]\w*(\[\d+\])?(\.[A-Za-z]\w*(\[\d+\])?)*"
ANGLES = ("roll", "pitch", "yaw")
"""Angles of a quaternion that can be named like a field"""
QUATERNION = "geometry_msgs/msg/Quaternion"
JOINT_STATE, FLOAT, FLOATS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64", "std_msgs/msg/Float64MultiArray"
TYPE_OF_KIND = {"joints": JOINT_STATE, "number": FLOAT, "numbers": FLOATS}
TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")
NOT_UNIT = 0.1
"""How far the squared length of a quaternion may be from 1, which allows for rounding in single precision"""
BASE, NAME, ARRAY, SEQUENCE = 1, 2, 3, 4
"""The kinds of fields, as rosbags numbers them"""


class FieldError(ValueError):
    """A message does not have the number that a path names."""


def full_type(name: str) -> str:
    """nav_msgs/Odometry is nav_msgs/msg/Odometry."""
    package, _, rest = name.partition("/")
    return f"{package}/msg/{rest.removeprefix('msg/')}"


def type_of(kind: MessageKind) -> str:
    """The full name of a kind's type."""
    return TYPE_OF_KIND.get(kind) or full_type(kind)


@cache
def known_types(ros1: bool = False) -> Any:
    """rosbags' store of the standard messages."""
    typesys = import_extra("rosbags.typesys", "ros")
    return typesys.get_typestore(typesys.Stores.ROS1_NOETIC if ros1 else typesys.Stores.ROS2_IRON)


class FieldPath:
    """A number of a message."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = (re.fullmatch(r"(\w+)(?:\[(\d+)\])?", part) for part in text.split("."))
        self._steps = [(m[1], None if m[2] is None else int(m[2])) for m in parts if m is not None]

    def __call__(self, message: Any) -> float:
        """The number; a FieldError if there is none."""
        value = message
        for name, index in self._steps:
            if name in ANGLES and hasattr(value, "w"):
                return angle_of(value, name)
            if not hasattr(value, name):
                raise FieldError(f"{self.text} is missing, {type(value).__name__} has no {name!r}")
            value = getattr(value, name)
            if index is not None:
                if index >= len(value):
                    raise FieldError(f"{self.text} is missing, the array has {len(value)} entries")
                value = value[index]
        try:
            return float(value)
        except (TypeError, ValueError):
            raise FieldError(f"{self.text} is {type(value).__name__}, not a number") from None

    def length(self, message: Any) -> int | None:
        """The number of entries of the array that the path points into; None if it points into none."""
        value = message
        for name, index in self._steps:
            value = getattr(value, name, None)
            if index is not None:
                return len(value) if value is not None else None
        return None

    def missing_in(self, empty: Any) -> str | None:
        """The reason why no message like this empty one has the number; None if a message may have it, for example in
        an array that is filled later."""
        value = empty
        for name, index in self._steps:
            if name in ANGLES and hasattr(value, "w"):
                return None
            if not hasattr(value, name):
                return f"{type(value).__name__} has no {name!r}"
            value = getattr(value, name)
            if (index is not None) != hasattr(value, "__len__") or isinstance(value, str):
                return f"{name!r} is not an array" if index is not None else f"{name!r} is not a number"
            if index is not None:
                if index >= len(value):
                    return None
                value = value[index]
        return None if isinstance(value, SupportsFloat) else f"{self.text!r} is not a number"

    def problem(self, type_name: str, types: Mapping[str, Any], *, written: bool = False) -> str | None:
        """The problem of the path in a type; None if there is none, or if the type is not known.

        `written` means that an action is written to the path, which an integer and an entry of an array cannot hold."""
        if type_name not in types:
            return None
        at: Any = (NAME, type_name)
        for name, index in self._steps:
            if at == (NAME, QUATERNION) and name in ANGLES:
                return None
            fields = dict(types[at[1]][1]) if at[0] == NAME else {}
            if name not in fields:
                owner = at[1] if at[0] == NAME else "a number"
                return f"{name!r} is not a field of {owner}, which has {', '.join(fields) or 'none'}"
            at = fields[name]
            if at[0] in (ARRAY, SEQUENCE):
                entry, length = at[1]
                if index is None:
                    return f"{name!r} is an array and needs an index, {name}[0]"
                if at[0] == ARRAY and index >= length:
                    return f"{name!r} has {length} entries"
                at = entry
            elif index is not None:
                return f"{name!r} is not an array"
        if at[0] != BASE or at[1][0] in ("string", "wstring"):
            return f"{self.text!r} is not a number"
        if written and ("[" in self.text or not at[1][0].startswith("float")):
            return f"{self.text!r} is {'an entry of an array' if '[' in self.text else at[1][0]}, not a single float"
        return None


def angle_of(quaternion: Any, name: str) -> float:
    """Roll, pitch or yaw (about x, y and z, in that order); a FieldError if the four numbers are not a rotation."""
    x, y, z, w = (float(getattr(quaternion, side)) for side in "xyzw")
    if not abs(x * x + y * y + z * z + w * w - 1.0) < NOT_UNIT:
        raise FieldError(f"{name} is missing, ({x}, {y}, {z}, {w}) is not a unit quaternion")
    if name == "roll":
        return math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    if name == "pitch":
        return math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def nested(path: str, value: Any) -> dict[str, Any]:
    """{"linear": {"x": 0.5}} from "linear.x"."""
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


def merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One content with the fields of both, including nested fields."""
    for name, value in other.items():
        both = isinstance(value, Mapping) and isinstance(one.get(name), dict)
        one[name] = merged(one[name], value) if both else value
    return one


def fill(message: Any, fields: Mapping[str, Any], make: Callable[[str], Any]) -> Any:
    """Writes content into a new message; `make` gives an empty message of a type."""
    for name, value in fields.items():
        if not hasattr(message, name):
            raise ValueError(f"{type(message).__name__} has no field {name!r}")
        # rclpy itself would report this much later, when the message is published.
        if isinstance(value, float) and isinstance(getattr(message, name), int):
            raise ValueError(f"{name} of {type(message).__name__} is not a floating-point number")
        if isinstance(value, MessageTime):
            set_time(getattr(message, name), value)
        elif isinstance(value, Mapping):
            fill(getattr(message, name), value, make)
        elif isinstance(value, list) and value and isinstance(value[0], Content):
            setattr(message, name, [fill(make(entry.type), entry.fields, make) for entry in value])
        else:
            setattr(message, name, value)
    return message


def set_time(target: Any, seconds: float) -> None:
    whole, nanoseconds = seconds_and_nanoseconds(seconds)
    if hasattr(target, "nsecs"):
        target.secs, target.nsecs = whole, nanoseconds
    else:
        target.sec, target.nanosec = whole, nanoseconds


def time_of(stamp: Any) -> float:
    """A time of ROS 1 or ROS 2 as a `MessageTime`."""
    if hasattr(stamp, "nsecs"):
        return float(stamp.secs + 1e-9 * stamp.nsecs)
    return float(stamp.sec + 1e-9 * stamp.nanosec)


def stamp_of(message: Any) -> float:
    """The time in a message's header; 0 without one."""
    header = getattr(message, "header", None)
    return 0.0 if header is None or not hasattr(header, "stamp") else time_of(header.stamp)
