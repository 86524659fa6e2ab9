"""robot.toml: what a robot's topics and joints mean as states and actions, how often to act, and what is safe.

| table | contents |
|---|---|
| ``[robot]`` | name, transport, the topic of the joints, the rate, when a state is too old |
| ``[[state]]`` | one per dimension of the state: value = scale * raw + offset, then wrapped |
| ``[[action]]`` | one per dimension of the action: its topic and message, and the safe action |
| ``[[qos]]`` | one per topic whose quality of service is not the default |
| ``[episode]`` | for learning: steps, reward, end, and how the robot is brought back |

An error lists all mistakes of a file at once, each with its key, its value and what it must be. The tables are plain
dataclasses; pydantic reads their annotations when a file is parsed, and never when a node runs.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.angles import turned_half_open
from policyforest._support.formulas import Formula
from policyforest.data.readers.columns import NEXT
from policyforest.ros import config_checks as check
from policyforest.ros import config_keys as keys
from policyforest.ros.config_keys import NAME, TOPIC, problems_of, pydantic
from policyforest.ros.config_topics import texts, wrong_messages, wrong_names, wrong_topics, wrong_with_transport
from policyforest.ros.message_fields import PATH, TYPE, TYPE_OF_KIND, full_type
from policyforest.ros.transport import Durability, MessageKind, Qos, Reliability, TransportName, whole_topic

AgeBy = Literal["arrival", "stamp"]
Finite = Annotated[float, keys.number()]
Angle = tuple[Finite, Finite]
FORMULA = keys.described("a formula, as text")
AT_LEAST_ONE = pydantic.AfterValidator(check.at_least_one)
ALSO_DEFAULT = pydantic.Field(validate_default=True)
FORBID_OTHERS = {"extra": "forbid"}
"""For pydantic: a key that a table does not know is an error"""


@dataclass(frozen=True)
class StateDimension:
    """One dimension of the state: ``scale * raw + offset``, wrapped into [low, high) if it is an angle. The raw number
    is a field of a joint, or any number of a message by its path."""

    __pydantic_config__ = FORBID_OTHERS
    name: Annotated[str, keys.text(NAME)]
    joint: Annotated[str | None, keys.text()] = None
    field: Annotated[str, pydantic.AfterValidator(check.state_field), ALSO_DEFAULT, keys.described("text")] = ""
    scale: Annotated[Finite, pydantic.AfterValidator(check.other_than_zero)] = 1.0
    offset: Finite = 0.0
    wrap: Annotated[
        Angle | None,
        pydantic.AfterValidator(check.ascending),
        pydantic.BeforeValidator(check.turn),
        keys.described("true, or [low, high] with low below high"),
    ] = None
    low: Finite = -math.inf
    high: Annotated[Finite, pydantic.WrapValidator(check.state_limits), ALSO_DEFAULT] = math.inf
    topic: Annotated[str | None, keys.text(TOPIC)] = None
    """The topic of this dimension; None means the topic of the joints"""
    type: Annotated[str | None, keys.text(TYPE), pydantic.AfterValidator(check.state_type), ALSO_DEFAULT] = None

    @property
    def source(self) -> str:
        """A description of the raw number."""
        return self.field if self.joint is None else f"the {self.field} of joint {self.joint!r}"

    def value(self, raw: float) -> float:
        """The state of a raw reading."""
        value = self.scale * raw + self.offset
        return value if self.wrap is None else wrapped(value, *self.wrap)


@dataclass(frozen=True)
class ActionDimension:
    """One dimension of the action; dimensions with the same topic are published in one message."""

    __pydantic_config__ = FORBID_OTHERS
    name: Annotated[str, keys.text(NAME)]
    topic: Annotated[str, keys.text(TOPIC)]
    safe: Finite
    low: Finite
    high: Annotated[Finite, pydantic.AfterValidator(check.action_limits)]
    type: Annotated[str, keys.text(TYPE)] = "std_msgs/Float64"
    field: Annotated[str | None, keys.text(PATH)] = None
    joint: Annotated[str | None, keys.text()] = None
    duration: Annotated[float, keys.number(above=0.0), pydantic.AfterValidator(check.action_message), ALSO_DEFAULT] = (
        0.1
    )
    """Seconds within which a trajectory must reach its point"""


@dataclass(frozen=True, kw_only=True)
class QosSettings:
    """The quality of service of one topic."""

    __pydantic_config__ = FORBID_OTHERS
    topic: Annotated[str, keys.text(TOPIC)]
    reliability: Annotated[Reliability | None, keys.choice(Reliability)] = None
    durability: Annotated[Durability | None, keys.choice(Durability)] = None
    depth: Annotated[int | None, keys.integer(least=1, most=10_000)] = None


@dataclass(frozen=True, kw_only=True)
class EpisodeSettings:
    """How to learn on the robot.

    Formulas can use the state before a step by its names, the state after the step by these names with the prefix
    ``next_``, and the action."""

    __pydantic_config__ = FORBID_OTHERS
    steps: Annotated[int, keys.integer(least=1)] = 100
    reward: Annotated[Formula, pydantic.PlainValidator(check.formula), FORMULA]
    terminal: Annotated[Formula | None, pydantic.PlainValidator(check.formula), FORMULA] = None
    terminal_reward: Annotated[float | None, keys.number()] = None
    """The reward of a terminal step, instead of that of the formula"""
    reset_service: Annotated[str | None, keys.text(TOPIC)] = None
    reset_topic: Annotated[str | None, keys.text(TOPIC), pydantic.AfterValidator(check.one_reset), ALSO_DEFAULT] = None
    reset_values: Annotated[
        tuple[Finite, ...], pydantic.BeforeValidator(check.values_of_topic), keys.described("a list of finite numbers")
    ] = ()
    """The values that are published on the reset topic"""
    reset_timeout: Annotated[float, keys.number(above=0.0)] = 10.0
    settle: Annotated[float, keys.number(least=0.0)] = 0.0
    """Seconds to wait after a reset"""
    lock_step: Annotated[bool, keys.flag()] = False
    """Whether the robot is a simulator that stands still until it is commanded"""
    r_max: Annotated[float | None, keys.number()] = None
    discount: Annotated[float | None, keys.number(least=0.0, below=1.0)] = None


@dataclass(frozen=True, kw_only=True)
class RobotSettings:
    """The table ``[robot]``."""

    __pydantic_config__ = FORBID_OTHERS
    name: Annotated[str, keys.text(NAME)] = "policyforest"
    transport: Annotated[TransportName, keys.choice(TransportName)] = "ros1"
    joint_states: Annotated[str | None, keys.text(TOPIC)] = None
    rate: Annotated[
        float | None,
        keys.number(above=0.0, most=10_000.0, instead='"state", or '),
        pydantic.BeforeValidator(check.rate_or_state),
    ]
    """Actions per second; None: one for each state that arrives"""
    max_age: Annotated[float, keys.number(above=0.0)] = 0.5
    """Seconds after which a state is too old to act on"""
    age_by: Annotated[AgeBy, keys.choice(AgeBy)] = "arrival"
    lifecycle: Annotated[bool, keys.flag()] = False
    """Whether to be a lifecycle node of ROS 2"""


@dataclass(frozen=True, kw_only=True)
class RobotConfig(RobotSettings):
    """A robot as its configuration describes it."""

    state: tuple[StateDimension, ...]
    action: tuple[ActionDimension, ...]
    episode: EpisodeSettings | None
    qos: tuple[QosSettings, ...] = ()

    @property
    def sources(self) -> dict[str, MessageKind]:
        """The topics of the state and their kinds, in the order of the file.

        If there is one action for each state, an action follows each message of the first topic."""
        return {self.topic_of(d): "joints" if d.type is None else _kind(d.type) for d in self.state}

    def topic_of(self, dimension: StateDimension) -> str:
        topic = dimension.topic or self.joint_states
        assert topic is not None  # refused when the file is read
        return topic

    @property
    def qos_by_topic(self) -> dict[str, Qos]:
        return {whole_topic(q.topic): Qos(q.reliability, q.durability, q.depth) for q in self.qos}

    @property
    def safe_action(self) -> tuple[float, ...]:
        return tuple(a.safe for a in self.action)

    @property
    def action_space(self) -> Box:
        return Box(np.array([a.low for a in self.action]), np.array([a.high for a in self.action]), dtype=np.float64)

    @property
    def state_limits(self) -> list[list[float]]:
        """Rows (low, high) of the states that are not terminal; for an angle, the limits of its turn."""
        return [[*d.wrap] if d.wrap is not None else [d.low, d.high] for d in self.state]

    @property
    def periodic(self) -> dict[int, Angle]:
        return {i: d.wrap for i, d in enumerate(self.state) if d.wrap is not None}


@dataclass(frozen=True)
class RobotFile:
    """The tables of a file."""

    __pydantic_config__ = FORBID_OTHERS
    robot: RobotSettings
    state: Annotated[tuple[StateDimension, ...], AT_LEAST_ONE, keys.described("at least one [[state]]")]
    action: Annotated[tuple[ActionDimension, ...], AT_LEAST_ONE, keys.described("at least one [[action]]")]
    qos: tuple[QosSettings, ...] = ()
    episode: EpisodeSettings | None = None


TABLES: dict[str, type] = {"": RobotFile, "robot": RobotSettings, "state": StateDimension}
TABLES |= {"action": ActionDimension, "qos": QosSettings, "episode": EpisodeSettings}
FILE = pydantic.TypeAdapter(RobotFile)


def load_config(path: str | os.PathLike[str]) -> RobotConfig:
    """Reads a configuration; a ValueError lists all its mistakes, and a FileNotFoundError names a path that is not a
    file."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise FileNotFoundError(f"config: is '{file}', must be a file") from None
    except (ValueError, RecursionError) as error:  # not TOML or UTF-8, numbers of 5,000 digits, deeply nested brackets
        raise ValueError(f"{file}: is not TOML ({error})") from error
    return parse_config(content, str(file))


