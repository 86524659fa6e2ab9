"""Reads ROS 1 and ROS 2 bags and MCAP files with rosbags, without ROS.

A column's source is a topic and a field of its messages: ``/cmd.data``, ``/odom.pose.pose.position.x``,
``/joint_states.position[0]``, or ``/joint_states.position[hinge]`` for the entry of that name in the message's
``name``. Times are those at which the messages were recorded. Without a period there is one row per message of the
first state's topic; with one, one row per period.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.extras import import_extra
from policyforest.data.readers.assembly import GAP_PERIODS
from policyforest.data.readers.columns import Columns
from policyforest.data.readers.recordings import recorded_problem
from policyforest.data.readers.resampling import Series, StepRule, ticks_between
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns, resolve
from policyforest.data.readers.rows import Problems, Rows

BAG_SUFFIXES = (".bag", ".mcap", ".db3")
SOURCE = re.compile(r"(/[\w/]+)((?:\.\w+)+)(?:\[([^\]]+)\])?")


class _SourceError(ValueError):
    """A topic or a field that the bag does not have: the user's mistake, not the bag's."""


@dataclass
class _Field:
    """A field of a topic's messages, and the values that were read from it."""

    topic: str
    path: tuple[str, ...]
    index: str | None
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def series(self) -> Series:
        return Series(np.array(self.times), np.array(self.values))

    def value(self, message: Any) -> float:
        value = message
        for name in self.path:
            if not hasattr(value, name):
                known = ", ".join(n for n in getattr(value, "__dataclass_fields__", {}) if not n.startswith("__"))
                raise _SourceError(f"{self.topic} has no field {'.'.join(self.path)!r} ({name} is not one of {known})")
            value = getattr(value, name)
        if self.index is not None:
            value = value[self._position(message)]
        elif isinstance(value, list | np.ndarray):
            raise _SourceError(f"{self.topic}.{'.'.join(self.path)} is a list, choose an entry: …[0] or …[name]")
        return float(value)

    def _position(self, message: Any) -> int:
        assert self.index is not None
        if self.index.isdigit():
            return int(self.index)
        names = list(getattr(message, "name", ()))
        if self.index not in names:
            raise _SourceError(f"{self.topic} has no {self.index!r} among its names {', '.join(names)}")
        return names.index(self.index)


def is_bag(path: Path) -> bool:
    return path.suffix in BAG_SUFFIXES or (path.is_dir() and (path / "metadata.yaml").is_file())


def read_bag(
    path: Path, wanted: Columns, problems: Problems, period: float | None, max_gap: float | None
) -> tuple[Rows, ResolvedColumns]:
    told = recorded_problem(path) if wanted.state is None and wanted.action is None else None
    wanted = wanted if told is None else told.wanted(wanted)
    columns = resolve(wanted, _sources(wanted))
    named = {c.name: c for c in columns.numbers}
    roles = {
        f"{role}:": c
        for role in ("terminal", "truncated", "episode")
        if isinstance(c := getattr(columns, role), Column)
    }
    fields = {name: _field(column.source) for name, column in (named | roles).items()}
    _read_messages(path, list(fields.values()), problems)
    series = {name: one.series() for name, one in fields.items()}
    _require_messages(path, series, fields, problems)
    ticks = _ticks(series, columns, period)
    rows = _rows(path, series, columns, ticks, np.inf if told is not None and max_gap is None else max_gap)
    return (
        rows if told is None else replace(rows, action_space=told.action_space, periodic=told.periodic, whole=True)
    ), columns


def _sources(wanted: Columns) -> list[str]:
    """The sources that the user named. They are checked when messages are read, because a bag can have thousands of
    fields."""
    texts = [*(wanted.state or ()), *(wanted.action or ())]
    texts += [t for t in (wanted.reward, wanted.terminal, wanted.truncated, wanted.episode) if t is not None]
    if not wanted.state or not wanted.action:
        raise ValueError(
            "state, action: must name topics and fields, such as '/joint_states.position[0]' and '/cmd.data'"
        )
    if wanted.next_state or wanted.time:
        raise ValueError("next_state, time: must be left out with a bag, whose messages have their own times")
    sources = [text.partition("=")[2] or text for text in texts]
    for source in sources[: len(wanted.state) + len(wanted.action)]:
        _field(source)
    return [source for source in sources if SOURCE.fullmatch(source)]


def _field(source: str) -> _Field:
    match = SOURCE.fullmatch(source)
    if match is None:
        raise ValueError(f"{source!r}: must be a topic and a field, such as /joint_states.position[0]")
    return _Field(match[1], tuple(match[2][1:].split(".")), match[3])


