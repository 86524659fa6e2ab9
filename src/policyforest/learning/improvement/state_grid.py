"""A grid over the states of a learned model, and linear interpolation in its cells.

An axis is a dimension of the state, or the angle of a sine-cosine pair. Periodic axes have no seam.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.dynamics_model import DynamicsModel

# The quantiles between which most states lie.
MOST = (0.01, 0.99)


@dataclass(frozen=True)
class _Axis:
    dimensions: tuple[int, ...]
    """One of the state, or the sine and the cosine of an angle"""
    low: float
    high: float
    number: int
    periodic: bool
    radius: float = 1.0

    @property
    def points(self) -> Floats:
        found: Floats = np.linspace(self.low, self.high, self.number, endpoint=not self.periodic)
        return found

    def place(self, states: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """The points on both sides of each state, and how far it is from the first to the second."""
        if len(self.dimensions) == 2:
            at = np.arctan2(states[:, self.dimensions[0]], states[:, self.dimensions[1]])
        else:
            at = states[:, self.dimensions[0]]
        along = (at - self.low) / (self.high - self.low)
        if self.periodic:
            along = (along % 1.0) * self.number
            first = np.floor(along).astype(np.intp)
            return first % self.number, (first + 1) % self.number, along - first
        along = np.clip(along, 0.0, 1.0) * (self.number - 1)
        first = np.minimum(along.astype(np.intp), self.number - 2)
        return first, first + 1, along - first


@dataclass(frozen=True)
class StateGrid:
    """The states at the crossings of axes, in row-major order."""

    axes: tuple[_Axis, ...]
    states: Floats
    """One row per crossing"""

    @classmethod
    def of(cls, model: DynamicsModel, numbers: Mapping[int, int], beyond: float = 0.0) -> StateGrid | None:
        """The grid that spans a model's data, and a part of its width `beyond` it within the limits of states, with so
        many points per axis by the number of axes; None where the numbers have no entry, or where dimensions are
        computed from others or are commands that act late."""
        data, structure = model.transitions, model.structure
        if structure.relations or structure.copies or data.plant.delay > 0:
            return None
        box = _widened(model, beyond)
        paired = {d for i, j, _ in structure.circles for d in (i, j)}
        moving = [d for d in range(len(box)) if d not in paired and box[d, 1] - box[d, 0] > 1e-9]
        number = numbers.get(len(moving) + len(structure.circles))
        if number is None:
            return None
        axes = [_Axis((d,), box[d, 0], box[d, 1], number, d in data.periodic) for d in moving]
        axes += [_Axis((i, j), -np.pi, np.pi, number, True, radius) for i, j, radius in structure.circles]
        return cls(tuple(axes), _crossings(axes, data.states.mean(axis=0)))

    def corners(self, states: Floats) -> tuple[NDArray[np.int32], Floats]:
        """The crossings around each state and their shares, which sum to 1: (rows, 2 to the number of axes)."""
        where, shares = np.zeros((len(states), 1), dtype=np.int32), np.ones((len(states), 1))
        for axis in self.axes:
            first, second, share = axis.place(states)
            where = np.concatenate([where * axis.number + side[:, None] for side in (first, second)], axis=1)
            shares = np.concatenate([shares * (1.0 - share)[:, None], shares * share[:, None]], axis=1)
        return where.astype(np.int32), shares


def _widened(model: DynamicsModel, beyond: float) -> Floats:
    data, box = model.transitions, model.edge(0.0).box
    _leave_outliers(box, np.concatenate([data.states, data.next_states[~data.terminals]]), data.periodic)
    width = box[:, 1] - box[:, 0]
    limits = np.where(np.isfinite(data.state_limits), data.state_limits, np.array([-np.inf, np.inf]))
    low = np.minimum(np.maximum(box[:, 0] - beyond * width, limits[:, 0]), box[:, 0])
    high = np.maximum(np.minimum(box[:, 1] + beyond * width, limits[:, 1]), box[:, 1])
    found = np.stack([low, high], axis=1)
    for d in data.periodic:
        found[d] = box[d]
    return found


def _leave_outliers(box: Floats, states: Floats, periodic: Container[int]) -> None:
    """Cuts from the box of the states those that are separated from all others by more than the range of most states: a
    single wrong reading of a sensor would leave few points of the grid for all other states. States that a trajectory
    passed through are near each other, however few they are."""
    low, high = np.quantile(states, MOST, axis=0)
    for d in np.flatnonzero(high > low):
        if d in periodic:
            continue
        ordered = np.sort(states[:, d])
        apart, middle = np.flatnonzero(np.diff(ordered) > high[d] - low[d]), len(ordered) // 2
        below, above = apart[apart < middle], apart[apart >= middle]
        if len(below):
            box[d, 0] = ordered[below[-1] + 1]
        if len(above):
            box[d, 1] = ordered[above[0]]


def _crossings(axes: list[_Axis], still: Floats) -> Floats:
    """States at all crossings; dimensions that never change are as in the data."""
    along = np.meshgrid(*(axis.points for axis in axes), indexing="ij")
    states = np.repeat(still[None], along[0].size, axis=0)
    for axis, points in zip(axes, along, strict=True):
        at = points.reshape(-1)
        if len(axis.dimensions) == 2:
            states[:, axis.dimensions[0]] = axis.radius * np.sin(at)
            states[:, axis.dimensions[1]] = axis.radius * np.cos(at)
        else:
            states[:, axis.dimensions[0]] = at
    return states
