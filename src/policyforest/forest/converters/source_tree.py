"""Trees as other libraries store them, and how they become the flat arrays of a `Forest`.

Other libraries number the nodes of a tree in different orders. In a `Forest`, the two children of a node must be next
to each other and after their parent. Breadth-first order has both properties: the j-th inner node in that order has its
children at 1 + 2j and 2 + 2j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SourceTree:
    """A binary tree whose root is node 0; nodes that cannot be reached from the root are ignored.

    `feature` is -1 at leaves. `split` is the threshold of an inner node (`x[feature] <= split` goes left, in
    float64) and the value of a leaf.
    """

    feature: NDArray[np.int64]
    split: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


def leaf_tree(value: float) -> SourceTree:
    """The tree whose value is `value` everywhere."""
    none = np.array([-1], dtype=np.int64)
    return SourceTree(feature=none, split=np.array([value], dtype=np.float64), left=none, right=none)


def mean_of_sum(trees: Sequence[SourceTree], constant: float) -> list[SourceTree]:
    """Trees whose mean is `constant + t_1(x) + … + t_M(x)`: boosted trees are summed, those of a `Forest` averaged.

    The constant is added to the first tree, so that the additions have the same order as in boosting. Every leaf is
    then multiplied by M, which costs a rounding if M is not a power of two.
    """
    if not trees:
        return [leaf_tree(constant)]
    first = _map_leaves(trees[0], 1.0, constant)
    return [_map_leaves(tree, float(len(trees)), 0.0) for tree in (first, *trees[1:])]


def _map_leaves(tree: SourceTree, factor: float, constant: float) -> SourceTree:
    split = np.where(tree.feature < 0, (constant + tree.split) * factor, tree.split)
    return replace(tree, split=split)


def forest_arrays(trees: Sequence[SourceTree]) -> dict[str, NDArray[np.generic]]:
    """The arguments `feature`, `split`, `child` and `node_offsets` of `Forest.from_arrays`."""
    orders = [_breadth_first(tree) for tree in trees]
    features = [tree.feature[order] for tree, order in zip(trees, orders, strict=True)]
    return {
        "feature": np.concatenate(features).astype(np.int32),
        "split": np.concatenate([tree.split[order] for tree, order in zip(trees, orders, strict=True)]),
        "child": np.concatenate([_children(feature) for feature in features]),
        "node_offsets": np.cumsum([0] + [order.size for order in orders], dtype=np.int64),
    }


def _breadth_first(tree: SourceTree) -> NDArray[np.int64]:
    levels = [np.zeros(1, dtype=np.int64)]
    while True:
        inner = levels[-1][tree.feature[levels[-1]] >= 0]
        if inner.size == 0:
            return np.concatenate(levels)
        levels.append(np.column_stack((tree.left[inner], tree.right[inner])).ravel())


def _children(feature: NDArray[np.int64]) -> NDArray[np.int32]:
    """The lower child of each inner node and the ordinal of each leaf, for nodes in breadth-first order."""
    leaf = feature < 0
    ordinal = np.cumsum(leaf) - 1
    lower = 2 * np.cumsum(~leaf) - 1
    return np.where(leaf, ordinal, lower).astype(np.int32)
