"""Observations outside of the box that was declared for them: rounding, excursions, angles beyond their turn.

Sensors and simulators do not always keep to their declared box. A number that is beyond a side by no more than the
rounding of float32 counts as inside the box. A number further out is kept and counted: the box of the states to learn
on grows with it. An angle beyond its turn is moved by whole turns. With ``outside="raise"`` all of these are errors.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt

from policyforest._support.angles import Periodic, turned_within
from policyforest._support.arguments import Floats

Excursions = Literal["warn", "raise", "keep"]
EXCURSIONS: tuple[Excursions, ...] = ("warn", "raise", "keep")
# An observation of -1.0000002 in a box from -1 is 1.7 steps of float32 away; sums of a few such numbers are further.
ROUNDING = 4 * float(np.finfo(np.float32).eps)


class ObservationWarning(UserWarning):
    """An environment does not behave as declared: observations leave their box, resets ignore the seed, or a time limit
    is reported as a terminal state."""


def widened(box: Floats) -> Floats:
    """The box with the rounding of float32 added to its sides."""
    size = np.where(np.isfinite(box), np.abs(box), 0.0).max(axis=1)
    wide: Floats = box + ROUNDING * size[:, None] * np.array([-1.0, 1.0])
    return wide


def beyond(rows: Floats, box: Floats) -> npt.NDArray[np.bool_]:
    """Which numbers of the rows lie outside of the box, by more than the rounding of float32."""
    wide = widened(box)
    found: npt.NDArray[np.bool_] = (rows < wide[:, 0]) | (rows > wide[:, 1])
    return found


def beyond_turn(rows: Floats, periodic: Periodic) -> npt.NDArray[np.bool_]:
    """Which angles of the rows lie outside of their turn; False for every other dimension."""
    found = np.zeros(rows.shape, dtype=np.bool_)
    for d, turn in periodic.items():
        found[:, [d]] = beyond(rows[:, [d]], np.array([turn]))
    return found


def samples_outside(
    states: Floats, next_states: Floats, terminals: npt.NDArray[np.bool_], limits: Floats
) -> npt.NDArray[np.bool_]:
    """Which dimensions of which samples leave the limits, before the step or, unless it is terminal, after it."""
    found: npt.NDArray[np.bool_] = beyond(states, limits) | (beyond(next_states, limits) & ~terminals[:, None])
    return found


def refuse_outside(
    states: Floats, next_states: Floats, terminals: npt.NDArray[np.bool_], limits: Floats, periodic: Periodic
) -> None:
    """Raises a ValueError for the first state outside of the limits, or angle outside of its turn."""
    refuse("states", states, beyond(states, limits), "the state limits", limits.tolist())
    ahead = beyond(next_states, limits) & ~terminals[:, None]
    refuse("next_states", next_states, ahead, "the state limits, or be terminal", limits.tolist())
    for d, turn in periodic.items():
        for name, rows in (("states", states), ("next_states", next_states)):
            refuse(name, rows, beyond_turn(rows, {d: turn}), f"the turn of the angle {d}", list(turn))


def turned_back(rows: Floats, periodic: Periodic) -> Floats:
    """The rows with all angles within their turns."""
    inside = rows.copy()
    for d, (low, high) in periodic.items():
        inside[:, d] = turned_within(inside[:, d], low, high)
    return inside


def refuse(name: str, rows: Floats, outside: npt.NDArray[np.bool_], what: str, box: object) -> None:
    """Raises a ValueError for the first row that lies outside."""
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise ValueError(f"{name}: row {row} is {rows[row].tolist()}, must lie within {what} {box}")


def warn_outside(rows: Floats, outside: npt.NDArray[np.bool_], box: Floats, stacklevel: int) -> None:
    """One warning: how many observations lie outside, and how far the worst dimension goes."""
    n = int(outside.any(axis=1).sum())
    d = int(np.argmax(outside.sum(axis=0)))
    found = rows[outside[:, d], d]
    warnings.warn(
        f"{n:,} of {len(rows):,} observations lie outside of their declared box and are kept: dimension {d} is "
        f"declared within [{box[d, 0]:g}, {box[d, 1]:g}] and goes from {found.min():.6g} to {found.max():.6g} in these "
        "observations; declare a wider box",
        ObservationWarning,
        stacklevel=stacklevel + 1,
    )


def looks_like_time_limit(lengths: npt.NDArray[np.int64], terminal: npt.NDArray[np.bool_]) -> int | None:
    """The number of steps after which every terminal episode ends, if none is longer: likely a time limit."""
    ended = lengths[terminal]
    same = len(ended) >= 3 and len(np.unique(ended)) == 1 and ended[0] == lengths.max() and ended[0] > 1
    return int(ended[0]) if same else None


def warn_time_limit(lengths: npt.NDArray[np.int64], terminal: npt.NDArray[np.bool_], stacklevel: int) -> bool:
    """Warns if an environment seems to report a time limit as the end of the task; returns whether it warned."""
    limit = looks_like_time_limit(lengths, terminal)
    if limit is None:
        return False
    warnings.warn(
        f"all {int(terminal.sum())} terminal episodes end after {limit} steps, which looks like a time limit; a time "
        "limit is not a terminal state: let the environment return truncated=True there instead of terminated=True",
        ObservationWarning,
        stacklevel=stacklevel + 1,
    )
    return True
