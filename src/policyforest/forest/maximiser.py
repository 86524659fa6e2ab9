"""The best action by a forest over (s, a), and states moved into the box of such a forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.angles import Periodic, turned_within
from policyforest._support.arguments import Floats, finite_array
from policyforest.forest.best_actions import SEARCH_MODES, BestActions, SearchMode
from policyforest.forest.forest import Forest

ActionSearch = Literal["auto", "exact", "bounded", "merged"]
ACTION_SEARCHES: tuple[ActionSearch, ...] = ("auto", *SEARCH_MODES)


def search_mode(search: ActionSearch, n_actions: int) -> SearchMode:
    """What "auto" stands for: the exact search over one action dimension, the bounded one over several."""
    if search == "auto":
        return "exact" if n_actions == 1 else "bounded"
    return search


def states_in_box(states: ArrayLike, box: Floats, periodic: Periodic) -> Floats:
    """Rows of states, angles turned into their period, moved to the nearest point of the box.

    Outside of the box a forest has the value of its outermost leaf, which is the leaf of that nearest point."""
    rows = finite_array("states", states, 2)
    if rows.shape[1] != len(box):
        raise ValueError(f"states: has {rows.shape[1]} columns, must have {len(box)}")
    if periodic:
        rows = rows.copy()
    for d, (lo, hi) in periodic.items():
        rows[:, d] = turned_within(rows[:, d], lo, hi)
    return np.clip(rows, box[:, 0], box[:, 1])


@dataclass(frozen=True, eq=False)
class Maximiser:
    """Finds the best actions by a Q forest; it is sent to the processes that search them."""

    forest: Forest
    n_states: int
    periodic: Periodic
    search: SearchMode
    max_leaves: int

    def __call__(self, states: ArrayLike, n_jobs: int | None = 1) -> BestActions:
        """The maxima at rows of states; those outside the forest's box count as the nearest inside."""
        rows = states_in_box(states, self.forest.box[: self.n_states], self.periodic)
        return self.forest.best_action_inside(rows, self.search, self.max_leaves, n_jobs)
