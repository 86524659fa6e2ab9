"""max and arg max over the action box by looking at every cell between thresholds, Eq. 5.

All functions take trees that are projected on the state, so their inputs are the actions. Between
neighbouring thresholds no tree changes its leaf; the cells (lo, hi] × … are all there is to look at, and the
upper corner of a cell lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from oracles.forest import Interval, Region, Tree, find_leaf, predict, splits


class Best(NamedTuple):
    value: float
    action: float
    interval: Interval


def elementary_intervals(trees: Sequence[Tree], d: int, side: Interval) -> list[Interval]:
    """The parts of the side, in order, in which no tree has a threshold on input d."""
    cuts = {split.threshold for tree in trees for split in splits(tree) if split.feature == d}
    intervals, rest = [], side
    for cut in sorted(cuts):
        below, above = rest.below(cut), rest.above(cut)
        if below is not None and above is not None:
            intervals.append(below)
            rest = above
    return [*intervals, rest]


def cells(trees: Sequence[Tree], box: Region) -> list[Region]:
    """In lexicographic order of their lower corners."""
    return list(product(*(elementary_intervals(trees, d, side) for d, side in enumerate(box))))


def upper_corner(cell: Region) -> list[float]:
    return [side.hi for side in cell]


def best_value(trees: Sequence[Tree], box: Region) -> float:
    """Constant leaves: the largest prediction of all cells."""
    return max(predict(trees, upper_corner(cell)) for cell in cells(trees, box))


def supremum(trees: Sequence[Tree], box: Region) -> float:
    """Linear leaves: the largest limit at the corners of all cells (lower corners may be limits only)."""
    return max(_limit(trees, cell) for cell in cells(trees, box))


def _limit(trees: Sequence[Tree], cell: Region) -> float:
    models = [find_leaf(tree, upper_corner(cell)).model for tree in trees]
    *weights, constant = (sum(terms) / len(trees) for terms in zip(*models, strict=True))
    return constant + sum(max(w * side.lo, w * side.hi) for w, side in zip(weights, cell, strict=True))


def best_in_one_dimension(trees: Sequence[Tree], side: Interval) -> Best:
    """Constant leaves: the lowest run of adjacent intervals with the largest value, and its middle."""
    intervals = elementary_intervals(trees, 0, side)
    values = [predict(trees, [interval.hi]) for interval in intervals]
    first = last = values.index(max(values))
    while last + 1 < len(values) and values[last + 1] == values[first]:
        last += 1
    run = Interval(intervals[first].lo, intervals[last].hi, intervals[first].closed)
    return Best(values[first], middle(run), run)


def middle(interval: Interval) -> float:
    """lo + (hi - lo) / 2, or hi where rounding would leave an interval that is open below."""
    centre = interval.lo + (interval.hi - interval.lo) / 2
    return centre if centre in interval else interval.hi
