"""Signals: how measurements become the state that a policy acts on, and how its commands become actions.

The state holds the last `history` rows of the channels (measured columns and derived ones), newest first, and the last
`history_actions` actions, newest first. Commands pass the actuators: a dead zone, steps, and the largest change
from the action before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats, real_number, whole_number
from policyforest._support.signal_compiler import compile_signals
from policyforest._support.signal_formulas import SignalProgram

MOST_ROWS = 1_000
"""A state holds at most this many past rows"""


@dataclass(frozen=True)
class Actuators:
    """The effect of actuators on commands: one number per action dimension, or an empty tuple for no effect.

    Args:
        max_rate: The largest change from one step to the next; infinite for no limit.
        dead_zone: Commands closer to 0 than this are 0.
        quantum: Actions are whole multiples of this; 0 for no rounding.
    """

    max_rate: tuple[float, ...] = ()
    dead_zone: tuple[float, ...] = ()
    quantum: tuple[float, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether commands pass unchanged."""
        return not (self.max_rate or self.dead_zone or self.quantum)

    def checked(self, box: Floats) -> Actuators:
        """The same with a number for every action, or an error that names a value that does not fit the action box."""
        for name in ("max_rate", "dead_zone", "quantum"):
            numbers = getattr(self, name)
            if numbers and len(numbers) != len(box):
                raise ValueError(f"{name}: has {len(numbers)} numbers, must have one per action ({len(box)})")
            for j, number in enumerate(numbers):
                if not (name == "max_rate" and number == np.inf):
                    real_number(f"{name}[{j}]", number, at_least=0.0)
                low, high = box[j]
                if name == "max_rate" and number == 0.0:
                    raise ValueError(f"max_rate[{j}]: is 0, must be above 0: the action could never change")
                if name == "quantum" and number > 0 and np.floor(high / number) < np.ceil(low / number):
                    raise ValueError(f"quantum[{j}]: is {number:g}, no multiple of it lies in [{low:g}, {high:g}]")
                if name == "quantum" and number > 0 and np.floor(high / number) == np.ceil(low / number):
                    only = f"only one multiple of it lies in [{low:g}, {high:g}]"
                    raise ValueError(f"quantum[{j}]: is {number:g}, must be smaller: {only}")
                if name == "dead_zone" and number > 0 and not low <= 0.0 <= high:
                    raise ValueError(f"dead_zone[{j}]: is {number:g}, but 0 is not an action in [{low:g}, {high:g}]")
        for j, (rate, step) in enumerate(zip(self.max_rate, self.quantum, strict=False)):
            if step > 0 and rate < step:
                raise ValueError(f"max_rate[{j}]: is {rate:g}, must be at least the quantum {step:g}")
        return self

    def rows(self, box: Floats) -> list[dict[str, float]]:
        """The numbers of each action dimension as code needs them: bounds and rates of multiples are whole."""
        found = []
        for j, (low, high) in enumerate(box.tolist()):
            rate, dead, step = (part[j] if part else 0.0 for part in (self.max_rate, self.dead_zone, self.quantum))
            rate = rate if self.max_rate and np.isfinite(rate) else 0.0
            row = {"low": low, "high": high, "rate": rate, "dead": dead, "step": step}
            if step > 0:
                row |= {"first": float(np.ceil(low / step)), "last": float(np.floor(high / step))}
                row["steps"] = float(np.floor(rate / step + 1e-9))
            found.append(row)
        return found

    def table(self, box: Floats) -> Floats:
        """Rows (low, high, rate, dead, step, first, last, steps) for the core."""
        names = ("low", "high", "rate", "dead", "step", "first", "last", "steps")
        return np.array([[row.get(name, 0.0) for name in names] for row in self.rows(box)])

    def applied(self, commands: NDArray[Any], last: NDArray[Any], box: Floats) -> NDArray[Any]:
        """The actions that rows of commands become after rows of last actions, in the precision of the commands."""
        real = commands.dtype.type
        out = commands.copy()
        for j, row in enumerate(self.rows(box)):
            n = {key: real(value) for key, value in row.items()}
            u, before = out[:, j], last[:, j]
            if row["dead"] > 0:
                u = np.where((u < n["dead"]) & (u > -n["dead"]), real(0), u)
            if row["step"] > 0:
                count = _held(np.floor(u / n["step"] + real(0.5)), n["first"], n["last"])
                if row["rate"] > 0:
                    was = np.floor(before / n["step"] + real(0.5))
                    count = _held(_held(count, was - n["steps"], was + n["steps"]), n["first"], n["last"])
                u = count * n["step"]
            elif row["rate"] > 0:
                u = _held(u, before - n["rate"], before + n["rate"])
            out[:, j] = _held(u, n["low"], n["high"])
        return out