def parse_config(content: Mapping[str, Any], source: str = "config") -> RobotConfig:
    """A configuration from the tables of a TOML file."""
    tables = {"robot": {}, "state": [], "action": []} | dict(content)
    states = list(texts(tables, "state", "name", NAME).values())
    actions = list(texts(tables, "action", "name", NAME).values())
    problems: list[str] = []
    try:
        file = FILE.validate_python(tables, context={"names": [*states, *(NEXT + name for name in states), *actions]})
    except pydantic.ValidationError as error:
        problems += dict.fromkeys(problems_of(error, TABLES, tables))  # two wrong numbers of a list are one problem
    problems += [*wrong_names(states, actions), *wrong_topics(tables), *wrong_messages(tables)]
    problems += wrong_with_transport(tables)
    if problems:
        raise ValueError(f"{source}: {'; '.join(problems)}")
    return RobotConfig(**vars(file.robot), state=file.state, action=file.action, episode=file.episode, qos=file.qos)


def wrapped(value: float, low: float, high: float) -> float:
    """The angle in [low, high) that differs from `value` by whole turns; an angle in that range is returned
    unchanged."""
    return value if low <= value < high else turned_half_open(value, low, high)


def _kind(type_name: str) -> MessageKind:
    """The kind of a state's topic; only joints have a kind of their own, all others are read by path."""
    full = full_type(type_name)
    return "joints" if full == TYPE_OF_KIND["joints"] else full
