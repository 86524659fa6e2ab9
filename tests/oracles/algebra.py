"""Projection, averaging and pruning of plain trees: Algorithms 1, 2 and 3 as corrected in this project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from typing import Any, NamedTuple

from oracles.forest import Leaf, Region, Split, Tree, leaves, narrowed


def project(tree: Tree, fixed: Mapping[int, float]) -> Tree:
    """Algorithm 1: the tree over the free inputs, in their order, with input d held at fixed[d].

    A split on a fixed input is decided as prediction decides it; the other splits stay.
    """
    if isinstance(tree, Leaf):
        free, constant = [], tree.model[-1]
        for d, w in enumerate(tree.model[:-1]):
            if d in fixed:
                constant += w * fixed[d]
            else:
                free.append(w)
        return Leaf((*free, constant))
    if tree.feature in fixed:
        return project(tree.lower if fixed[tree.feature] <= tree.threshold else tree.upper, fixed)
    feature = tree.feature - sum(d < tree.feature for d in fixed)
    return Split(feature, tree.threshold, project(tree.lower, fixed), project(tree.upper, fixed))


def average(n1: Tree, n2: Tree, w1: float, w2: float, region: Region) -> Tree:
    """Algorithm 2: the tree of (w1 t1 + w2 t2) / (w1 + w2), splits of the two trees in turn.

    A split that leaves one side without a point of the region is skipped.
    """
    if isinstance(n1, Leaf):
        if isinstance(n2, Leaf):
            return Leaf(tuple((w1 * a + w2 * b) / (w1 + w2) for a, b in zip(n1.model, n2.model, strict=True)))
        return average(n2, n1, w2, w1, region)
    d, v = n1.feature, n1.threshold
    below = narrowed(region, d, region[d].below(v))
    above = narrowed(region, d, region[d].above(v))
    if above is None:
        return average(n2, n1.lower, w2, w1, region)
    if below is None:
        return average(n2, n1.upper, w2, w1, region)
    return Split(d, v, average(n2, n1.lower, w2, w1, below), average(n2, n1.upper, w2, w1, above))


def average_all(trees: Sequence[Tree], weights: Sequence[float], region: Region) -> Tree:
    """One tree after the other; the average so far carries the weight of all trees in it."""
    merged, weight = trees[0], weights[0]
    for tree, w in zip(trees[1:], weights[1:], strict=True):
        merged = average(merged, tree, weight, w, region)
        weight += w
    return merged


class Pruned(NamedTuple):
    tree: Tree
    gap: Fraction | None  # the smallest difference between a chosen loss and the next larger one


def prune(tree: Tree, region: Region, max_leaves: int) -> Pruned:
    """Algorithm 3 in exact fractions: of all nodes with two leaves merge the one of smallest loss; repeat.

    Ties go to the node that comes first in the arrays.
    """
    gap: Fraction | None = None
    while sum(1 for _ in leaves(tree)) > max_leaves:
        candidates = sorted(_mergeable(tree, region, region), key=lambda c: (c.loss, c.node))
        best = candidates[0]
        tree = _replaced(tree, best.node, best.leaf)
        if len(candidates) > 1:
            difference = candidates[1].loss - best.loss
            gap = difference if gap is None else min(gap, difference)
    return Pruned(tree, gap)


def average_pruning(trees: Sequence[Tree], region: Region, max_leaves: int) -> Pruned:
    """The average of all trees, pruned after each merge."""
    merged, gaps = trees[0], []
    for k, tree in enumerate(trees[1:], start=1):
        merged, gap = prune(_numbered(average(merged, tree, k, 1, region), count()), region, max_leaves)
        gaps += [] if gap is None else [gap]
    return Pruned(merged, min(gaps, default=None))


def _numbered(tree: Tree, numbers: Iterator[int]) -> Tree:
    if isinstance(tree, Leaf):
        return tree
    index = next(numbers)
    return Split(tree.feature, tree.threshold, _numbered(tree.lower, numbers), _numbered(tree.upper, numbers), index)


class _Candidate(NamedTuple):
    loss: Fraction
    node: int  # its index in the arrays
    leaf: Leaf  # phi', Eq. 4


def _mergeable(tree: Tree, region: Region, box: Region) -> Iterator[_Candidate]:
    """Every node with two leaves. Needs a tree whose splits lie strictly inside their regions."""
    if isinstance(tree, Leaf):
        return
    d, v = tree.feature, tree.threshold
    below = narrowed(region, d, region[d].below(v))
    above = narrowed(region, d, region[d].above(v))
    assert below is not None
    assert above is not None
    if isinstance(tree.lower, Leaf) and isinstance(tree.upper, Leaf):
        lower, upper, v_l, v_u = tree.lower.model, tree.upper.model, volume(below, box), volume(above, box)
        merged = tuple((v_l * Fraction(a) + v_u * Fraction(b)) / (v_l + v_u) for a, b in zip(lower, upper, strict=True))
        loss = _change(merged, lower, below, box) + _change(merged, upper, above, box)
        yield _Candidate(loss, tree.index, Leaf(merged))  # type: ignore[arg-type]
    yield from _mergeable(tree.lower, below, box)
    yield from _mergeable(tree.upper, above, box)


def volume(region: Region, box: Region) -> Fraction:
    """As a fraction of the whole box, over the dimensions in which the box has width."""
    share = Fraction(1)
    for side, whole_side in zip(region, box, strict=True):
        if side[:2] != whole_side[:2]:
            share *= (Fraction(side.hi) - Fraction(side.lo)) / (Fraction(whole_side.hi) - Fraction(whole_side.lo))
    return share


def _change(new: Sequence[Any], old: Sequence[Any], region: Region, box: Region) -> Fraction:
    """The integral over the region of |new - old| (constant leaves) or (new - old)² (linear leaves).

    A linear f has the mean square f(centre)² + sum_d w_d² h_d² / 3 over a box of half-widths h.
    """
    difference = [Fraction(a) - Fraction(b) for a, b in zip(new, old, strict=True)]
    weights, at_centre = difference[:-1], difference[-1]
    if not weights:
        return volume(region, box) * abs(at_centre)
    spread = Fraction(0)
    for w, side in zip(weights, region, strict=True):
        lo, hi = Fraction(side.lo), Fraction(side.hi)
        at_centre += w * (lo + hi) / 2
        spread += (w * (hi - lo) / 2) ** 2 / 3
    return volume(region, box) * (at_centre**2 + spread)


def _replaced(tree: Tree, index: int, leaf: Leaf) -> Tree:
    if isinstance(tree, Leaf):
        return tree
    if tree.index == index:
        return leaf
    lower, upper = _replaced(tree.lower, index, leaf), _replaced(tree.upper, index, leaf)
    return Split(tree.feature, tree.threshold, lower, upper, index=tree.index)
