"""What a log contains about its plant: the names of its columns, and a reward or an end that is a formula over them."""

from __future__ import annotations

import re

from policyforest._support.formulas import Expression
from policyforest.data.plant import NEXT, Plant
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns


def log_plant(columns: ResolvedColumns) -> Plant:
    """A formula is known to learners if it is a function of (s, a, s') alone: one that names other columns of the log
    (a measured power) cannot be computed for steps that are not in the log."""
    states, actions = (tuple(c.name for c in part) for part in (columns.state, columns.action))
    known = {*states, *actions, *(NEXT + name for name in states)}
    return Plant(states, actions, _formula(columns.reward, known), _end(columns, set(states)))


def _formula(column: Column | Expression | None, known: set[str]) -> str | None:
    return column.text if isinstance(column, Expression) and column.names <= known else None


def _end(columns: ResolvedColumns, states: set[str]) -> str | None:
    """A terminal formula over a state ends the step that leads to this state, so its names become those of the next
    state."""
    end = columns.terminal
    if not isinstance(end, Expression) or not end.names <= states or columns.terminal_marks != "state":
        return None
    names = "|".join(re.escape(name) for name in sorted(end.names, key=len, reverse=True))
    return re.sub(rf"\b({names})\b", rf"{NEXT}\1", end.text) if names else None
