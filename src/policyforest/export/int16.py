"""Policies in 16-bit whole numbers: states, thresholds and leaves quantised, each dimension on its own scale.

A state dimension x becomes the cell q(x) = floor((x - lo) * 65536 / (hi - lo)) - 32768, computed in float32. A split at
v lies in the cell q(v); the whole cell goes to the lower child if v lies in its upper half, and otherwise to the upper
one. A constant leaf is a multiple of 1/65534 of the leaves' range. A linear leaf is W·q + C, with W of 16 bits and C of
32 bits, all in one unit for a forest. Sums wrap round modulo 2^32; the results are in range again, because the value of
every leaf in its box is.

`QuantisedPolicy` computes what the C code computes, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest._support.angles import turned_within
from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.export.leaf_boxes import LeafBoxes, leaf_boxes
from policyforest.export.program import CodeForest, Program, code_tree, forest_models
from policyforest.forest.forest import Forest
from policyforest.policy.float32_policy import Singles, inwards, rounded_down
from policyforest.policy.policy import Policy

LOWEST, HIGHEST = -32768, 32767
LARGEST_LEAF = 32767
# Sums of all trees stay below this; the other half of 32 bits is left for the rounding of coefficients.
LARGEST_SUM = 2.0**30
# At most one in this many splits of a dimension may vanish.
MOST_LOST = 100


@dataclass(frozen=True)
class Quantiser:
    """q(x) for every state dimension, in float32 like the C code."""

    lo: Singles
    scale: Singles
    turns: dict[int, tuple[np.float32, np.float32]]

    def cells(self, states: Singles) -> NDArray[np.int64]:
        """Rows of cells, -32768 … 32767; states outside of the box belong to its outermost cells."""
        x = states.copy()
        for d, (lo, hi) in self.turns.items():
            x[:, d] = turned_singles(x[:, d], lo, hi)
        return _cells(x, self.lo, self.scale)

    def cells_of(self, d: int, values: Floats) -> NDArray[np.int64]:
        """The cells of thresholds of dimension d, which are not wrapped."""
        return _cells(values.astype(np.float32), self.lo[d], self.scale[d])

    def middle(self, d: int, cell: ArrayLike) -> Floats:
        """The middle of a cell in units of the state."""
        width = 1.0 / float(self.scale[d]) if self.scale[d] else 0.0
        return float(self.lo[d]) + (np.asarray(cell, dtype=np.float64) - LOWEST + 0.5) * width

    def width(self, d: int) -> float:
        return 1.0 / float(self.scale[d]) if self.scale[d] else 0.0


@dataclass(frozen=True)
class QuantisedForest:
    """A forest of whole numbers (held as doubles), and how its sum becomes the action: offset + sum * scale."""

    forest: Forest
    models: NDArray[np.int64]
    scale: np.float32
    offset: np.float32
    unit: float
    """The value of 1 in a leaf, before the division by the number of trees"""


@dataclass(frozen=True)
class QuantisedPolicy:
    """A policy of 16-bit numbers."""

    source: Policy
    quantiser: Quantiser
    forests: tuple[QuantisedForest, ...]
    boxes: tuple[LeafBoxes, ...]
    """Where the leaves of the source's forests lie"""
    lost_splits: tuple[int, ...]
    """Splits with an empty side after quantising, one number per state dimension"""
    action_lo: Singles
    action_hi: Singles

    def act_batch(self, states: ArrayLike) -> Singles:
        """Actions for rows of states, which are taken as float32."""
        with np.errstate(under="ignore"):
            rows = np.ascontiguousarray(states, dtype=np.float32)
        cells = self.quantiser.cells(rows).astype(np.float64)
        actions = np.empty((len(rows), len(self.forests)), dtype=np.float32)
        for j, quantised in enumerate(self.forests):
            trees = len(quantised.forest)
            total = np.rint(quantised.forest.predict(cells) * trees)
            value = quantised.offset + total.astype(np.int32).astype(np.float32) * quantised.scale
            actions[:, j] = np.clip(value, self.action_lo[j], self.action_hi[j])
        return actions

    def program(self) -> Program:
        """The C program's numbers."""
        forests = []
        for j, quantised in enumerate(self.forests):
            keys = quantised.forest.arrays["split"].astype(np.int64)
            trees = tuple(code_tree(quantised.forest, k, keys, quantised.models) for k in range(len(quantised.forest)))
            linear = quantised.forest.leaf_model == "linear"
            sides = float(self.action_lo[j]), float(self.action_hi[j])
            forests.append(CodeForest(trees, linear, *sides, float(quantised.scale), float(quantised.offset)))
        turns = {d: (float(lo), float(hi)) for d, (lo, hi) in self.quantiser.turns.items()}
        lo, scale = self.quantiser.lo.tolist(), self.quantiser.scale.tolist()
        return Program("int16", tuple(forests), len(lo), turns, lo, scale)


