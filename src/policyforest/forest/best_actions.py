"""The ways to find the maximum of a forest over its actions: exact, bounded in cost, or merged as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest.forest.bounded_search import bounded_best_action

SearchMode = Literal["exact", "bounded", "merged"]
SEARCH_MODES: tuple[SearchMode, ...] = ("exact", "bounded", "merged")


@dataclass(frozen=True)
class BestActions:
    """Maxima of F(s, ·) over the action box, one row per state."""

    value: Floats
    """F(s, a) at the best action: (n,)"""
    action: Floats
    """The best action: (n, action dimensions)"""
    box: Floats
    """Rows (lo, hi) of a box where F(s, ·) has this value: (n, action dimensions, 2)"""


def best_actions(
    native: _core.Forest, rows: Floats, actions: list[int], search: SearchMode, max_leaves: int, n_threads: int
) -> BestActions:
    """The maxima for rows of all inputs that are finite and inside the box. `actions` are the inputs to search over,
    whose values in the rows do not matter."""
    is_action = [int(d in actions) for d in range(native.n_inputs)]
    if search == "merged":
        found = _core.merged_best_action(native, rows, is_action, max_leaves, n_threads)
    elif len(actions) == 1:
        found = _core.line_search(native, rows, actions[0], n_threads)
    elif search == "bounded":
        found = bounded_best_action(native, rows, actions, n_threads)
    else:
        found = _core.branch_and_bound(native, rows, is_action, n_threads)
    value, action, lo, hi = found
    return BestActions(value, action, np.stack([lo, hi], axis=-1))
