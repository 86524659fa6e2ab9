"""The meaning of the columns of a log, as the user states it: the state, the action, the reward and the ends of
episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypedDict

from policyforest._support.arguments import one_of

TerminalMarks = Literal["step", "state"]
NEXT = "next_"
"""The prefix of a state's name that means its next value, in formulas and in the headers of logs"""


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a log; a column that is None is found by its usual name.

    A column is written ``name`` or ``name=source``. The name is used in formulas; the source is where the column is in
    the log (the header of a column, or a topic and a field of a bag).

    | field | |
    |---|---|
    | `state`, `action` | columns; default: those called state_0, … and action_0, … |
    | `reward` | a column, or a formula over the columns' names; ``next_`` before a state's name means its next value |
    | `terminal` | a column of true and false, or a formula: the end of the task |
    | `truncated` | a column of true and false: an end of the episode that does not end the task, such as a time limit |
    | `episode` | a column; a new episode begins where its value changes |
    | `time` | a column with seconds, or dates and times; a new episode begins where time goes back or jumps |
    | `next_state` | columns, if the log has them; default: the state of the next row |
    | `terminal_marks` | the row with a terminal flag: that of the last "step" (as in Gymnasium) or the final "state"; |
    | | default: "step" for a column, "state" for a formula |
    """

    state: Sequence[str] | None = None
    action: Sequence[str] | None = None
    reward: str | None = None
    terminal: str | None = None
    truncated: str | None = None
    episode: str | None = None
    time: str | None = None
    next_state: Sequence[str] | None = None
    terminal_marks: TerminalMarks | None = None

    def __post_init__(self) -> None:
        for role in ("state", "action", "next_state"):
            object.__setattr__(self, role, column_texts(role, getattr(self, role)))
        for role in ("reward", "terminal", "truncated", "episode", "time"):
            if getattr(self, role) is not None:
                _require_text(role, getattr(self, role))
        for role in ("state", "action", "next_state"):
            if getattr(self, role) == ():
                raise ValueError(f"{role}: is empty, must name at least one column")
        if self.terminal_marks is not None:
            one_of("terminal_marks", self.terminal_marks, ("step", "state"))


class ColumnNames(TypedDict, total=False):
    """The fields of `Columns`, as keyword arguments of a function that reads a log."""

    state: Sequence[str] | None
    action: Sequence[str] | None
    reward: str | None
    terminal: str | None
    truncated: str | None
    episode: str | None
    time: str | None
    next_state: Sequence[str] | None
    terminal_marks: TerminalMarks | None


def require_fields(function: str, names: Iterable[str]) -> None:
    """Refuses a keyword argument that is not a field of `Columns`."""
    for name in sorted(set(names) - {field.name for field in fields(Columns)}):
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def columns_given(columns: Columns | None, names: ColumnNames) -> Columns:
    """The columns, given as one object or as separate keyword arguments."""
    require_fields("read_log", names)
    if columns is None:
        return Columns(**names)
    if not isinstance(columns, Columns):
        raise TypeError(f"columns: is {columns!r}, must be Columns(state=…, action=…, …)")
    for name, value in names.items():
        if value is not None:
            raise ValueError(f"{name}: is {value!r}, must be set as a field of `columns`, which is also given")
    return columns


def column_texts(role: str, value: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """Several columns, given as texts or as one text with commas."""
    if value is None:
        return None
    texts = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    for text in texts:
        _require_text(role, text)
    return tuple(text.strip() for text in texts if text != "")


def _require_text(role: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{role}: is {value!r}, must be the name of a column")