def quantise(policy: Policy) -> QuantisedPolicy:
    """The policy in 16-bit numbers; a ValueError if its box is unbounded or its splits coincide."""
    box = policy.state_box.copy()
    for d, turn in policy.periodic.items():
        box[d] = turn
    if not np.isfinite(box).all():
        first = int(np.argwhere(~np.isfinite(box))[0, 0])
        raise ValueError(
            f"precision: is 'int16', but state dimension {first} has the box {box[first].tolist()}; it must be finite"
        )
    quantiser = _quantiser(policy, box)
    boxes = tuple(leaf_boxes(forest, box) for forest in policy.forests)
    forests, lost = [], np.zeros(len(box), dtype=np.int64)
    total = np.zeros(len(box), dtype=np.int64)
    for forest, places in zip(policy.forests, boxes, strict=True):
        splits = _splits(forest, quantiser)
        lost += _lost_splits(forest, splits, len(box))
        total += np.bincount(forest.arrays["feature"][forest.arrays["feature"] >= 0], minlength=len(box))
        forests.append(_quantised(forest, splits, places, quantiser))
    for d in np.flatnonzero(lost * MOST_LOST > total).tolist():
        raise ValueError(
            f"precision: is 'int16', but {lost[d]} of {total[d]} splits of state dimension {d} cannot be distinguished "
            f"in 65536 steps of its box {box[d].tolist()}"
        )
    lo, hi = inwards(bounds(policy.action_space))
    return QuantisedPolicy(policy, quantiser, tuple(forests), boxes, tuple(lost.tolist()), lo, hi)


