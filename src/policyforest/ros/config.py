"""robot.toml: what a robot's topics and joints mean as states and actions, how often to act, and what is safe.

| table | what it says |
|---|---|
| ``[robot]`` | name, transport, the topic of the joints, the rate, when a state is too old |
| ``[[state]]`` | one a dimension of the state: value = scale * raw + offset, then wrapped |
| ``[[action]]`` | one a dimension of the action: its topic, and the safe action |
| ``[episode]`` | for learning: steps, reward, end, and how the robot is brought back |

Everything that is wrong in a file is named at once, each with its key, what it was and what it must be.
"""

from __future__ import annotations

import keyword
import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.formulas import CONSTANTS, FUNCTIONS, Formula
from policyforest.data.readers.recordings import PREFIX
from policyforest.ros.toml_table import Table

JointField = Literal["position", "velocity", "effort"]
Angle = tuple[float, float]
HALF_TURN: Angle = (-math.pi, math.pi)
NEXT = "next_"
ON_STATE = '"state", or '


@dataclass(frozen=True)
class StateDimension:
    """One dimension of the state: ``scale * joint.field + offset``, wrapped into [low, high) where it is an angle."""

    name: str
    joint: str
    field: JointField
    scale: float = 1.0
    offset: float = 0.0
    wrap: Angle | None = None
    low: float = -math.inf
    high: float = math.inf

    def value(self, raw: float) -> float:
        """The state of a raw reading."""
        value = self.scale * raw + self.offset
        return value if self.wrap is None else wrapped(value, *self.wrap)


@dataclass(frozen=True)
class ActionDimension:
    """One dimension of the action, published on a topic of its own."""

    name: str
    topic: str
    safe: float
    low: float
    high: float


@dataclass(frozen=True)
class EpisodeSettings:
    """How to learn on the robot. Formulas know the state before a step by its names, the state after it with ``next_``
    before them, and the action."""

    steps: int
    reward: Formula
    terminal: Formula | None
    terminal_reward: float | None
    """What a terminal step pays in place of the reward"""
    reset_service: str | None
    reset_topic: str | None
    reset_values: tuple[float, ...]
    """What is published on the reset topic"""
    reset_timeout: float
    settle: float
    """Seconds that the robot is left alone after a reset"""
    lock_step: bool
    """Whether the robot is a simulator that stands still until it is commanded"""
    r_max: float | None
    discount: float | None


@dataclass(frozen=True)
class RobotConfig:
    """A robot as its configuration describes it."""

    name: str
    transport: Literal["ros1", "dds"]
    joint_states: str
    rate: float | None
    """Actions a second; None: one for each state that arrives"""
    max_age: float
    """Seconds after which a state is too old to act on"""
    age_by: Literal["arrival", "stamp"]
    state: tuple[StateDimension, ...]
    action: tuple[ActionDimension, ...]
    episode: EpisodeSettings | None

    @property
    def safe_action(self) -> tuple[float, ...]:
        return tuple(a.safe for a in self.action)

    @property
    def action_space(self) -> Box:
        return Box(np.array([a.low for a in self.action]), np.array([a.high for a in self.action]), dtype=np.float64)

    @property
    def state_limits(self) -> list[list[float]]:
        """The states that are not terminal; an angle has its turn."""
        return [[*d.wrap] if d.wrap is not None else [d.low, d.high] for d in self.state]

    @property
    def periodic(self) -> dict[int, Angle]:
        return {i: d.wrap for i, d in enumerate(self.state) if d.wrap is not None}


