"""Where the leaves of a forest lie in the state box, and the values they take there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.forest.forest import Forest


@dataclass(frozen=True)
class LeafBoxes:
    """One row per leaf, in the order of the leaves."""

    lo: Floats
    hi: Floats

    def ranges(self, coefficients: Floats, margin: Floats) -> tuple[Floats, Floats]:
        """The smallest and largest value of w·x + c over each leaf's box, made larger by `margin` on every side."""
        weights, intercepts = coefficients[:, :-1], coefficients[:, -1]
        middle = intercepts + (weights * (self.lo + self.hi) / 2).sum(axis=1)
        reach = (np.abs(weights) * ((self.hi - self.lo) / 2 + margin)).sum(axis=1)
        return middle - reach, middle + reach


def leaf_boxes(forest: Forest, box: Floats) -> LeafBoxes:
    """The part of `box` that falls into each leaf; a leaf outside of it gets a box without width on its border."""
    arrays = forest.arrays
    feature, child, split = arrays["feature"].tolist(), arrays["child"].tolist(), arrays["split"].tolist()
    lo: list[Floats] = []
    hi: list[Floats] = []
    for first, end in zip(arrays["node_offsets"][:-1].tolist(), arrays["node_offsets"][1:].tolist(), strict=True):
        sides = {first: (box[:, 0], box[:, 1])}
        for i in range(first, end):
            low, high = sides.pop(i)
            d = feature[i]
            if d < 0:
                lo.append(low)
                hi.append(high)
                continue
            at = min(max(split[i], low[d]), high[d])
            below, above = high.copy(), low.copy()
            below[d] = above[d] = at
            sides[first + child[i]] = (low, below)
            sides[first + child[i] + 1] = (above, high)
    return LeafBoxes(np.array(lo), np.array(hi))
