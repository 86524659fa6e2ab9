"""The three kinds of messages as DDS types, with the names that ROS 2 gives them on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policyforest._support.extras import import_extra
from policyforest.ros.transport import JointSample, MessageKind

idl = import_extra("cyclonedds.idl", "dds")
types = import_extra("cyclonedds.idl.types", "dds")


def _struct(package: str, type_name: str, /, **fields: Any) -> Any:
    return idl.make_idl_struct(f"{type_name}_", f"{package}::msg::dds_::{type_name}_", fields)


Numbers = types.sequence[types.float64]
Stamp = _struct("builtin_interfaces", "Time", sec=types.int32, nanosec=types.uint32)
Header = _struct("std_msgs", "Header", stamp=Stamp, frame_id=str)
Float64 = _struct("std_msgs", "Float64", data=types.float64)
Dimension = _struct("std_msgs", "MultiArrayDimension", label=str, size=types.uint32, stride=types.uint32)
Layout = _struct("std_msgs", "MultiArrayLayout", dim=types.sequence[Dimension], data_offset=types.uint32)
Float64MultiArray = _struct("std_msgs", "Float64MultiArray", layout=Layout, data=Numbers)
JointState = _struct(
    "sensor_msgs",
    "JointState",
    header=Header,
    name=types.sequence[str],
    position=Numbers,
    velocity=Numbers,
    effort=Numbers,
)


def _joints(message: Any) -> JointSample:
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    return JointSample(message.name, message.position, message.velocity, message.effort, stamp)


def _joint_state(sample: JointSample) -> Any:
    header = Header(Stamp(*sample.header_stamp), "")
    fields = ([float(v) for v in values] for values in (sample.position, sample.velocity, sample.effort))
    return JointState(header, list(sample.names), *fields)


TYPES: dict[MessageKind, Any] = {"joints": JointState, "number": Float64, "numbers": Float64MultiArray}
READERS: dict[MessageKind, Callable[[Any], Any]] = {
    "joints": _joints,
    "number": lambda message: float(message.data),
    "numbers": lambda message: [float(value) for value in message.data],
}
WRITERS: dict[MessageKind, Callable[[Any], Any]] = {
    "joints": _joint_state,
    "number": lambda value: Float64(float(value)),
    "numbers": lambda values: Float64MultiArray(Layout([], 0), [float(value) for value in values]),
}
