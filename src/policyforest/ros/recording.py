"""Every decision in a file: a ROS 1 bag (``.bag``) or MCAP (``.mcap``), and back to Transitions.

All messages of one decision have the same time stamp. The reward and the end of a step are stamped a moment before the
state that it led to, so that they lie within the step for any reader of logs.

| topic | type | what |
|---|---|---|
| those of the state | sensor_msgs/JointState, or the type of the configuration | the messages that were decided on |
| those of the actions | std_msgs/Float64, or the type of the configuration | what was published |
| ``/policyforest/state`` | std_msgs/Float64MultiArray | the state; missing where there was none |
| ``/policyforest/action`` | std_msgs/Float64MultiArray | the action; missing after an episode's last state |
| ``/policyforest/episode`` | std_msgs/Int64 | its number; a fault or a terminal state ends an episode |
| ``/policyforest/reward`` | std_msgs/Float64 | of the step that led here, if the configuration has a formula |
| ``/policyforest/terminal`` | std_msgs/Bool | whether the step that led here was the last |
| ``/policyforest/fault`` | std_msgs/String | why the action is the safe one |
| ``/policyforest/problem`` | std_msgs/String | once: names, limits and angles, as JSON |

A separate thread writes, so that the robot never waits for the disk. Until the recording is closed, the name of its
file ends in ``.active``. No error here stops a robot: a step whose reward is not a number is not a sample, a message
that the format cannot hold is left out, and a full disk ends the recording; each of these is reported once.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policyforest._support.arguments import Floats
from policyforest._support.extras import import_extra
from policyforest.data.readers.recordings import RECORDING_FORMAT, TOPIC_PREFIX
from policyforest.ros.commands import command_topics
from policyforest.ros.config import RobotConfig
from policyforest.ros.control import Decision
from policyforest.ros.message_fields import type_of
from policyforest.ros.recorded_messages import EXAMPLES, recorded_message
from policyforest.ros.reward import Judge

SUFFIXES = (".bag", ".mcap")
TYPES = {
    "state": "std_msgs/msg/Float64MultiArray",
    "action": "std_msgs/msg/Float64MultiArray",
    "episode": "std_msgs/msg/Int64",
    "reward": "std_msgs/msg/Float64",
    "terminal": "std_msgs/msg/Bool",
    "fault": "std_msgs/msg/String",
    "problem": "std_msgs/msg/String",
}
Message = tuple[str, Any]
# Nanoseconds. Readers keep times as seconds since 1970 in floating point, with a resolution of 0.24 microseconds.
LEAD, LEAST_STEP = 1_000, 10_000


class Recording:
    """Writes decisions as they are made, and marks where episodes begin."""

    def __init__(
        self, path: str | os.PathLike[str], config: RobotConfig, warn: Callable[[str], None] = lambda line: None
    ) -> None:
        self.path = Path(path)
        self._config, self._warn = config, warn
        self._first, self._commands = next(iter(config.sources)), command_topics(config)
        self._judge = None if config.episode is None else Judge(config, config.episode)
        self._told: set[str] = set()
        self._file = _BagFile(self.path, config, self._tell)
        self._waiting: queue.SimpleQueue[tuple[int, list[Message]] | None] = queue.SimpleQueue()
        self._last: tuple[Floats, Floats] | None = None
        self._ended = False
        self._time = 0
        self.episode = 0
        self._put([(f"{TOPIC_PREFIX}/problem", json.dumps(problem_settings(config)))])
        self._thread = threading.Thread(target=self._write_all, name="recording", daemon=True)
        self._thread.start()

    def decision(self, decision: Decision) -> None:
        """Records a decision; returns at once."""
        messages: list[Message] = []
        if decision.sample is not None:
            messages.append((self._first, decision.sample))
        messages += decision.others.items()
        messages += [(c.topic, c.value(decision.action, decision.stamp)) for c in self._commands]
        if decision.state is None:
            self.end_episode()
            self._put([*messages, (f"{TOPIC_PREFIX}/fault", decision.fault)])
            return
        ending, terminal = self._judged(decision.state)
        if terminal:
            self._put([*messages, *self._here(decision.state), *ending])
            self.end_episode()
            return
        limits = zip(decision.state, self._config.state_limits, strict=True)
        if self._last is None and any(not low <= x <= high for x, (low, high) in limits):
            self._put(messages)  # beyond the limits the robot is still controlled, but no episode begins there
            return
        self._put([*messages, *self._here(decision.state), *ending, (f"{TOPIC_PREFIX}/action", decision.action)])
        self._last = decision.state, decision.action

    def end_episode(self, last_state: Floats | None = None, reward: float = 0.0, terminal: bool = False) -> None:
        """The next decision begins another episode. `last_state`: the state after the last step, if it was seen."""
        if self._last is None:
            return
        if last_state is not None:
            self._put([*self._here(last_state), *_ending(reward, terminal)])
        self._last = None
        self.episode += 1

    def close(self) -> None:
        """Writes the remaining messages, and gives the file its final name."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
        self._file.close()

    def _judged(self, state: Floats) -> tuple[list[Message], bool]:
        """The reward of the step that led here, and whether it was the last one."""
        if self._last is None or self._judge is None:
            return [], False
        try:
            reward, terminal = self._judge(*self._last, state)
        except ValueError as error:
            self._tell("reward", f"a step without a reward is not a sample of {self.path}: {error}")
            self.end_episode()
            return [], False
        return _ending(reward, terminal), terminal

    def _here(self, state: Floats) -> list[Message]:
        return [(f"{TOPIC_PREFIX}/state", state), (f"{TOPIC_PREFIX}/episode", self.episode)]

    def _tell(self, what: str, line: str) -> None:
        """Warns of a problem the first time that one of its kind occurs."""
        if what not in self._told:
            self._told.add(what)
            self._warn(line)

    def _put(self, messages: list[Message]) -> None:
        if self._ended:
            return
        self._time = max(self._time + LEAST_STEP, time.time_ns())
        self._waiting.put((self._time, messages))

    def _write_all(self) -> None:
        while (item := self._waiting.get()) is not None:
            try:
                self._file.write(*item)
            except Exception as error:  # a full disk or any other error: nothing more is kept in memory
                self._ended = True
                self._tell("end", f"recording has ended, {self.path} cannot be written ({error})")
                return


