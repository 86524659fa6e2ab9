"""Checks of robot.toml that types cannot express: values that depend on another key, and formulas.

The checks are validators of pydantic. Each validator finds the keys before its own in `info.data`. Keys that are
themselves wrong are missing there, and checks that need them are skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from policyforest._support.formulas import Formula
from policyforest.ros.config_keys import WrongKeyError
from policyforest.ros.message_fields import FLOAT, FLOATS, JOINT_STATE, PATH, TYPE, full_type

if TYPE_CHECKING:
    from pydantic import ValidationInfo

JOINT_FIELDS = ("position", "velocity", "effort")
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
TRAJECTORY_FIELDS = ("positions", "velocities", "accelerations", "effort")
HALF_TURN = (-math.pi, math.pi)


def rate_or_state(value: Any) -> Any:
    """The rate; None for "state", which means one action for each state."""
    return None if isinstance(value, str) and value == "state" else value


def turn(value: Any) -> Any:
    """The range of an angle: ``true`` is one turn about 0, and ``false`` is no range."""
    return HALF_TURN if value is True else None if value is False else value


def ascending(pair: tuple[float, float] | None) -> tuple[float, float] | None:
    if pair is not None and not pair[0] < pair[1]:
        raise ValueError
    return pair


def other_than_zero(scale: float) -> float:
    if scale == 0.0:
        raise WrongKeyError(f"is {scale!r}, must be other than 0")
    return scale


def at_least_one(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    if not entries:
        raise ValueError
    return entries


def state_limits(value: Any, check: Callable[[Any], float], info: ValidationInfo) -> float:
    """The high end of a state. Only the default may be infinite; an infinity from a file is a different object."""
    high = value if value is math.inf else check(value)
    low, wrap = info.data.get("low"), info.data.get("wrap")
    if low is not None and wrap is not None and (low, high) != (-math.inf, math.inf):
        problem = f"is {(low, high)!r}, must be left out where wrap is given: a turn has no ends"
        raise WrongKeyError(problem, "low, high")
    _require_below(low, high)
    return high


def action_limits(high: float, info: ValidationInfo) -> float:
    """The high end of an action; the safe action must lie within the limits."""
    low, safe = info.data.get("low"), info.data.get("safe")
    _require_below(low, high)
    if low is not None and safe is not None and not low <= safe <= high:
        raise WrongKeyError(f"is {safe!r}, must be within low and high, [{low}, {high}]", "safe")
    return high


def state_field(field: str, info: ValidationInfo) -> str:
    """The field of a joint, or the path of a number in a message."""
    joints = ", ".join(map(repr, JOINT_FIELDS))
    if not field:
        raise WrongKeyError(f"is missing, must be one of {joints}, or the path of a number with topic and type")
    if info.data.get("joint") is not None and field not in JOINT_FIELDS:
        raise WrongKeyError(f"is {field!r}, must be one of {joints} where joint is given")
    if not re.fullmatch(PATH, field):
        raise WrongKeyError(f"is {field!r}, must be text that matches {PATH}")
    return field


def state_type(name: str | None, info: ValidationInfo) -> str | None:
    """A state comes from a joint, or from a topic of a type."""
    if "joint" not in info.data or "topic" not in info.data:
        return name
    joint, topic = info.data["joint"], info.data["topic"]
    if joint is not None and name is not None and full_type(name) != JOINT_STATE:
        raise WrongKeyError(f"is {name!r}, must be left out where joint is given: joints come in {JOINT_STATE}")
    if joint is None and topic is None:
        raise WrongKeyError("is missing, must be text, or topic, type and the path of a field must be given", "joint")
    if joint is None and name is None:
        raise WrongKeyError(f"is missing, must be text that matches {TYPE}")
    if joint is None and name is not None and full_type(name) == JOINT_STATE:
        raise WrongKeyError("is missing, must be text: joints are read by their names", "joint")
    return name


def action_message(duration: float, info: ValidationInfo) -> float:
    """The keys that a message of the action's type needs besides its value."""
    if not {"type", "field", "joint"} <= info.data.keys():
        return duration
    name, field, joint = full_type(info.data["type"]), info.data["field"], info.data["joint"]
    if name in (FLOAT, FLOATS) and field is not None:
        raise WrongKeyError(f"is {field!r}, must be left out with {name}", "field")
    if name != TRAJECTORY and joint is not None:
        raise WrongKeyError(f"is {joint!r}, must be left out with {name}", "joint")
    if name == TRAJECTORY and joint is None:
        raise WrongKeyError(f"is missing, must be text with {name}", "joint")
    if name == TRAJECTORY and field is not None and field not in TRAJECTORY_FIELDS:
        raise WrongKeyError(f"is {field!r}, must be one of {', '.join(map(repr, TRAJECTORY_FIELDS))}", "field")
    if name not in (FLOAT, FLOATS, TRAJECTORY) and field is None:
        raise WrongKeyError(f"is missing, must be the path of a number in {name}", "field")
    return duration


def formula(value: Any, info: ValidationInfo) -> Formula:
    """A formula over the names in the context of the validation."""
    if not isinstance(value, str):
        raise ValueError
    assert info.context is not None
    try:
        return Formula(value, info.context["names"])
    except ValueError as error:
        raise WrongKeyError(str(error)) from None


def one_reset(topic: str | None, info: ValidationInfo) -> str | None:
    """The reset topic; a robot is brought back either by a service or by a topic."""
    service = info.data.get("reset_service")
    if "reset_service" in info.data and (service is None) == (topic is None):
        raise WrongKeyError(f"is {(service, topic)!r}, must be exactly one of the two", "reset_service, reset_topic")
    return topic


def values_of_topic(value: Any, info: ValidationInfo) -> Any:
    """The values of a reset topic; a reset service takes no values."""
    if info.data.get("reset_service") is not None:
        raise WrongKeyError(f"is {value!r}, must be left out with reset_service: it takes none")
    return value


def _require_below(low: float | None, high: float) -> None:
    if low is not None and not low < high:
        raise WrongKeyError(f"is {low!r}, must be below high, {high}", "low")
