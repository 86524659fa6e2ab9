"""Messages as DDS types, with the names and the type hashes that ROS 2 gives them on the wire.

The types are made from the definitions that `rosbags` has of the standard messages."""

from __future__ import annotations

from functools import cache
from typing import Any

from policyforest._support.extras import import_extra
from policyforest.ros.message_fields import ARRAY, BASE, NAME, known_types

idl = import_extra("cyclonedds.idl", "dds")
types = import_extra("cyclonedds.idl.types", "dds")

NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
OTHERS: dict[str, tuple[Any, Any]] = {"string": (str, ""), "bool": (bool, False)}
OTHERS |= dict.fromkeys(("octet", "byte", "char"), (types.uint8, 0))


@cache
def dds_type(type_name: str) -> Any:
    """The class of a message; its fields have the names of ROS."""
    definitions = known_types().fielddefs
    if type_name not in definitions:
        raise ValueError(f"type: {type_name} is not known, must be a standard message of ROS 2 over DDS")
    package, _, name = type_name.split("/")
    fields = {field: _field_type(kind) for field, kind in definitions[type_name][1]}
    return idl.make_idl_struct(f"{name}_", f"{package}::msg::dds_::{name}_", fields)


def empty_message(type_name: str) -> Any:
    """A message of zeros and empty lists."""
    return dds_type(type_name)(**{field: _zero(kind) for field, kind in known_types().fielddefs[type_name][1]})


@cache
def user_data(type_name: str) -> bytes:
    """The information about its type that a publisher or a subscriber announces, and that ROS 2 nodes read."""
    return f"typehash={known_types().hash_rihs01(type_name)};".encode()


def type_name_of(wire: str) -> str:
    """std_msgs/msg/Float64 from std_msgs::msg::dds_::Float64_, and an empty text for a name that is not a type of ROS
    2."""
    parts = wire.split("::")
    return f"{parts[0]}/msg/{parts[3].removesuffix('_')}" if len(parts) == 4 and parts[2] == "dds_" else ""


def _field_type(kind: Any) -> Any:
    if kind[0] == NAME:
        return dds_type(kind[1])
    if kind[0] == BASE:
        name = kind[1][0]
        return getattr(types, name) if name in NUMBERS else OTHERS[name][0]
    entry, length = kind[1]
    return types.array[_field_type(entry), length] if kind[0] == ARRAY else types.sequence[_field_type(entry)]


def _zero(kind: Any) -> Any:
    if kind[0] == NAME:
        return empty_message(kind[1])
    if kind[0] == BASE:
        name = kind[1][0]
        return (0.0 if name.startswith("float") else 0) if name in NUMBERS else OTHERS[name][1]
    entry, length = kind[1]
    return [_zero(entry) for _ in range(length)] if kind[0] == ARRAY else []