def turned_singles(x: Singles, lo: np.float32, hi: np.float32) -> Singles:
    """x moved by whole turns into [lo, hi], in float32."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        moved: Singles = turned_within(x, lo, hi)
    return moved


def _cells(x: Singles, lo: Singles, scale: Singles) -> NDArray[np.int64]:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        steps = (x - lo) * scale
    return np.minimum(np.where(steps > 0, steps, 0), 65535).astype(np.int64) + LOWEST


def _quantiser(policy: Policy, box: Floats) -> Quantiser:
    with np.errstate(over="ignore", under="ignore"):
        lo = box[:, 0].astype(np.float32)
        width = box[:, 1] - lo
        scale = np.divide(65536.0, width, out=np.zeros(len(box)), where=width > 0).astype(np.float32)
    for d in range(len(box)):
        if not (np.isfinite(lo[d]) and np.isfinite(scale[d])) or (width[d] > 0 and scale[d] == 0):
            raise ValueError(f"precision: is 'int16', but the box {box[d].tolist()} of dimension {d} is beyond float32")
    turns = {d: (np.float32(low), np.float32(high)) for d, (low, high) in policy.periodic.items()}
    return Quantiser(lo, scale, turns)


def _splits(forest: Forest, quantiser: Quantiser) -> NDArray[np.int64]:
    """The cells that inputs are compared with, for all nodes."""
    feature, values = forest.arrays["feature"], forest.arrays["split"]
    result = np.zeros(len(feature), dtype=np.int64)
    for d in range(forest.n_inputs):
        nodes = np.flatnonzero(feature == d)
        cell = quantiser.cells_of(d, rounded_down(values[nodes]))
        in_lower_half = values[nodes] < quantiser.middle(d, cell)
        result[nodes] = np.maximum(cell - in_lower_half, LOWEST)
    return result


def _lost_splits(forest: Forest, splits: NDArray[np.int64], dims: int) -> NDArray[np.int64]:
    """How many splits have an empty side, given the splits above them; one number per dimension."""
    arrays = forest.arrays
    lost = np.zeros(dims, dtype=np.int64)
    feature, child = arrays["feature"].tolist(), arrays["child"].tolist()
    for first, end in zip(arrays["node_offsets"][:-1].tolist(), arrays["node_offsets"][1:].tolist(), strict=True):
        ranges = {first: [(LOWEST - 1, HIGHEST)] * dims}
        for i in range(first, end):
            here = ranges.pop(i)
            d = feature[i]
            if d < 0:
                continue
            low, high = here[d]
            split = int(splits[i])
            lost[d] += not low < split < high
            lower = first + child[i]
            ranges[lower] = [*here[:d], (low, min(split, high)), *here[d + 1 :]]
            ranges[lower + 1] = [*here[:d], (max(split, low), high), *here[d + 1 :]]
    return lost


def _quantised(forest: Forest, splits: NDArray[np.int64], boxes: LeafBoxes, quantiser: Quantiser) -> QuantisedForest:
    if forest.leaf_model == "constant":
        values = forest_models(forest)[:, 0]
        offset = (values.max() + values.min()) / 2
        unit = (values.max() - values.min()) / (2 * LARGEST_LEAF) or 1.0
        models = np.rint((values - offset) / unit).astype(np.int64)[:, np.newaxis]
    else:
        offset = 0.0
        models, unit = _linear_models(forest, boxes, quantiser)
    arrays = {name: array for name, array in forest.arrays.items() if name not in ("leaf_offsets", "coefficients")}
    leaves = arrays["feature"] < 0
    split = splits.astype(np.float64)
    split[leaves] = models[:, 0] if forest.leaf_model == "constant" else 0.0
    coefficients = {} if forest.leaf_model == "constant" else {"coefficients": models.astype(np.float64)}
    box = np.tile([float(LOWEST), float(HIGHEST)], (forest.n_inputs, 1))
    whole = Forest.from_arrays(**(arrays | {"split": split, "box": box} | coefficients))
    return QuantisedForest(whole, models, np.float32(unit / len(forest)), np.float32(offset), unit)


def _linear_models(forest: Forest, boxes: LeafBoxes, quantiser: Quantiser) -> tuple[NDArray[np.int64], float]:
    """W…, C of all leaves in one unit: W·q + C is the leaf's value at the middle of cell q."""
    coefficients = forest_models(forest)
    dims = range(forest.n_inputs)
    widths = np.array([quantiser.width(d) for d in dims])
    middles = np.array([float(quantiser.middle(d, 0)) for d in dims])
    weights = coefficients[:, :-1] * widths
    intercepts = coefficients[:, -1] + coefficients[:, :-1] @ middles
    low, high = boxes.ranges(coefficients, margin=widths)
    largest = float(np.maximum(np.abs(low), np.abs(high)).max())
    unit = max(float(np.abs(weights).max()) / LARGEST_LEAF, largest * len(forest) / LARGEST_SUM) or 1.0
    rounded = np.rint(np.column_stack([weights, intercepts]) / unit)
    return rounded.astype(np.int64), unit


def list_lost(lost: Sequence[int]) -> str:
    """A text about splits that vanished; empty if none did."""
    parts = [f"{count} in dimension {d}" for d, count in enumerate(lost) if count]
    return ", ".join(parts)