def load_config(path: str | os.PathLike[str]) -> RobotConfig:
    """Reads a configuration; a ValueError names all that is wrong in it."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, numbers of 5,000 digits, brackets in brackets
        raise ValueError(f"{file}: is not TOML ({error})") from error
    return parse_config(content, str(file))


def parse_config(content: Mapping[str, Any], source: str = "config") -> RobotConfig:
    """A configuration from the tables of a TOML file."""
    problems: list[str] = []
    root = Table(content, "", problems)
    robot = root.table("robot")
    states = tuple(_state(table) for table in root.tables("state"))
    actions = tuple(_action(table) for table in root.tables("action"))
    config = RobotConfig(
        name=robot.text("name", "policyforest", pattern=r"[A-Za-z]\w*"),
        transport=cast(Any, robot.choice("transport", ("ros1", "dds"), "ros1")),
        joint_states=robot.topic("joint_states"),
        rate=None if robot.raw("rate") == "state" else robot.number("rate", above=0.0, most=10_000.0, instead=ON_STATE),
        max_age=robot.number("max_age", 0.5, above=0.0),
        age_by=cast(Any, robot.choice("age_by", ("arrival", "stamp"), "arrival")),
        state=states,
        action=actions,
        episode=_episode(root.table("episode"), states, actions) if "episode" in content else None,
    )
    robot.finish()
    root.finish()
    problems += [*_wrong_names(config), *_wrong_topics(config)]
    if problems:
        raise ValueError(f"{source}: {'; '.join(problems)}")
    return config


def wrapped(value: float, low: float, high: float) -> float:
    """The angle in [low, high) that is `value` but for whole turns."""
    if low <= value < high:
        return value
    turn = high - low
    inside = value - turn * math.floor((value - low) / turn)
    return inside if low <= inside < high else low


def _wrong_names(config: RobotConfig) -> Iterator[str]:
    """Names that a formula could not tell apart."""
    states = [d.name for d in config.state]
    own = [*states, *(a.name for a in config.action)]
    names = [*own, *(NEXT + name for name in states)]
    for name in sorted({n for n in own if names.count(n) > 1}):
        problem = f"is there more than once, must be unique among state and action, and state with {NEXT} before it"
        yield f"name: {name!r} {problem}"
    for name in sorted({n for n in own if n in CONSTANTS or n in FUNCTIONS or keyword.iskeyword(n)}):
        yield f"name: {name!r} means something else in a formula, must be another"


def _wrong_topics(config: RobotConfig) -> Iterator[str]:
    """Topics that would carry two things at once."""
    given = [("robot.joint_states", config.joint_states)]
    given += [(f"action[{i}].topic", action.topic) for i, action in enumerate(config.action)]
    if config.episode is not None and config.episode.reset_topic is not None:
        given.append(("episode.reset_topic", config.episode.reset_topic))
    seen: dict[str, str] = {}
    for key, topic in given:
        whole = "/" + topic.lstrip("/")
        if whole.startswith(PREFIX + "/"):
            yield f"{key}: is {topic!r}, must not lie below {PREFIX}, where recordings keep their own"
        if whole in seen:
            yield f"{key}: is {topic!r}, must be another than that of {seen[whole]}"
        seen.setdefault(whole, key)


def _state(table: Table) -> StateDimension:
    given = table.raw("wrap")
    wrap = None if given is None or given is False else HALF_TURN if given is True else table.pair("wrap")
    low, high = table.number("low", -math.inf), table.number("high", math.inf)
    if not low < high:
        table.wrong("low", low, f"below high, {high}")
    if wrap is not None and (low, high) != (-math.inf, math.inf):
        table.wrong("low, high", (low, high), "left out where wrap is given: a turn has no ends")
    scale = table.number("scale", 1.0)
    if scale == 0.0:
        table.wrong("scale", scale, "other than 0")
    dimension = StateDimension(
        name=table.text("name", pattern=r"[A-Za-z]\w*"),
        joint=table.text("joint"),
        field=cast(Any, table.choice("field", ("position", "velocity", "effort"))),
        scale=scale,
        offset=table.number("offset", 0.0),
        wrap=wrap,
        low=low,
        high=high,
    )
    table.finish()
    return dimension


def _action(table: Table) -> ActionDimension:
    low, high, safe = table.number("low"), table.number("high"), table.number("safe")
    if not low < high:
        table.wrong("low", low, f"below high, {high}")
    if not low <= safe <= high:
        table.wrong("safe", safe, f"within low and high, [{low}, {high}]")
    action = ActionDimension(table.text("name", pattern=r"[A-Za-z]\w*"), table.topic("topic"), safe, low, high)
    table.finish()
    return action


def _episode(
    table: Table, states: tuple[StateDimension, ...], actions: tuple[ActionDimension, ...]
) -> EpisodeSettings | None:
    names = [d.name for d in states] + [NEXT + d.name for d in states] + [a.name for a in actions]
    service = table.topic("reset_service") if "reset_service" in table else None
    topic = table.topic("reset_topic") if "reset_topic" in table else None
    if (service is None) == (topic is None):
        table.wrong("reset_service, reset_topic", (service, topic), "exactly one of the two")
    if service is not None and "reset_values" in table:
        table.wrong("reset_values", table.raw("reset_values"), "left out with reset_service: it takes none")
    reward = table.formula("reward", names)
    settings = EpisodeSettings(
        steps=table.whole_number("steps", 100, least=1),
        reward=reward,
        terminal=table.formula("terminal", names) if "terminal" in table else None,
        terminal_reward=table.number("terminal_reward") if "terminal_reward" in table else None,
        reset_service=service,
        reset_topic=topic,
        reset_values=table.numbers("reset_values", ()),
        reset_timeout=table.number("reset_timeout", 10.0, above=0.0),
        settle=table.number("settle", 0.0, least=0.0),
        lock_step=table.flag("lock_step", False),
        r_max=table.number("r_max") if "r_max" in table else None,
        discount=table.number("discount", least=0.0, below=1.0) if "discount" in table else None,
    )
    table.finish()
    return settings
