"""Messages as rosbags writes them: from samples, from what was published, or from zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from policyforest.ros.message_fields import ARRAY, BASE, FLOAT, FLOATS, JOINT_STATE, NAME, TIMES, fill
from policyforest.ros.transport import Content, JointSample, MessageSample

EXAMPLES: dict[str, Any] = {
    JOINT_STATE: JointSample(["joint"], [0.0], [0.0], [0.0]),
    FLOATS: [0.0],
    "std_msgs/msg/Int64": 0,
    "std_msgs/msg/Bool": False,
    "std_msgs/msg/String": "",
    FLOAT: 0.0,
}
"""An example value of each type that has its own form here"""


def recorded_message(store: Any, type_name: str, value: Any) -> Any:
    """The message of a type in a store; `value` None makes one of zeros."""
    types = store.types
    if isinstance(value, JointSample):
        return _joints(store, value)
    if value is None:
        return _empty(store, (NAME, type_name))
    if isinstance(value, Content):
        return _content(store, value)
    if isinstance(value, MessageSample):
        return _copied(store, (NAME, type_name), value.message)
    if type_name == FLOATS:
        layout = types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        return types[type_name](layout=layout, data=np.array(value, dtype=np.float64))
    return types[type_name](data=value)


def _joints(store: Any, sample: JointSample) -> Any:
    message = _empty(store, (NAME, JOINT_STATE))
    message.header.stamp.sec, message.header.stamp.nanosec = sample.header_stamp
    message.name = list(sample.names)
    for name in ("position", "velocity", "effort"):
        setattr(message, name, np.array(getattr(sample, name), np.float64))
    return message


def _content(store: Any, content: Content) -> Any:
    """The message of a `Content`; its lists of numbers become arrays, which rosbags needs."""
    message = fill(_empty(store, (NAME, content.type)), content.fields, lambda name: _empty(store, (NAME, name)))
    return _copied(store, (NAME, content.type), message)


def _empty(store: Any, kind: Any) -> Any:
    """A value of a kind of field that consists of zeros and empty lists."""
    if kind[0] == NAME:
        fields = store.fielddefs[kind[1]][1]
        return store.types[kind[1]](**{name: _empty(store, field) for name, field in fields})
    if kind[0] == BASE:
        base = kind[1][0]
        return "" if base == "string" else False if base == "bool" else 0.0 if base.startswith("float") else 0
    entry, length = kind[1]
    count = length if kind[0] == ARRAY else 0
    return _array(entry, [_empty(store, entry) for _ in range(count)])


def _copied(store: Any, kind: Any, value: Any) -> Any:
    """A message of a transport, field by field."""
    if kind[0] == BASE:
        return value
    if kind[0] != NAME:
        entry = kind[1][0]
        return _array(entry, [_copied(store, entry, item) for item in value])
    made, fields = store.types[kind[1]], store.fielddefs[kind[1]][1]
    if kind[1] in TIMES and hasattr(value, "nsecs"):
        return made(sec=value.secs, nanosec=value.nsecs)
    # ROS 2 has dropped the counter of the headers, and either kind of bag may be requested.
    return made(**{name: _copied(store, field, getattr(value, name, 0)) for name, field in fields})


def _array(entry: Any, items: list[Any]) -> Any:
    """Numbers as an array, anything else as a list."""
    if entry[0] == BASE and entry[1][0] != "string":
        names = {"bool": "bool", "octet": "uint8", "byte": "uint8", "char": "uint8"}
        return np.array(items, dtype=names.get(entry[1][0], entry[1][0]))
    return items
