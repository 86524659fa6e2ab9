"""Finds the columns of a log, by the names that the user gave or by their usual names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from policyforest._support.formulas import CONSTANTS, FUNCTIONS, Expression
from policyforest.data.readers.columns import NEXT, Columns, TerminalMarks

# The usual names of columns, in the order in which they are looked for.
STATE_FAMILIES, ACTION_FAMILIES = ("state", "observation", "obs", "s"), ("action", "act", "a", "u")
SINGLE = {
    "reward": ("reward", "rewards", "r"),
    "terminal": ("terminal", "terminals", "terminated", "termination", "terminations", "done", "dones"),
    "truncated": ("truncated", "truncation", "truncations", "timeout", "timeouts"),
    "episode": ("episode", "episodes", "episode_id", "trajectory", "trajectory_id"),
    "time": ("time", "timestamp", "t", "stamp", "time_s"),
}


@dataclass(frozen=True)
class Column:
    """A column of the log and the name it has in formulas."""

    name: str
    source: str


@dataclass(frozen=True)
class ResolvedColumns:
    """The roles of a log's columns; `others` are the columns that only formulas use."""

    state: tuple[Column, ...]
    action: tuple[Column, ...]
    next_state: tuple[Column, ...] = ()
    reward: Column | Expression | None = None
    terminal: Column | Expression | None = None
    truncated: Column | None = None
    episode: Column | None = None
    time: Column | None = None
    others: tuple[Column, ...] = ()
    terminal_marks: TerminalMarks = "step"
    guessed: tuple[str, ...] = field(default=())
    """The roles that were found by their names"""

    @property
    def numbers(self) -> tuple[Column, ...]:
        """All columns that are read as numbers."""
        reward = (self.reward,) if isinstance(self.reward, Column) else ()
        return (*self.state, *self.action, *self.next_state, *reward, *self.others)

    @property
    def required(self) -> frozenset[str]:
        """Names of the columns without which a row cannot be used; a row without an action can be the last state."""
        return frozenset(column.name for column in (*self.state, *self.next_state))


def resolve(wanted: Columns, present: Sequence[str]) -> ResolvedColumns:
    """The columns of a log whose sources are `present`."""
    found = _Found(present)
    state = found.given("state", wanted.state) or found.numbered("state", STATE_FAMILIES)
    action = found.given("action", wanted.action) or found.numbered("action", ACTION_FAMILIES)
    for role, columns, option in (("state", state, "--state"), ("action", action, "--action")):
        if not columns:
            message = f"name its columns ({option} a,b or {role}=['a', 'b']); there are {_list(present)}"
            raise ValueError(f"{role}: is not given and no column is called {role}_0; {message}")
    _require_distinct([*state, *action])
    named = {column.name: column for column in (*state, *action)}
    next_state = found.next_state(wanted, state)
    reward = found.column_or_formula("reward", wanted.reward, named)
    terminal = found.column_or_formula("terminal", wanted.terminal, named)
    resolved = ResolvedColumns(
        state,
        action,
        next_state,
        reward,
        terminal,
        found.single("truncated", wanted.truncated),
        found.single("episode", wanted.episode),
        found.single("time", wanted.time),
        terminal_marks=wanted.terminal_marks or ("state" if isinstance(terminal, Expression) else "step"),
    )
    return replace(resolved, others=found.others(resolved, named), guessed=tuple(found.guessed))


class _Found:
    """Looks up columns among those of the log."""

    def __init__(self, present: Sequence[str]) -> None:
        self.present = list(present)
        self.guessed: list[str] = []

    def given(self, role: str, texts: Sequence[str] | None) -> tuple[Column, ...]:
        return tuple(self._column(role, text) for text in texts or ())

    def next_state(self, wanted: Columns, state: Sequence[Column]) -> tuple[Column, ...]:
        """A column for each state, or none at all."""
        columns = self.given("next_state", wanted.next_state)
        if not columns and wanted.state is None:
            columns = self.numbered("next_state", tuple(NEXT + name for name in STATE_FAMILIES))
        if columns and len(columns) != len(state):
            raise ValueError(f"next_state: has {len(columns)} columns, must have one for each of {len(state)} states")
        return tuple(Column(NEXT + s.name, n.source) for s, n in zip(state, columns, strict=bool(columns)))

    def single(self, role: str, text: str | None) -> Column | None:
        if text is not None:
            return self._column(role, text)
        lower = {source.lower(): source for source in reversed(self.present)}
        for name in SINGLE[role]:
            if name in lower:
                self.guessed.append(role)
                return Column(role, lower[name])
        return None

    def column_or_formula(self, role: str, text: str | None, named: dict[str, Column]) -> Column | Expression | None:
        if text is None:
            return self.single(role, None)
        if text in named:
            return named[text]
        name, _, source = text.rpartition("=")
        if text in self.present or (source in self.present and name.isidentifier()):
            return self._column(role, text)
        try:
            return Expression(text)
        except ValueError as error:
            reason = str(error).removeprefix("expression: ")
            raise ValueError(f"{role}: is {text!r}, must be a column or a formula ({reason})") from None

    def numbered(self, role: str, families: tuple[str, ...]) -> tuple[Column, ...]:
        """Columns called state_0, state_1, …, or state alone."""
        for family in families:
            pattern = re.compile(rf"{family}(?:_?(\d{{1,4}})|\[(\d{{1,4}})\])?", re.IGNORECASE)
            matches = [(match, source) for source in self.present if (match := pattern.fullmatch(source))]
            if matches:
                self.guessed.append(role)
                matches.sort(key=lambda pair: int(pair[0][1] or pair[0][2] or 0))
                stem = role if len(matches) == 1 and not (matches[0][0][1] or matches[0][0][2]) else None
                return tuple(Column(stem or f"{role}_{i}", source) for i, (_, source) in enumerate(matches))
        return ()

    def others(self, columns: ResolvedColumns, named: dict[str, Column]) -> tuple[Column, ...]:
        """The columns that formulas use in addition to the state and the action."""
        extra: dict[str, Column] = {}
        for role, formula in (("reward", columns.reward), ("terminal", columns.terminal)):
            if not isinstance(formula, Expression):
                continue
            for name in sorted(formula.names - named.keys()):
                if name.removeprefix(NEXT) in {c.name for c in columns.state} and name.startswith(NEXT):
                    continue
                if name not in self.present:
                    states = ", ".join(NEXT + c.name for c in columns.state)
                    message = f"there are {_list([*named, *self.present])}, and {states} of the next row"
                    raise ValueError(
                        f"{role}: is {formula.text!r} and names {name!r}, which is not a column; {message}"
                    )
                extra[name] = Column(name, name)
        return tuple(extra.values())

    def _column(self, role: str, text: str) -> Column:
        if text in self.present:
            return Column(text, text)
        name, equals, source = text.partition("=")
        if not equals:
            name, source = text, text
        elif not name.isidentifier() or name in CONSTANTS or name in FUNCTIONS:
            raise ValueError(f"{role}: is {text!r}, must be a column or name=column with a name for formulas")
        if source not in self.present:
            near = difflib.get_close_matches(source, self.present, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"{role}: is {source!r}, which is not a column{hint}; the columns are {_list(self.present)}"
            )
        return Column(name, source)


def _require_distinct(columns: Iterable[Column]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise ValueError(f"state, action: {column.name!r} is named twice, must be either a state or an action")
        seen.add(column.name)


def _list(names: Iterable[str], most: int = 30) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:most]) + (f" and {len(unique) - most} more" if len(unique) > most else "")