def _read_messages(path: Path, fields: Sequence[_Field], problems: Problems) -> None:
    reader_type = import_extra("rosbags.highlevel", "rosbags").AnyReader
    errors = import_extra("rosbags.highlevel", "rosbags").AnyReaderError
    store = import_extra("rosbags.typesys", "rosbags")
    default = None if path.suffix == ".bag" else store.get_typestore(store.Stores.LATEST)
    topics = {one.topic for one in fields}
    try:
        with reader_type([path], default_typestore=default) as reader:
            missing = topics - {connection.topic for connection in reader.connections}
            if missing:
                known = ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections}))
                raise _SourceError(f"{path}: has no topic {', '.join(sorted(missing))}; it has {known}")
            chosen = [connection for connection in reader.connections if connection.topic in topics]
            for number, (connection, stamp, raw) in enumerate(reader.messages(connections=chosen), start=1):
                message = reader.deserialize(raw, connection.msgtype)
                _take(path, number, connection.topic, stamp / 1e9, message, fields, problems)
    except errors as error:
        raise ValueError(f"{path}: is not a bag that can be read ({error})") from error
    except _SourceError:
        raise
    except Exception as error:  # rosbags, SQLite and MCAP raise errors of many types
        raise ValueError(f"{path}: is damaged ({type(error).__name__}: {error})") from error


def _take(
    path: Path, number: int, topic: str, time: float, message: Any, fields: Sequence[_Field], problems: Problems
) -> None:
    """All fields of a message, or none: a message with a number that is not finite is left out."""
    mine = [one for one in fields if one.topic == topic]
    try:
        values = [one.value(message) for one in mine]
    except IndexError as error:
        problems.add(f"{path.name}, message {number}", f"{topic}: {error}")
        return
    for one, value in zip(mine, values, strict=True):
        if not np.isfinite(value):
            problems.add(f"{path.name}, message {number}", f"{topic}.{'.'.join(one.path)} is {value}")
            return
    for one, value in zip(mine, values, strict=True):
        one.times.append(time)
        one.values.append(value)


def _require_messages(path: Path, series: dict[str, Series], fields: dict[str, _Field], problems: Problems) -> None:
    for name, one in series.items():
        if len(one.times) == 0:
            why = f"; {problems.text()}" if problems.count else ""
            raise ValueError(
                f"{path}: {fields[name].topic} has no message that can be used for {name.rstrip(':')}{why}"
            )


def _ticks(series: dict[str, Series], columns: ResolvedColumns, period: float | None) -> Floats:
    first = max(series[c.name].times[0] for c in columns.state)
    base = series[columns.state[0].name].times
    if period is None:
        begun: Floats = base[base >= first]
        return begun
    last = max(series[c.name].times[-1] for c in columns.state)
    return ticks_between(first, last, period)


def _rows(
    path: Path, series: dict[str, Series], columns: ResolvedColumns, ticks: Floats, max_gap: float | None
) -> Rows:
    states = {c.name for c in columns.state}
    summed = {columns.reward.name} if isinstance(columns.reward, Column) else set()
    breaks = np.zeros(len(ticks), dtype=np.bool_)
    stale = np.zeros(len(ticks), dtype=np.bool_)
    numbers: dict[str, Floats] = {}
    for c in columns.numbers:
        rule: StepRule = "state" if c.name in states else "sum" if c.name in summed else "action"
        numbers[c.name] = series[c.name].at_steps(rule, ticks)
        if c.name in states:
            stale |= _stale(series[c.name].times, ticks, max_gap)
    if "episode:" in series:
        labels = series["episode:"].at_steps("action", ticks)
        breaks[1:] = (labels[1:] != labels[:-1]) & ~(np.isnan(labels[1:]) & np.isnan(labels[:-1]))
    breaks[:1] = True
    # There is no action before the first command, and the action after the last state is not used.
    begun = np.logical_and.reduce([np.isfinite(numbers[c.name]) for c in columns.action])
    flags = {
        role: series[f"{role}:"].at_steps("any", ticks).astype(np.bool_) if f"{role}:" in series else None
        for role in ("terminal", "truncated")
    }
    rows = Rows(
        path.name,
        numbers,
        np.arange(1, len(ticks) + 1, dtype=np.int64),
        breaks,
        flags["terminal"],
        flags["truncated"],
        ticks,
        unit="step",
    )
    return rows.only(begun & ~stale)


def _stale(times: Floats, ticks: Floats, max_gap: float | None) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Steps at which the sensor had been silent for longer than a gap."""
    if len(times) < 2:
        return np.zeros(len(ticks), dtype=np.bool_)
    largest = max_gap if max_gap is not None else GAP_PERIODS * float(np.median(np.diff(times)))
    row = np.clip(np.searchsorted(times, ticks), 1, len(times) - 1)
    nearest = np.minimum(np.abs(times[row] - ticks), np.abs(ticks - times[row - 1]))
    return nearest > largest