def _ending(reward: float, terminal: bool) -> list[Message]:
    return [(f"{TOPIC_PREFIX}/reward", reward), (f"{TOPIC_PREFIX}/terminal", terminal)]


def problem_settings(config: RobotConfig) -> dict[str, Any]:
    """The metadata that a reader needs to make Transitions from a recording."""
    return {
        "format": RECORDING_FORMAT,
        "version": 1,
        "states": [d.name for d in config.state],
        "actions": [a.name for a in config.action],
        "action_limits": [[a.low, a.high] for a in config.action],
        "state_limits": [[repr(side) for side in row] for row in config.state_limits],
        "periodic": {str(d): list(sides) for d, sides in config.periodic.items()},
    }


class _BagFile:
    """A file of messages by topic, in one of the two formats."""

    def __init__(self, path: Path, config: RobotConfig, tell: Callable[[str, str], None]) -> None:
        if path.suffix not in SUFFIXES:
            raise ValueError(f"--record: is '{path}', must end in {' or '.join(SUFFIXES)}")
        if not path.parent.is_dir() or path.exists():
            raise ValueError(f"--record: is '{path}', must be a new file in a folder that exists")
        typesys = import_extra("rosbags.typesys", "ros")
        self._tell = tell
        self._path, self._active = path, path.with_name(path.name + ".active")
        self._ros1 = path.suffix == ".bag"
        self._store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC if self._ros1 else typesys.Stores.ROS2_HUMBLE)
        if self._active.exists():
            raise ValueError(f"--record: {self._active} is left from a recording that was killed; move it away first")
        if self._ros1:
            self._writer = import_extra("rosbags.rosbag1", "ros").Writer(self._active)
        else:
            rosbag2 = import_extra("rosbags.rosbag2", "ros")
            self._writer = rosbag2.Writer(self._active, version=9, storage_plugin=rosbag2.StoragePlugin.MCAP)
        self._writer.open()
        types = {f"{TOPIC_PREFIX}/{name}": type for name, type in TYPES.items()}
        types |= {topic: type_of(kind) for topic, kind in config.sources.items()}
        types |= {command.topic: command.type for command in command_topics(config)}
        for topic, kind in types.items():
            if kind not in self._store.types:
                tell(topic, f"{topic} is left out of {path}: its type {kind} is not known")
        self._types = {topic: kind for topic, kind in types.items() if kind in self._store.types}
        add = self._writer.add_connection
        self._topics = {topic: add(topic, kind, typestore=self._store) for topic, kind in self._types.items()}
        # rosbags compiles a type when it is first used; doing so later would delay the robot by a tenth of a second.
        for kind, value in (EXAMPLES | {kind: None for kind in self._types.values() if kind not in EXAMPLES}).items():
            self._raw(kind, value)

    def write(self, stamp: int, messages: list[Message]) -> None:
        for topic, value in messages:
            if topic not in self._types:
                continue
            try:
                raw = self._raw(self._types[topic], value)
            except (struct.error, OverflowError, ValueError) as error:
                self._tell(topic, f"a message of {topic} does not fit into {self._path} and is left out ({error})")
                continue
            ends_step = topic in (f"{TOPIC_PREFIX}/reward", f"{TOPIC_PREFIX}/terminal")
            self._writer.write(self._topics[topic], stamp - LEAD if ends_step else stamp, raw)

    def close(self) -> None:
        if not self._active.exists():
            return
        self._writer.close()
        if self._ros1:
            os.replace(self._active, self._path)
            return
        (file,) = self._active.glob("*.mcap")
        os.replace(file, self._path)
        shutil.rmtree(self._active)

    def _raw(self, kind: str, value: Any) -> Any:
        message = recorded_message(self._store, kind, value)
        return self._store.serialize_ros1(message, kind) if self._ros1 else self._store.serialize_cdr(message, kind)
