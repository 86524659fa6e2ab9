"""The number of comparisons that a policy makes for a state, and its bound over all states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest.forest.forest import Forest
from policyforest.policy.policy import Policy


def comparisons(policy: Policy, states: ArrayLike) -> NDArray[np.int64]:
    """Comparisons with thresholds in `policy.act(state)`, one number per state; angles must be within their turn."""
    rows = np.asarray(states, dtype=np.float64)
    total = np.zeros(len(rows), dtype=np.int64)
    for forest in policy.forests:
        for k in range(len(forest)):
            total += _steps(forest, k, rows)
    return total


def _steps(forest: Forest, k: int, rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """The depths of the leaves that the rows fall into; all rows go down the tree together."""
    arrays = forest.arrays
    nodes = slice(int(arrays["node_offsets"][k]), int(arrays["node_offsets"][k + 1]))
    feature, split, child = arrays["feature"][nodes], arrays["split"][nodes], arrays["child"][nodes]
    at = np.zeros(len(rows), dtype=np.int64)
    steps = np.zeros(len(rows), dtype=np.int64)
    moving = np.flatnonzero(feature[at] >= 0)
    while len(moving):
        here = at[moving]
        upper = rows[moving, feature[here]] > split[here]
        at[moving] = child[here] + upper
        steps[moving] += 1
        moving = moving[feature[at[moving]] >= 0]
    return steps