def _held(x: Any, low: Any, high: Any) -> Any:
    return np.where(x < low, low, np.where(x > high, high, x))


@dataclass(frozen=True)
class Signals:
    """How measurements become states, and how commands become actions; part of a saved policy.

    Args:
        measured: Names of the columns that are measured, in their order.
        actions: Names of the actions.
        channels: The measured and derived columns that the state holds; empty: all of them.
        derived: Pairs (name, formula) of columns that are computed.
        history: How many rows of the channels the state holds.
        history_actions: How many of the last actions the state holds.
        actuators: The effect of the actuators on commands.
        idle: The action before the first one, and while the history fills.
        period: The control period in seconds, `dt` in formulas.
        periodic: Measured columns that are angles, (name, low, high).
    """

    measured: tuple[str, ...]
    actions: tuple[str, ...]
    channels: tuple[str, ...] = ()
    derived: tuple[tuple[str, str], ...] = ()
    history: int = 1
    history_actions: int = 0
    actuators: Actuators = Actuators()
    idle: tuple[float, ...] = ()
    period: float | None = None
    periodic: tuple[tuple[str, float, float], ...] = ()

    def __post_init__(self) -> None:
        if not self.measured or not self.actions:
            raise ValueError("signals: measured and actions are empty, must name columns")
        whole_number("history", self.history, at_least=1, at_most=MOST_ROWS)
        whole_number("history_actions", self.history_actions, at_least=0, at_most=MOST_ROWS)
        self._require_new_names()
        names = [*self.measured, *(name for name, _ in self.derived)]
        if len({*names, *self.actions}) != len(names) + len(self.actions):
            raise ValueError(f"signals: the names {', '.join([*names, *self.actions])} must differ from each other")
        for name in self.channels:
            if name not in names:
                raise ValueError(f"channels: names {name!r}, the known names are {', '.join(names)}")
        if self.idle and len(self.idle) != len(self.actions):
            raise ValueError(f"idle: has {len(self.idle)} numbers, must have one per action ({len(self.actions)})")
        if self.period is not None and not real_number("period", self.period, at_least=0.0) > 0:
            raise ValueError(f"period: is {self.period}, must be above 0")
        if self.actuators.max_rate and self.history_actions < 1:
            raise ValueError("history_actions: is 0, must be at least 1 with max_rate: the state holds the last action")
        _ = self.program

    def _require_new_names(self) -> None:
        """Refuses derived columns with a name that is already used."""
        taken = dict.fromkeys(self.measured, "a measured column") | dict.fromkeys(self.actions, "an action")
        for name, _ in self.derived:
            if name in taken:
                raise ValueError(f"derive: {name!r} is the name of {taken[name]}, must be a new name")
            taken[name] = "another derived column"
        clashing = [name for name, _ in self.derived if self.state_names.count(name) > 1]
        if clashing:
            told = (
                f"the state holds a past row of that name (history {self.history}, {self.history_actions} past actions)"
            )
            raise ValueError(f"derive: {clashing[0]!r} must be another name, because {told}")

    @cached_property
    def program(self) -> SignalProgram:
        """The derived columns as operations."""
        turns = {name: (low, high) for name, low, high in self.periodic}
        return compile_signals(self.derived, self.measured, self.period, turns)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The columns of (measured, derived) that are channels."""
        names = [*self.measured, *(name for name, _ in self.derived)]
        return tuple(names.index(name) for name in self.channels or names)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the columns that the state holds."""
        names = [*self.measured, *(name for name, _ in self.derived)]
        return self.channels or tuple(names)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the state's dimensions: theta_1 is theta one step before."""
        rows = [[f"{n}_{i}" if i else n for n in self.channel_names] for i in range(self.history)]
        before = [[f"{n}_{j}" for n in self.actions] for j in range(1, self.history_actions + 1)]
        return tuple(name for row in [*rows, *before] for name in row)

    @property
    def n_states(self) -> int:
        """Numbers in a state."""
        return self.history * len(self.channel_names) + self.history_actions * len(self.actions)

    @property
    def warm_up(self) -> int:
        """Steps of an episode before the state is complete."""
        return self.program.warm_up + self.history - 1

    @property
    def plain(self) -> bool:
        """Whether states are the measurements, and commands are the actions."""
        same = self.channel_names == self.measured and self.history == 1 and self.history_actions == 0
        return same and self.actuators.idle

    def shift(self) -> dict[int, int]:
        """For dimensions of the next state that are copies: the dimension of (state, action) that they copy."""
        width, n = len(self.channel_names), self.n_states
        found = {d: d - width for d in range(width, self.history * width)}
        first = self.history * width
        for d in range(first, n):
            j = d - first
            found[d] = n + j if j < len(self.actions) else d - len(self.actions)
        return found

    def settings(self) -> dict[str, Any]:
        """Plain data for files, which hold no infinite numbers: a rate without a limit is the text "inf"."""
        content = asdict(self)
        rates = content["actuators"]["max_rate"]
        content["actuators"]["max_rate"] = tuple("inf" if rate == np.inf else rate for rate in rates)
        return content

    @classmethod
    def from_settings(cls, content: Any) -> Signals:
        """The inverse of `settings`; anything else is a ValueError or a TypeError."""
        names = {f.name for f in fields(cls)}
        if not isinstance(content, Mapping) or content.keys() != names:
            raise ValueError(f"signals: must be an object with {', '.join(sorted(names))}")
        given: dict[str, Any] = {name: _tuples(value) for name, value in content.items()}
        limits = given["actuators"]
        if not isinstance(limits, dict) or limits.keys() != {f.name for f in fields(Actuators)}:
            raise ValueError("signals: its actuators must have max_rate, dead_zone and quantum")
        for name in ("measured", "actions", "channels"):
            _require_all(name, given[name], str)
        if isinstance(limits["max_rate"], tuple):
            limits["max_rate"] = tuple(np.inf if rate == "inf" else rate for rate in limits["max_rate"])
        given["actuators"] = Actuators(**{k: _require_all(k, v, float) for k, v in limits.items()})
        _require_all("idle", given["idle"], float)
        for name, kinds in (("derived", (str, str)), ("periodic", (str, float, float))):
            rows = _require_all(name, given[name], tuple)
            if any(tuple(map(type, row)) != kinds for row in rows):
                raise ValueError(
                    f"signals: its {name} are {rows!r}, must be lists of {', '.join(kind.__name__ for kind in kinds)}"
                )
        return cls(**given)


def _tuples(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_tuples(item) for item in value)
    return {key: _tuples(item) for key, item in value.items()} if isinstance(value, dict) else value


def _require_all(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, tuple) or any(type(item) is not kind for item in value):
        raise ValueError(f"signals: its {name} is {value!r}, must be a list of {kind.__name__}")
    return value


def numbers_per_action(name: str, value: float | Sequence[float] | None, n_actions: int) -> tuple[float, ...]:
    """One number for all actions, or one each."""
    if value is None:
        return ()
    given = [value] * n_actions if isinstance(value, int | float | np.number) else list(value)
    return tuple(float(x) if x == np.inf else real_number(f"{name}[{j}]", x) for j, x in enumerate(given))
