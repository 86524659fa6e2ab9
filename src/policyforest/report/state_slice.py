"""A plane through the state box: what a picture of a policy with two or more state dimensions shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats, finite_array, whole_number
from policyforest._support.spaces import bounds


class UnboundedStatesError(ValueError):
    """A policy knows no finite box of states, so nothing can be drawn over it."""


@dataclass(frozen=True)
class StateSlice:
    """A grid over two state dimensions (or one, if there is only one) with all others held fixed."""

    dims: tuple[int, ...]
    box: Floats
    """Rows (lo, hi) of the dimensions that vary"""
    fixed: Floats
    """A whole state; its entries at `dims` are not used"""
    resolution: int

    @property
    def axes(self) -> list[Floats]:
        """The middles of the grid's cells along each dimension that varies."""
        steps = (np.arange(self.resolution) + 0.5) / self.resolution
        return [lo + (hi - lo) * steps for lo, hi in self.box]

    def states(self) -> Floats:
        """The states of the grid, one per row; the first dimension varies fastest."""
        grid = np.meshgrid(*self.axes, indexing="xy")
        rows = np.tile(self.fixed, (grid[0].size, 1))
        for dim, values in zip(self.dims, grid, strict=True):
            rows[:, dim] = values.ravel()
        return rows

    def shaped(self, values: Floats) -> Floats:
        """Arranges one value per state in the rows and columns of the grid."""
        return values.reshape((self.resolution,) * len(self.dims))


def slice_of(
    policy: Any, dims: Sequence[int] | None = None, at: Sequence[float] | None = None, resolution: int = 200
) -> StateSlice:
    """The slice of a policy's state box along `dims` (default: the first two), through the state `at` (default: the
    middle of the box)."""
    box = state_box(policy)
    chosen = tuple(range(min(2, len(box)))) if dims is None else tuple(dims)
    for dim in chosen:
        whole_number("dims", dim, at_least=0, at_most=len(box) - 1)
    if len(set(chosen)) != len(chosen) or len(chosen) not in (1, 2):
        raise ValueError(f"dims: is {list(chosen)}, must be one or two different state dimensions")
    middle = box.mean(axis=1) if at is None else finite_array("at", at, 1)
    if len(middle) != len(box):
        raise ValueError(f"at: has {len(middle)} numbers, must have one for each of {len(box)} state dimensions")
    return StateSlice(chosen, box[list(chosen)], middle, whole_number("resolution", resolution, at_least=2))


def state_box(policy: Any) -> Floats:
    """Rows (lo, hi): the states that a policy was learned on; those of its space if it does not record them."""
    if hasattr(policy, "state_box"):
        box = policy.state_box
    elif hasattr(policy, "forest"):
        box = policy.forest.box
    elif hasattr(policy, "forests"):
        box = policy.forests[0].box
    else:
        box = getattr(policy, "input_box", bounds(policy.observation_space))
    box = box[: policy.observation_space.shape[0]]
    if not np.isfinite(box).all():
        raise UnboundedStatesError(f"policy: its states are {box.tolist()}, a picture needs a finite box")
    return np.asarray(box, dtype=np.float64)
