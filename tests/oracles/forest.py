"""Regression trees as Python objects, read from the arrays of a forest (§ Regression Forests)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

Point = Sequence[float]


@dataclass(frozen=True)
class Leaf:
    """phi(x) = w·x + c as the tuple (w_0, …, w_{D-1}, c); a constant leaf is (c,)."""

    model: tuple[float, ...]

    def __call__(self, x: Point) -> float:
        value = self.model[-1]
        for w, coordinate in zip(self.model[:-1], x, strict=False):
            value += w * coordinate
        return value


@dataclass(frozen=True)
class Split:
    """x[feature] <= threshold goes to the lower child. `index` is the node's place in its tree's arrays."""

    feature: int
    threshold: float
    lower: Tree
    upper: Tree
    index: int = field(default=-1, compare=False)


Tree = Leaf | Split


class Interval(NamedTuple):
    """The x with lo < x <= hi, and lo itself where the interval is closed below.

    A split leaves x <= v below and x > v above: only the border of the whole box is closed on its lower side.
    """

    lo: float
    hi: float
    closed: bool = True

    def __contains__(self, x: object) -> bool:
        return self.lo < x <= self.hi or (self.closed and x == self.lo)  # type: ignore[operator]

    def below(self, v: float) -> Interval | None:
        """The points x <= v; None where there are none."""
        part = Interval(self.lo, min(self.hi, v), self.closed)
        return part if part.hi in part else None

    def above(self, v: float) -> Interval | None:
        """The points x > v; None where there are none."""
        part = Interval(v, self.hi, False) if v >= self.lo else self
        return part if part.hi in part else None


Region = tuple[Interval, ...]


def whole(box: Any) -> Region:
    """The closed box [[lo, hi], …] as a region."""
    return tuple(Interval(float(lo), float(hi)) for lo, hi in box)


def narrowed(region: Region, d: int, interval: Interval | None) -> Region | None:
    """The region with another interval in dimension d; None where no point is left."""
    return None if interval is None else (*region[:d], interval, *region[d + 1 :])


def read_trees(arrays: Mapping[str, Any]) -> list[Tree]:
    """The trees that the arrays of `Forest.from_arrays` or `Forest.arrays` describe."""
    offsets = arrays["node_offsets"]
    coefficients = arrays.get("coefficients")
    trees, first_leaf = [], 0
    for begin, end in pairwise(offsets):
        feature, split, child = (arrays[name][begin:end] for name in ("feature", "split", "child"))
        n_leaves = int((feature == -1).sum())
        if coefficients is None or len(coefficients) == 0:
            models = [(float(value),) for value in split[feature == -1]]
        else:
            models = [tuple(row.tolist()) for row in coefficients[first_leaf : first_leaf + n_leaves]]
        nodes: list[Any] = [None] * len(feature)
        for i in reversed(range(len(feature))):  # children come after their parent
            if feature[i] == -1:
                nodes[i] = Leaf(models[child[i]])
            else:
                nodes[i] = Split(int(feature[i]), float(split[i]), nodes[child[i]], nodes[child[i] + 1], i)
        trees.append(nodes[0])
        first_leaf += n_leaves
    return trees


def find_leaf(tree: Tree, x: Point) -> Leaf:
    while isinstance(tree, Split):
        tree = tree.lower if x[tree.feature] <= tree.threshold else tree.upper
    return tree


def predict(trees: Sequence[Tree], x: Point) -> float:
    """F(x) = sum_k t_k(x) / M, summed in the order of the trees."""
    total = 0.0
    for tree in trees:
        total += find_leaf(tree, x)(x)
    return total / len(trees)


def leaves(tree: Tree) -> Iterator[Leaf]:
    """From the lowest to the uppermost."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        yield from leaves(tree.lower)
        yield from leaves(tree.upper)


def splits(tree: Tree) -> Iterator[Split]:
    if isinstance(tree, Split):
        yield tree
        yield from splits(tree.lower)
        yield from splits(tree.upper)


def depth(tree: Tree) -> int:
    return 0 if isinstance(tree, Leaf) else 1 + max(depth(tree.lower), depth(tree.upper))


def leaf_regions(tree: Tree, region: Region | None) -> Iterator[tuple[Leaf, Region | None]]:
    """Each leaf with the part of the region whose points reach it; None where no point does."""
    if isinstance(tree, Leaf):
        yield tree, region
    else:
        d, v = tree.feature, tree.threshold
        below = None if region is None else narrowed(region, d, region[d].below(v))
        above = None if region is None else narrowed(region, d, region[d].above(v))
        yield from leaf_regions(tree.lower, below)
        yield from leaf_regions(tree.upper, above)


def close(actual: Tree, expected: Tree, tolerance: float) -> bool:
    """The same splits, node for node, and leaves whose numbers differ by at most the tolerance."""
    if isinstance(actual, Split) and isinstance(expected, Split):
        return (
            (actual.feature, actual.threshold) == (expected.feature, expected.threshold)
            and close(actual.lower, expected.lower, tolerance)
            and close(actual.upper, expected.upper, tolerance)
        )
    if isinstance(actual, Leaf) and isinstance(expected, Leaf):
        return all(abs(a - b) <= tolerance for a, b in zip(actual.model, expected.model, strict=True))
    return False
