"""Rewards and ends that the user knows as Python functions: called on rows, and checked before they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats

# Larger states and rewards are refused, because the variance of squared errors of larger numbers could overflow.
LARGEST = 1e70

Known = Callable[[Floats, Floats, Floats], Any]
"""A function of rows of states, actions and next states that returns one number per row"""


class UnjudgedStepError(ValueError):
    """A step whose reward, end or observation has no finite value or a wrong form; the steps before it are valid."""


def known_rewards(function: Known, states: Floats, actions: Floats, next_states: Floats) -> Floats:
    """The rewards of a user's function, one finite number per row."""
    return _called("reward", function, states, actions, next_states)


def known_ends(function: Known, states: Floats, actions: Floats, next_states: Floats) -> NDArray[np.bool_]:
    """Which steps end the episode by a user's function: those with a value other than 0 and False."""
    ends: NDArray[np.bool_] = _called("terminal", function, states, actions, next_states) != 0
    return ends


def _called(name: str, function: Known, *rows: Floats) -> Floats:
    states = rows[0]
    try:
        returned = np.asarray(function(*map(_read_only, rows)))
    except Exception as error:
        place = _failing_state(function, rows)
        told = f"raised {type(error).__name__} ({error}) at {place}"
        raise UnjudgedStepError(f"{name}: {told}, must return a number") from error
    if returned.shape != (len(states),):
        given = f"an array of shape {returned.shape} for {len(states)} states from {states[0].tolist()} on"
        raise UnjudgedStepError(f"{name}: returned {given}, must return an array of shape ({len(states)},)")
    if returned.dtype.kind not in "fiub":
        raise UnjudgedStepError(f"{name}: returned {returned.dtype}, must return real numbers")
    values: Floats = returned.astype(np.float64)
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        allowed = "finite numbers (does it divide by zero?)"
        if np.isfinite(values[i]):
            allowed = f"numbers of at most {LARGEST:g} in size"
        raise UnjudgedStepError(f"{name}: returned {values[i]} at {_step(rows, i)}, must return {allowed}")
    return values


def _read_only(rows: Floats) -> Floats:
    """Read-only rows, because a function that writes to its arguments would change samples that others use."""
    view = rows.view()
    view.flags.writeable = False
    return view


def _failing_state(function: Known, rows: tuple[Floats, ...]) -> str:
    for i in range(len(rows[0])):
        try:
            function(*(_read_only(part[i : i + 1]) for part in rows))
        except Exception:
            return _step(rows, i)
    return f"{len(rows[0])} states from {rows[0][0].tolist()} on"


def _step(rows: tuple[Floats, ...], i: int) -> str:
    state, action, ahead = (part[i].tolist() for part in rows)
    return f"the state {state} (action {action}, next state {ahead})"
