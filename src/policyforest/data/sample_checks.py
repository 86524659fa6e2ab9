"""Checks of the arrays of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policyforest._support.angles import Periodic
from policyforest._support.arguments import whole_number

if TYPE_CHECKING:
    from policyforest.data.transitions import Transitions

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy that cannot be changed."""
    array = array.copy()
    array.flags.writeable = False
    return array


def truths(name: str, value: npt.ArrayLike) -> Bools:
    """Truth values, which must be given as booleans."""
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"{name}: holds {array.dtype}, must hold bool")
    return frozen(array)


def whole_numbers(name: str, value: npt.ArrayLike) -> Ints:
    """Integers from 0 to 2**62."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: holds {array.dtype}, must hold integers")
    if array.size and (array.min() < 0 or array.max() >= 2**62):
        raise ValueError(f"{name}: goes from {array.min()} to {array.max()}, must be between 0 and 2**62")
    return frozen(array.astype(np.int64))


def angles_of(periodic: Periodic, n_state: int) -> Periodic:
    """The dimensions that are angles, with their turns."""
    angles = {}
    for key, (low, high) in sorted(periodic.items()):
        dimension = whole_number("periodic: dimension", key, at_least=0, at_most=n_state - 1)
        if not -np.inf < low < high < np.inf:
            raise ValueError(f"periodic: {dimension} is ({low}, {high}), must be finite with low < high")
        angles[dimension] = (float(low), float(high))
    return angles


def require_shape(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuses an array of another shape."""
    if array.shape != shape:
        raise ValueError(f"{name}: has shape {array.shape}, must have shape {shape}")


def require_same_problem(first: Transitions, part: Transitions, i: int) -> None:
    """Refuses a part whose problem is not that of the first."""
    for name in ("observation_space", "action_space", "periodic", "plant"):
        ours, theirs = getattr(first, name), getattr(part, name)
        if ours != theirs:
            raise ValueError(f"parts[{i}].{name}: is {theirs}, must be {ours} as in parts[0]")
    if not np.array_equal(first.state_limits, part.state_limits):
        ours, theirs = first.state_limits.tolist(), part.state_limits.tolist()
        raise ValueError(f"parts[{i}].state_limits: is {theirs}, must be {ours} as in parts[0]")
