"""Checks of robot.toml over several tables: names, topics that would carry two kinds of messages, fields of messages,
transports.

The checks use the tables as they are in the file, so that their problems are listed together with those of pydantic.
Entries that are themselves wrong are skipped.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any

from policyforest._support.formulas import CONSTANTS, FUNCTIONS
from policyforest.data.readers.columns import NEXT
from policyforest.data.readers.recordings import TOPIC_PREFIX
from policyforest.ros.config_checks import TRAJECTORY
from policyforest.ros.config_keys import TOPIC
from policyforest.ros.message_fields import FLOAT, FLOATS, JOINT_STATE, PATH, TYPE, FieldPath, full_type, known_types
from policyforest.ros.transport import whole_topic

Tables = Mapping[str, Any]


def texts(tables: Tables, table: str, key: str, pattern: str) -> dict[str, str]:
    """The texts under a key of a table by their place, such as ``{"state[0].name": "theta"}``; texts that are
    themselves wrong are left out."""
    found = {f"{place}.{key}": entry.get(key) for place, entry in _entries(tables, table).items()}
    return {place: text for place, text in found.items() if isinstance(text, str) and re.fullmatch(pattern, text)}


def wrong_names(states: list[str], actions: list[str]) -> Iterator[str]:
    """Names that a formula could not distinguish."""
    own = [*states, *actions]
    names = [*own, *(NEXT + name for name in states)]
    for name in sorted({n for n in own if names.count(n) > 1}):
        problem = f"is used more than once, must be unique among state and action, and state with {NEXT} before it"
        yield f"name: {name!r} {problem}"
    for name in sorted({n for n in own if n in CONSTANTS or n in FUNCTIONS or keyword.iskeyword(n)}):
        yield f"name: {name!r} means something else in a formula, must be another"


def wrong_topics(tables: Tables) -> Iterator[str]:
    """Topics that would carry two kinds of messages at once, or that are not used."""
    places = (("robot", "joint_states"), ("state", "topic"), ("action", "topic"), ("episode", "reset_topic"))
    seen: dict[str, tuple[str, str]] = {}
    for table, key, topic in ((p[0], key, topic) for p in places for key, topic in texts(tables, *p, TOPIC).items()):
        whole = whole_topic(topic)
        if whole.startswith(TOPIC_PREFIX + "/"):
            yield f"{key}: is {topic!r}, must not lie below {TOPIC_PREFIX}, where recordings keep their own"
        content = _content(tables, table, key, topic)
        if whole in seen and (seen[whole][1] != content or not content):
            yield f"{key}: is {topic!r}, must be another than that of {seen[whole][0]}"
        seen.setdefault(whole, (key, content))
    for key, topic in texts(tables, "qos", "topic", TOPIC).items():
        if whole_topic(topic) not in seen:
            yield f"{key}: is {topic!r}, must be one of {', '.join(seen)}"
    yield from _repeated_qos(tables)


def wrong_messages(tables: Tables) -> Iterator[str]:
    """Fields that a type does not have, and two actions in one place of a message."""
    robot = tables.get("robot")
    ros1 = isinstance(robot, Mapping) and robot.get("transport", "ros1") == "ros1"
    joints = [e for e in _entries(tables, "state").values() if "joint" in e and "topic" not in e]
    if joints and isinstance(robot, Mapping) and "joint_states" not in robot:
        yield f"robot.joint_states: is missing, must be text that matches {TOPIC}"
    used: dict[tuple[Any, ...], str] = {}
    for table in ("state", "action"):
        for place, entry in _entries(tables, table).items():
            name, field, joint = entry.get("type"), entry.get("field"), entry.get("joint")
            if not isinstance(name, str) or not re.fullmatch(TYPE, name):
                continue
            full = full_type(name)
            by_path = joint is None and full not in (FLOAT, FLOATS)[: 2 if table == "action" else 0]
            if by_path and isinstance(field, str) and re.fullmatch(PATH, field):
                problem = FieldPath(field).problem(full, known_types(ros1).fielddefs, written=table == "action")
                if problem is not None:
                    yield f"{place}.field: is {field!r}, {problem}"
            target = (entry.get("topic"), field or "positions", joint)
            shared = table == "action" and full not in (FLOAT, FLOATS)
            if shared and used.setdefault(target, place) != place:
                yield f"{place}: writes the same field as {used[target]}, must be another"
    yield from _uneven_trajectories(tables)


def wrong_with_transport(tables: Tables) -> Iterator[str]:
    """Keys that a transport does not have."""
    robot, episode = _entries(tables, "robot").get("robot", {}), _entries(tables, "episode").get("episode", {})
    transport = robot.get("transport", "ros1")
    if transport == "dds" and episode.get("reset_service") is not None:
        service = episode["reset_service"]
        yield f"episode.reset_service: is {service!r}, must be left out with dds: it has no services, use reset_topic"
    for table in ("state", "action") if transport == "dds" else ():
        for key, name in texts(tables, table, "type", TYPE).items():
            if full_type(name) not in known_types().fielddefs:
                yield f"{key}: is {name!r}, must be a standard message of ROS 2 with dds"
    if transport == "ros1" and tables.get("qos"):
        yield "qos: must be left out with ros1, which has none"
    if transport != "ros2" and robot.get("lifecycle") is True:
        yield "robot.lifecycle: is True, must be left out unless transport is 'ros2'"


def _entries(tables: Tables, table: str) -> dict[str, Mapping[str, Any]]:
    """The entries of a table by their place, such as "state[0]" or "robot"."""
    given = tables.get(table)
    places = {f"{table}[{i}]": entry for i, entry in enumerate(given)} if isinstance(given, list) else {table: given}
    return {place: entry for place, entry in places.items() if isinstance(entry, Mapping)}


def _content(tables: Tables, table: str, key: str, topic: str) -> str:
    """The content of a topic that several entries may share; empty for a topic of a single entry."""
    entry = _entries(tables, table)[key.rpartition(".")[0]]
    if table == "robot":
        return f"state {topic} {JOINT_STATE}"
    name = entry.get("type", JOINT_STATE if table == "state" else FLOAT)
    full = full_type(name) if isinstance(name, str) else ""
    if table == "episode" or (table == "action" and full == FLOAT):
        return ""
    return f"{table} {topic} {full} {entry.get('duration') if full == TRAJECTORY else ''}".strip()


def _uneven_trajectories(tables: Tables) -> Iterator[str]:
    """Trajectories whose fields have different joints: a point must have a number for each joint in each of its
    fields."""
    joints: dict[Any, dict[Any, set[Any]]] = {}
    for entry in _entries(tables, "action").values():
        if isinstance(entry.get("type"), str) and full_type(entry["type"]) == TRAJECTORY:
            fields = joints.setdefault(entry.get("topic"), {})
            fields.setdefault(entry.get("field") or "positions", set()).add(entry.get("joint"))
    for topic, fields in joints.items():
        if len(set(map(frozenset, fields.values()))) > 1:
            given = ", ".join(f"{field} of {sorted(map(str, names))}" for field, names in fields.items())
            yield f"action: {topic!r} has {given}, must have the same joints in each field"


def _repeated_qos(tables: Tables) -> Iterator[str]:
    seen: dict[str, str] = {}
    for key, topic in texts(tables, "qos", "topic", TOPIC).items():
        whole = whole_topic(topic)
        if seen.setdefault(whole, key) != key:
            yield f"{key}: is {topic!r}, must be another than that of {seen[whole]}"
