"""When do arrays describe a forest? The rules of `Forest.from_arrays`, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

LARGEST = 1e150  # of a leaf's numbers, so that sums and squares of them stay finite


def describe_a_forest(arrays: Mapping[str, Any]) -> bool:
    """Arrays of the right types and numbers of dimensions, with any numbers in them."""
    feature, split, child, offsets = (arrays[name] for name in ("feature", "split", "child", "node_offsets"))
    box, coefficients = arrays["box"], arrays["coefficients"]
    if not (len(feature) == len(split) == len(child) and np.isfinite(split).all()):
        return False
    if box.shape[1] != 2 or len(box) == 0 or not (box[:, 0] <= box[:, 1]).all():
        return False
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(feature):
        return False
    if any(begin >= end or end > len(feature) for begin, end in pairwise(offsets)):
        return False
    if ((feature < -1) | (feature >= len(box))).any():
        return False
    is_leaf = feature == -1
    if (np.abs(split[is_leaf]) > LARGEST).any():
        return False
    if coefficients is not None and len(coefficients) > 0:  # no rows: constant leaves
        if coefficients.shape != (is_leaf.sum(), len(box) + 1) or not (np.abs(coefficients) <= LARGEST).all():
            return False
        if (split[is_leaf] != 0.0).any():
            return False
    return all(_describe_a_tree(is_leaf[begin:end], child[begin:end]) for begin, end in pairwise(offsets))


def _describe_a_tree(is_leaf: np.ndarray, child: np.ndarray) -> bool:
    """Leaves are numbered, children come after their parent, and every node but the root has one parent."""
    if child[is_leaf].tolist() != list(range(is_leaf.sum())):
        return False
    inner = np.flatnonzero(~is_leaf)
    lower = child[inner].tolist()
    if any(c <= i for c, i in zip(lower, inner, strict=True)):
        return False
    return sorted(lower + [c + 1 for c in lower]) == list(range(1, len(is_leaf)))
