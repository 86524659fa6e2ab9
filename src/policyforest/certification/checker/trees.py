"""Bounds of forests over many boxes at once, as slopes and a remainder."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.certification.checker.forms import UNIT


class ForestBounds(NamedTuple):
    """For all x with lo < x <= hi of a box: the forest's mean is in slopes · x + [low, high]."""

    slopes: Floats
    """(inputs, boxes)"""
    low: Floats
    high: Floats
    size: Floats
    """The mean over the trees of the largest |c| + |w_0 x_0| + … of a leaf"""


class Reached(NamedTuple):
    """Pairs of a box and a leaf that some points of the box fall into, with the part of the box that does."""

    box: NDArray[np.intp]
    leaf: NDArray[np.intp]
    lo: Floats
    hi: Floats


def forest_bounds(arrays: Mapping[str, Any], lo: Floats, hi: Floats) -> ForestBounds:
    """Bounds for boxes (lo, hi], one row each."""
    n_boxes, n = lo.shape
    slopes, low, high, size = np.zeros((n, n_boxes)), np.zeros(n_boxes), np.zeros(n_boxes), np.zeros(n_boxes)
    nodes, leaves = np.asarray(arrays["node_offsets"]).tolist(), np.asarray(arrays["leaf_offsets"]).tolist()
    for (first, end), (first_leaf, _) in zip(pairwise(nodes), pairwise(leaves), strict=True):
        reached = _reached(arrays, first, end, first_leaf, lo, hi)
        weights, constants = _lines(arrays, reached, n)
        mean = _mean_slopes(weights, reached, lo, hi)
        here = mean[:, reached.box]
        a, b = (weights - here) * reached.lo.T, (weights - here) * reached.hi.T
        least, most = constants + np.minimum(a, b).sum(axis=0), constants + np.maximum(a, b).sum(axis=0)
        far = np.maximum(np.abs(reached.lo), np.abs(reached.hi)).T
        sizes = np.abs(constants) + ((np.abs(weights) + 2 * np.abs(here)) * far).sum(axis=0)
        lows, highs, largest = np.full(n_boxes, np.inf), np.full(n_boxes, -np.inf), np.zeros(n_boxes)
        np.minimum.at(lows, reached.box, least)
        np.maximum.at(highs, reached.box, most)
        np.maximum.at(largest, reached.box, sizes)
        slopes, low, high, size = slopes + mean, low + lows, high + highs, size + largest
    trees = len(nodes) - 1
    slip = 4 * UNIT * (trees + 3 * n + 8) * size / trees
    return ForestBounds(slopes / trees, low / trees - slip, high / trees + slip, size / trees)


def _reached(arrays: Mapping[str, Any], first: int, end: int, first_leaf: int, lo: Floats, hi: Floats) -> Reached:
    """All leaves of one tree that the boxes reach. Children come after their parents."""
    waiting = {first: (np.arange(len(lo)), lo, hi)}
    parts: list[Reached] = []
    feature, split, child = arrays["feature"], arrays["split"], arrays["child"]
    for i in range(first, end):
        if i not in waiting:
            continue
        box, low, high = waiting.pop(i)
        d = int(feature[i])
        if d < 0 and int(child[i]) < 0:
            raise ValueError("a leaf has a negative number")
        if d < 0:
            parts.append(Reached(box, np.full(len(box), first_leaf + int(child[i])), low, high))
            continue
        at = float(split[i])
        lower, upper = (low[:, d] < at) | ~(at < high[:, d]), at < high[:, d]
        for side, mask in ((0, lower), (1, upper)):
            if mask.any():
                below, above = low[mask].copy(), high[mask].copy()
                if side == 0:
                    above[:, d] = np.minimum(above[:, d], at)
                else:
                    below[:, d] = np.maximum(below[:, d], at)
                after = first + int(child[i]) + side
                if after in waiting:
                    raise ValueError("two nodes of a tree have the same child")
                waiting[after] = (box[mask], below, above)
    if waiting:
        raise ValueError("a tree has children that do not come after their parents")
    box, leaf, low, high = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return Reached(box, leaf, low, high)


def _lines(arrays: Mapping[str, Any], reached: Reached, n: int) -> tuple[Floats, Floats]:
    """Weights (inputs, pairs) and constants of the leaves."""
    coefficients = np.asarray(arrays["coefficients"])
    if coefficients.size:
        rows = coefficients[reached.leaf]
        return np.ascontiguousarray(rows[:, :n].T), rows[:, n]
    values = np.asarray(arrays["split"])[np.asarray(arrays["feature"]) < 0]
    return np.zeros((n, len(reached.leaf))), values[reached.leaf]


def _mean_slopes(weights: Floats, reached: Reached, lo: Floats, hi: Floats) -> Floats:
    """The mean of the leaves' weights for each box, weighted by the volumes of their parts; any other mean would also
    be valid."""
    whole, n_boxes = (hi - lo)[reached.box], len(lo)
    with np.errstate(all="ignore"):
        parts = np.maximum((reached.hi - reached.lo) / whole, 1e-6)
    volume = np.where(whole > 0, parts, 1.0).prod(axis=1)
    total = np.bincount(reached.box, volume, n_boxes)
    return np.stack([np.bincount(reached.box, volume * w, n_boxes) / total for w in weights])
