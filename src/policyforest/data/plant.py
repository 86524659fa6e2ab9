"""The plant: what is known about a system besides its samples. Learners use it exactly instead of learning it.

Columns have names, so that a reward or an end can be written as a formula over the state, the action and the next
state: ``-(theta**2) - 0.1*u**2``, ``abs(next_theta) > 1.5``. The next state has the same names with ``next_`` before
them. Columns without names are s0, s1, … and a0, a1, …; these names always work.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from policyforest._support.arguments import Floats, whole_number
from policyforest._support.formulas import Expression
from policyforest._support.labels import ACTION_NAMES, STATE_NAMES
from policyforest._support.signals import Signals
from policyforest.data.known_functions import Known

NEXT = "next_"
KnownFunction = str | Known
"""A formula, or a function of rows (states, actions, next_states) that returns one number per row"""


@dataclass(frozen=True)
class Plant:
    """What is known about a system in addition to its samples.

    Args:
        state_names: One name per state dimension; empty: s0, s1, …
        action_names: One name per action dimension; empty: a0, a1, …
        reward: The reward of a step as a formula or a function of rows, if it is known.
        terminal: The same for terminal steps.
        signals: How measurements became these states, if the states are not the measurements themselves.
        exogenous: Names of states that the system does not influence (set points, disturbances); None: found from the
            samples.
        delay: Control steps by which commands act late, if the state holds the pending commands.
        follows: Pairs (name, source) of states whose next value is known: it is the present value of the source. The
            source of a set point that is held is the set point itself; the source of a previewed set point is the
            column that holds its next value.
    """

    state_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    reward: KnownFunction | None = field(default=None)
    terminal: KnownFunction | None = field(default=None)
    signals: Signals | None = field(default=None)
    exogenous: tuple[str, ...] | None = None
    delay: int = 0
    follows: tuple[tuple[str, str], ...] = ()

    def named(self, n_states: int, n_actions: int) -> Plant:
        """The same plant with a name for every dimension; its formulas are checked."""
        states = self.state_names or tuple(f"s{d}" for d in range(n_states))
        actions = self.action_names or tuple(f"a{d}" for d in range(n_actions))
        for role, names, count in (("state_names", states, n_states), ("action_names", actions, n_actions)):
            if len(names) != count or not all(isinstance(name, str) for name in names):
                raise ValueError(f"{role}: is {names!r}, must hold {count} names")
        if len(set(states + actions)) != len(states) + len(actions):
            raise ValueError(f"state_names, action_names: are {states + actions}, must differ from each other")
        if self.signals is not None and (self.signals.n_states, len(self.signals.actions)) != (n_states, n_actions):
            raise ValueError(f"signals: give states of {self.signals.n_states} numbers, must give {n_states}")
        past = 0 if self.signals is None else self.signals.history_actions
        whole_number("delay", self.delay, at_least=0, at_most=past)
        for role, told in (("held, previewed", sum(self.follows, ())), ("exogenous", self.exogenous or ())):
            for name in told:
                if name not in states:
                    raise ValueError(f"{role}: is {name!r}, must be one of {', '.join(states)}")
        full = replace(self, state_names=states, action_names=actions)
        for role in ("reward", "terminal"):
            full.function(role)
        return full

    @property
    def given_names(self) -> dict[str, list[str]]:
        """The names of the dimensions for the info of a policy; empty if they are only numbered."""
        numbered = all(name == f"s{d}" for d, name in enumerate(self.state_names))
        return {} if numbered else {STATE_NAMES: [*self.state_names], ACTION_NAMES: [*self.action_names]}

    @property
    def says_more(self) -> bool:
        """Whether more than the names of the columns is known."""
        known = (self.reward, self.terminal, self.signals, self.exogenous)
        return any(x is not None for x in known) or bool(self.follows)

    def function(self, role: str) -> Known | None:
        """The reward or the end as a function of rows (states, actions, next_states); None if it is not known."""
        known = getattr(self, role)
        if known is None or not isinstance(known, str):
            if known is not None and not callable(known):
                raise TypeError(f"{role}: is {known!r}, must be a formula or a function of (s, a, s')")
            return known
        return StepFormula(role, known, self.state_names, self.action_names)

    def settings(self) -> dict[str, Any]:
        """The parts that are plain data, for files; functions are left out."""
        for role in ("reward", "terminal"):
            if callable(getattr(self, role)):
                text = f"{role}: is a Python function, which no file can hold; write it as a formula to keep it"
                warnings.warn(text, UserWarning, stacklevel=4)
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        told = {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items() if not callable(v)}
        return told | {"signals": None if self.signals is None else self.signals.settings()}

    @classmethod
    def from_settings(cls, content: Mapping[str, Any]) -> Plant:
        """The inverse of `settings`; content that does not fit is a ValueError."""
        if not isinstance(content, Mapping) or not content.keys() <= {f.name for f in fields(cls)}:
            raise ValueError(f"plant: is {content!r}, must be an object with known keys")
        for role in ("reward", "terminal"):
            if not isinstance(content.get(role), str | None):
                raise ValueError(f"{role}: is {content[role]!r}, must be a formula")
        for role in ("state_names", "action_names", "exogenous", "follows"):
            if not isinstance(content.get(role, []), list | None):
                raise ValueError(f"{role}: is {content[role]!r}, must be a list of names")
        given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in content.items()}
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in given.get("follows", ())):
            raise ValueError(f"follows: is {content['follows']!r}, must be a list of pairs of names")
        given["follows"] = tuple((str(name), str(source)) for name, source in given.get("follows", ()))
        if given.get("signals") is not None:
            given["signals"] = Signals.from_settings(given["signals"])
        return cls(**given)


class StepFormula:
    """A formula over named columns of (s, a, s'), as a function of rows."""

    def __init__(self, role: str, text: str, state_names: tuple[str, ...], action_names: tuple[str, ...]) -> None:
        self.role, self.text = role, text
        self._states, self._actions = state_names, action_names
        try:
            self._expression = Expression(text)
        except ValueError as error:
            raise ValueError(f"{role}: {str(error).removeprefix('expression: ')}") from None
        known = step_names(state_names, action_names)
        if unknown := sorted(self._expression.names - set(known)):
            allowed = ", ".join([*state_names, *action_names, *(NEXT + name for name in state_names)])
            raise ValueError(f"{role}: {text!r} names {', '.join(unknown)}, the known names are {allowed}")

    def __repr__(self) -> str:
        return f"StepFormula({self.text!r})"

    def __call__(self, states: Floats, actions: Floats, next_states: Floats) -> Floats:
        """One number per row; a comparison is 1 or 0."""
        columns: dict[str, Floats] = {}
        for names, first, rows in (
            (self._states, "s", states),
            (self._actions, "a", actions),
            ([NEXT + name for name in self._states], f"{NEXT}s", next_states),
        ):
            columns |= {f"{first}{d}": column for d, column in enumerate(rows.T)}
            columns |= dict(zip(names, rows.T, strict=True))
        return self._expression({name: columns[name] for name in self._expression.names} or {"s0": columns["s0"]})


def step_names(state_names: Iterable[str], action_names: Iterable[str]) -> list[str]:
    """All names that a formula over (s, a, s') may use."""
    states, actions = list(state_names), list(action_names)
    plain = [*states, *(f"s{d}" for d in range(len(states)))]
    return [*plain, *actions, *(f"a{d}" for d in range(len(actions))), *(NEXT + name for name in plain)]
