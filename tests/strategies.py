"""Random forests, boxes and points for the property tests.

Numbers are mostly halves between -3 and 3: thresholds then coincide with each other, with the sides of the
box and with the points that are looked up. The rest are awkward floats: subnormal, -0.0, or one bit apart.
Arrays are the keyword arguments of `Forest.from_arrays`.

Hypothesis draws the sizes and a seed, and makes those small when a test fails; NumPy draws the many numbers,
ten times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nextafter
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles.forest import Tree, splits

Arrays = dict[str, Any]
Numbers = Callable[[np.random.Generator, int], np.ndarray]  # so many random numbers

SEEDS = st.integers(0, 2**32 - 1)
HALVES = np.arange(-6, 7) / 2
AWKWARD = [0.0, -0.0, 5e-324, -5e-324, 2e-308, 0.1, nextafter(1.0, 2.0), nextafter(1.0, 0.0)]


def halves(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.choice(HALVES, size)


def whole_numbers(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(-8, 9, size).astype(np.float64)


def uneven(rng: np.random.Generator, size: int) -> np.ndarray:
    """No two alike, none exact."""
    return rng.uniform(-10.0, 10.0, size)


def mixed(rng: np.random.Generator, size: int) -> np.ndarray:
    """Halves, awkward floats and a few arbitrary ones, which come again and again."""
    return rng.choice([*HALVES[3:10], *rng.choice(AWKWARD, 4), *rng.uniform(-3.0, 3.0, 3)], size)


def random_box(rng: np.random.Generator, n_inputs: int, numbers: Numbers, unbounded: bool) -> np.ndarray:
    """[[lo, hi], …] between -3 and 3: some sides without width, and infinite ones where those are allowed."""
    box = np.sort(numbers(rng, 2 * n_inputs).reshape(n_inputs, 2), axis=1)
    infinite = rng.random(box.shape) < (0.3 if unbounded else 0.0)
    return np.where(infinite, [-inf, inf], box)


class GrowingTree:
    """One tree in flat lists, its nodes in the order of the splits: neither depth- nor breadth-first."""

    def __init__(self) -> None:
        self.feature, self.split, self.child = [-1], [0.0], [0]

    def random_leaf(self, rng: np.random.Generator) -> int:
        return int(rng.choice(np.flatnonzero(np.array(self.feature) == -1)))

    def grow(self, leaf: int, d: int, threshold: float) -> None:
        self.feature[leaf], self.split[leaf], self.child[leaf] = d, threshold, len(self.feature)
        self.feature += [-1, -1]
        self.split += [0.0, 0.0]
        self.child += [0, 0]

    def arrays(self) -> Arrays:
        is_leaf = np.array(self.feature) == -1
        return {
            "feature": np.array(self.feature, dtype=np.int32),
            "split": np.array(self.split, dtype=np.float64),
            "child": np.where(is_leaf, np.cumsum(is_leaf) - 1, self.child).astype(np.int32),
        }


def random_tree(rng: np.random.Generator, n_inputs: int, thresholds: Numbers, n_splits: int) -> Arrays:
    """Starting from one leaf, some leaf is split again and again, anywhere."""
    tree = GrowingTree()
    for d, threshold in zip(rng.integers(0, n_inputs, n_splits), thresholds(rng, n_splits), strict=True):
        tree.grow(tree.random_leaf(rng), int(d), float(threshold))
    return tree.arrays()


def joined(parts: Sequence[Arrays], box: np.ndarray) -> Arrays:
    """The trees one behind the other; all leaves are 0."""
    arrays: Arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    arrays["node_offsets"] = np.cumsum([0] + [len(part["feature"]) for part in parts], dtype=np.int64)
    return {**arrays, "box": box, "coefficients": None}


def with_leaves(rng: np.random.Generator, arrays: Arrays, model: str, values: Numbers) -> Arrays:
    """The same trees with random leaves, "constant" or "linear"."""
    is_leaf = arrays["feature"] == -1
    n_leaves, width = int(is_leaf.sum()), len(arrays["box"]) + 1
    if model == "linear":
        return {**arrays, "coefficients": values(rng, n_leaves * width).reshape(n_leaves, width)}
    split = arrays["split"].copy()
    split[is_leaf] = values(rng, n_leaves)
    return {**arrays, "split": split}


def forests(
    *,
    model: str | None = None,
    values: Numbers | None = None,
    inputs: tuple[int, int] = (1, 5),
    n_trees: tuple[int, int] = (1, 4),
    max_splits: int = 8,
    unbounded: bool = False,
) -> st.SearchStrategy[Arrays]:
    """Any forest at all: thresholds may lie outside the box, and nodes may be out of reach of every point."""

    def build(n_inputs: int, n_trees: int, n_splits: int, seed: int, numbers: Numbers, model: str) -> Arrays:
        rng = np.random.default_rng(seed)
        sizes = rng.integers(n_splits // 2, n_splits + 1, n_trees)
        parts = [random_tree(rng, n_inputs, numbers, size) for size in sizes]
        arrays = joined(parts, random_box(rng, n_inputs, numbers, unbounded))
        return with_leaves(rng, arrays, model, values or numbers)

    models = st.sampled_from(["constant", "linear"]) if model is None else st.just(model)
    sizes = (st.integers(*inputs), st.integers(*n_trees), st.integers(0, max_splits))
    return st.builds(build, *sizes, SEEDS, st.sampled_from([halves, mixed]), models)


def random_partition(rng: np.random.Generator, box: np.ndarray, eighths: Sequence[int], n_splits: int) -> Arrays:
    """A tree whose splits lie strictly inside their regions, at some eighth of the width."""
    wide = np.flatnonzero(box[:, 0] < box[:, 1])
    tree, regions = GrowingTree(), [box]
    for _ in range(n_splits):
        leaf, d = tree.random_leaf(rng), int(rng.choice(wide))
        lo, hi = regions[leaf][d]
        tree.grow(leaf, d, lo + (hi - lo) * rng.choice(eighths) / 8)
        below, above = regions[leaf].copy(), regions[leaf].copy()
        below[d, 1] = above[d, 0] = tree.split[leaf]
        regions += [below, above]
    return tree.arrays()


def partitions(
    *, model: str, eighths: Sequence[int], values: Numbers, max_splits: int, n_trees: tuple[int, int] = (1, 1)
) -> st.SearchStrategy[Arrays]:
    """Forests of such trees. The box has sides of length 0 or a power of two, so volumes are exact."""

    def build(n_inputs: int, n_trees: int, n_splits: int, seed: int) -> Arrays:
        rng = np.random.default_rng(seed)
        widths = rng.permutation([2.0, *rng.choice([0.0, 0.5, 1.0, 4.0], n_inputs - 1)])
        lower = halves(rng, n_inputs)
        box = np.stack([lower, lower + widths], axis=1)
        parts = [random_partition(rng, box, eighths, n_splits) for _ in range(n_trees)]
        return with_leaves(rng, joined(parts, box), model, values)

    return st.builds(build, st.integers(1, 3), st.integers(*n_trees), st.integers(0, max_splits), SEEDS)


def probes(plain: Sequence[Tree], box: np.ndarray, seed: int, count: int = 40) -> np.ndarray:
    """Points of the closed box: coordinates on its sides, on thresholds, one bit next to them, and between."""
    rng = np.random.default_rng(seed)
    columns = []
    for d, (lo, hi) in enumerate(np.clip(box, -10.0, 10.0)):
        near = [lo, hi, *(split.threshold for tree in plain for split in splits(tree) if split.feature == d)]
        near += [nextafter(x, toward) for x in near for toward in (-inf, inf)]
        inside = [x for x in near if lo <= x <= hi]
        between = (rng.choice(inside, count) + rng.choice(inside, count)) / 2
        columns.append(np.where(rng.random(count) < 0.8, rng.choice(inside, count), between))
    return np.clip(np.stack(columns, axis=1), box[:, 0], box[:, 1])
