"""The options for how measurements become states: history, delay, derived signals, actuators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import numpy as np

from policyforest._support.arguments import whole_number
from policyforest._support.signal_compiler import derived_pair
from policyforest._support.signals import MOST_ROWS, Actuators, Signals, numbers_per_action
from policyforest._support.spaces import bounds
from policyforest.data.plant import Plant

if TYPE_CHECKING:
    from policyforest.data.transitions import Transitions

LONGEST_DELAY = 5


class HistoryOptions(TypedDict, total=False):
    """How measurements become states, and how commands become actions; an omitted option changes nothing.

    | option | |
    |---|---|
    | `history` | rows of measurements in the state |
    | `history_actions` | past actions in the state |
    | `delay` | control steps by which commands act late, or "auto": found from the samples |
    | `derive` | derived signals, such as ``["omega = diff(theta, dt)"]`` |
    | `channels` | names of the columns that the state holds; default: all measured and derived columns |
    | `max_rate` | the largest change of each action per step |
    | `dead_zone` | commands closer to 0 than this are 0 |
    | `quantum` | actions are whole multiples of this |
    | `idle` | the action before the first one; default: 0, or the nearest to it |
    | `exogenous` | names of columns that the system does not influence: set points, disturbances |
    | `held` | exogenous columns that keep their value in a plan; others are drawn from the samples |
    | `previewed` | exogenous columns with a measured next value, such as ``["setpoint = setpoint_ahead"]`` |
    """

    history: int
    history_actions: int
    delay: int | Literal["auto"]
    derive: Sequence[str]
    channels: Sequence[str]
    max_rate: float | Sequence[float]
    dead_zone: float | Sequence[float]
    quantum: float | Sequence[float]
    idle: float | Sequence[float]
    exogenous: Sequence[str]
    held: Sequence[str]
    previewed: Sequence[str]


class SignalOptions(HistoryOptions, total=False):
    """`HistoryOptions`, and `period`: seconds of a control step, `dt` in formulas."""

    period: float


def require_signal_options(name: str, given: Mapping[str, object]) -> None:
    """Raises an error that names arguments which are no options for signals; `name` has been called with them."""
    if unknown := sorted(given.keys() - SignalOptions.__annotations__.keys()):
        raise TypeError(f"{', '.join(unknown)}: {name} has no argument of this name")


NAMES = tuple(SignalOptions.__annotations__)


def make_signals(data: Transitions, options: SignalOptions, delay: int) -> Signals:
    """The signals of samples whose states are measurements."""
    given: dict[str, Any] = dict(options)
    unknown = given.keys() - set(NAMES)
    if unknown:
        raise TypeError(f"{', '.join(sorted(unknown))}: is not an option, must be one of {', '.join(NAMES)}")
    box = bounds(data.action_space)
    history = whole_number("history", given.get("history", 1), at_least=1)
    past = whole_number("history_actions", given.get("history_actions", 0), at_least=0)
    limits = {
        name: numbers_per_action(name, given.get(name), len(box)) for name in ("max_rate", "dead_zone", "quantum")
    }
    actuators = Actuators(**limits).checked(box)
    if delay:
        whole_number("delay", delay, at_least=0, at_most=MOST_ROWS)
        past = max(past, delay + history - 1)
    idle = numbers_per_action("idle", given.get("idle"), len(box)) or tuple(np.clip(0.0, box[:, 0], box[:, 1]).tolist())
    for j, action in enumerate(idle):
        if not box[j, 0] <= action <= box[j, 1]:
            raise ValueError(f"idle[{j}]: is {action}, must lie within {box[j].tolist()}")
    names = data.plant.state_names
    return Signals(
        measured=names,
        actions=data.plant.action_names,
        channels=tuple(given.get("channels", ())),
        derived=tuple(derived_pair(text) for text in given.get("derive", ())),
        history=history,
        history_actions=max(past, 1) if actuators.max_rate else past,
        actuators=actuators,
        idle=idle,
        period=None if given.get("period") is None else float(given["period"]),
        periodic=tuple((names[d], low, high) for d, (low, high) in data.periodic.items()),
    )


def signal_options(signals: Signals, delay: int) -> SignalOptions:
    """The options that would make these signals."""
    options: dict[str, Any] = {
        "history": signals.history,
        "history_actions": signals.history_actions,
        "delay": delay,
        "derive": [f"{name} = {formula}" for name, formula in signals.derived],
        "channels": signals.channels,
        "period": signals.period,
    }
    limits = signals.actuators
    told = {"max_rate": limits.max_rate, "dead_zone": limits.dead_zone, "quantum": limits.quantum, "idle": signals.idle}
    return cast("SignalOptions", options | {name: numbers for name, numbers in told.items() if numbers})


def with_outside_columns(plant: Plant, options: SignalOptions) -> Plant:
    """The plant with the columns that, according to the options, the system does not influence."""
    follows = [(name, name) for name in options.get("held", ())]
    for text in options.get("previewed", ()):
        name, equals, source = (part.strip() for part in text.partition("="))
        if not equals or not name or not source or name == source:
            raise ValueError(f"previewed: is {text!r}, must be 'name = column that holds its next value'")
        follows.append((name, source))
    twice = [name for i, (name, _) in enumerate(follows) if name in dict(follows[:i])]
    if twice:
        raise ValueError(f"held, previewed: name {twice[0]!r} twice, must name a column once")
    told = (*options.get("exogenous", ()), *(name for name, _ in follows))
    exogenous = tuple(dict.fromkeys(told)) if told or "exogenous" in options else plant.exogenous
    return replace(plant, exogenous=exogenous, follows=tuple(follows) or plant.follows)
