"""How far the actions of a 16-bit policy can be from those of the original policy, for every state of its box.

A tree of the quantised policy reaches another leaf only if the state lies in the same cell as a split on its path. Let
J[d, c] be the sum over trees of the largest jump across a split of that tree in cell c of dimension d. At a state with
the cells c_0, c_1, …, all trees together jump by at most J[0, c_0] + J[1, c_1] + …. Therefore they never jump by more
than the sum over d of max_c J[d, c]. The rounding errors of the leaves' numbers are added to that.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.export.int16 import QuantisedForest, QuantisedPolicy, Quantiser
from policyforest.export.leaf_boxes import LeafBoxes
from policyforest.export.probing import random_states, threshold_states
from policyforest.export.program import forest_models
from policyforest.forest.forest import Forest
from policyforest.policy.float32_policy import rounded_down

# Roundings of the last operations, float32, relative to the largest number in them.
FLOAT_SLACK = 2.0**-21


@dataclass(frozen=True)
class QuantisationError:
    """|action of the 16-bit policy - action of the policy|, one number per action dimension."""

    bound: tuple[float, ...]
    """Never more than this in the state box"""
    largest: tuple[float, ...]
    """The largest seen, on uniform states and next to thresholds"""
    mean: tuple[float, ...]
    """Over uniform states of the box"""
    n_states: int


def quantisation_error(quantised: QuantisedPolicy, n_states: int = 20_000, seed: int = 0) -> QuantisationError:
    """The bound, and the errors on `n_states` uniform states of the box and as many next to thresholds."""
    rng = np.random.default_rng(seed)
    policy = quantised.source
    with np.errstate(under="ignore"):
        uniform = random_states(policy, n_states, rng).astype(np.float32)
        near = threshold_states(policy, n_states, rng).astype(np.float32)
    box = policy.state_box
    inside = ((near >= box[:, 0]) & (near <= box[:, 1])).all(axis=1)

    def errors(states: NDArray[np.float32]) -> Floats:
        return np.abs(quantised.act_batch(states) - policy.act_batch(states.astype(np.float64)))

    on_uniform, on_near = errors(uniform), errors(near[inside])
    return QuantisationError(
        bound=tuple(error_bound(quantised, j) for j in range(len(quantised.forests))),
        largest=tuple(np.concatenate([on_uniform, on_near]).max(axis=0).tolist()),
        mean=tuple(on_uniform.mean(axis=0).tolist()),
        n_states=n_states,
    )


def error_bound(quantised: QuantisedPolicy, j: int) -> float:
    """The bound of action j."""
    source, whole, boxes = quantised.source.forests[j], quantised.forests[j], quantised.boxes[j]
    low, high, rounding = _leaf_values(source, whole, boxes, quantised.quantiser)
    offsets = source.arrays["leaf_offsets"]
    rounded = sum(float(rounding[a:b].max()) for a, b in pairwise(offsets.tolist()))
    jumps = _jumps(source, quantised.quantiser, boxes, low, high)
    largest = max(float(np.abs(low).max()), float(np.abs(high).max()))
    bound = (rounded + sum(jumps)) / len(source) + FLOAT_SLACK * largest
    width = float(quantised.action_hi[j]) - float(quantised.action_lo[j])
    return min(bound, width * (1 + FLOAT_SLACK))


def _leaf_values(
    source: Forest, whole: QuantisedForest, boxes: LeafBoxes, quantiser: Quantiser
) -> tuple[Floats, Floats, Floats]:
    """The smallest and largest value of each leaf in its box, and its largest rounding error."""
    models = forest_models(source)
    if source.leaf_model == "constant":
        values = models[:, 0]
        return values, values, np.abs(values - (float(whole.offset) + whole.models[:, 0] * whole.unit))
    dims = range(source.n_inputs)
    width = np.array([quantiser.width(d) for d in dims])
    low, high = boxes.ranges(models, margin=width)
    # value - rounded value is linear in the cell, whose middle is at most half a cell from the state.
    slope = models[:, :-1] - whole.models[:, :-1] * whole.unit / np.where(width > 0, width, 1.0)
    zero = np.array([float(quantiser.middle(d, 0)) for d in dims])
    at_zero = models[:, -1] + models[:, :-1] @ zero - whole.models[:, -1] * whole.unit
    difference = np.column_stack([slope, at_zero - slope @ zero])
    least, most = boxes.ranges(difference, margin=width)
    within_cell = (np.abs(models[:, :-1]) * width * 0.51).sum(axis=1)
    return low, high, np.maximum(np.abs(least), np.abs(most)) + within_cell


def _jumps(source: Forest, quantiser: Quantiser, boxes: LeafBoxes, low: Floats, high: Floats) -> list[float]:
    """max_c J[d, c] for every dimension d."""
    arrays = source.arrays
    dims = range(source.n_inputs)
    cells = np.zeros(len(arrays["feature"]), dtype=np.int64)
    first_cells, last_cells = np.empty(boxes.lo.shape, dtype=np.int64), np.empty(boxes.lo.shape, dtype=np.int64)
    for d in dims:
        splits = arrays["feature"] == d
        cells[splits] = quantiser.cells_of(d, rounded_down(arrays["split"][splits]))
        first_cells[:, d] = quantiser.cells_of(d, rounded_down(boxes.lo[:, d]))
        last_cells[:, d] = quantiser.cells_of(d, rounded_down(boxes.hi[:, d]))
    total: list[dict[int, float]] = [defaultdict(float) for _ in dims]
    for nodes, leaves in zip(_parts(arrays["node_offsets"]), _parts(arrays["leaf_offsets"]), strict=True):
        tree = _Tree(
            arrays["feature"][nodes].tolist(),
            arrays["child"][nodes].tolist(),
            cells[nodes].tolist(),
            list(zip(low[leaves].tolist(), high[leaves].tolist(), strict=True)),
            (last_cells[leaves], first_cells[leaves]),
        )
        for (d, cell), jump in tree.jumps().items():
            total[d][cell] += jump
    return [max(of_cells.values(), default=0.0) for of_cells in total]


def _parts(offsets: NDArray[Any]) -> list[slice]:
    return [slice(begin, end) for begin, end in pairwise(offsets.tolist())]


@dataclass(frozen=True)
class _Tree:
    feature: list[int]
    child: list[int]
    cell: list[int]
    """Where the splits are"""
    values: list[tuple[float, float]]
    """The smallest and the largest value of each leaf"""
    sides: tuple[NDArray[np.int64], NDArray[np.int64]]
    """The cells that hold the upper ends of the leaves' boxes, and those that hold the lower ends"""

    def jumps(self) -> dict[tuple[int, int], float]:
        """For every (dimension, cell) with a split the largest difference of leaves on its two sides that touch it."""
        # A leaf touches a split above it if its box ends (below the split) or begins (above it) in the split's cell.
        ranges: dict[tuple[int, int], tuple[float, float]] = {}
        paths: dict[int, list[tuple[int, int]]] = {0: []}
        for i, (d, child) in enumerate(zip(self.feature, self.child, strict=True)):
            path = paths.pop(i)
            if d >= 0:
                paths[child], paths[child + 1] = [*path, (i, 0)], [*path, (i, 1)]
                continue
            low, high = self.values[child]
            for split, upper in path:
                if self.sides[upper][child, self.feature[split]] == self.cell[split]:
                    least, most = ranges.get((split, upper), (np.inf, -np.inf))
                    ranges[split, upper] = (min(least, low), max(most, high))
        largest: dict[tuple[int, int], float] = {}
        for split, upper in ranges:
            if upper or (split, 1) not in ranges:
                continue
            (below_least, below_most), (above_least, above_most) = ranges[split, 0], ranges[split, 1]
            at = (self.feature[split], self.cell[split])
            jump = max(above_most - below_least, below_most - above_least)
            largest[at] = max(largest.get(at, 0.0), jump)
        return largest
