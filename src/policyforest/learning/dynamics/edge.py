"""Where the data ends, and what it costs to leave it: nothing is known there, and a plan must not profit from that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions

# A next state that is beyond the data by this fraction of a dimension's range counts as leaving the data.
EDGE_MARGIN = 0.02
WORST, BAD_END = 0.01, 0.10


class Edge(NamedTuple):
    """The box of the data, with its fields in the order of the core's arguments."""

    box: Floats
    margin: Floats
    """One per dimension; infinite if the dimension never varied"""
    ends: bool
    """Whether a step that leaves the data ends there, worth `value`; otherwise it earns at most `reward`"""
    value: float
    reward: float

    def left(self, next_states: Floats) -> NDArray[np.bool_]:
        """Which next states are outside of the box and its margin."""
        low, high = self.box.T
        inside = (next_states >= low - self.margin) & (next_states <= high + self.margin)
        left: NDArray[np.bool_] = ~inside.all(axis=1)
        return left

    def kept(self, next_states: Floats) -> Floats:
        """The nearest states of the box."""
        low, high = self.box.T
        kept: Floats = np.where(np.isnan(next_states), low, np.clip(next_states, low, high))
        return kept


def find_edge(data: Transitions, discount: float) -> Edge:
    """The edge of samples under a discount.

    If there are terminal states, a rollout ends when it leaves the data. Its value is then that of the worst of 100
    rewards for ever or that of a bad end, whichever is less. Without terminal states, a step that leaves the data earns
    at most the worst of 100 rewards."""
    living = np.concatenate([data.states, data.next_states[~data.terminals]])
    box = np.stack([living.min(axis=0), living.max(axis=0)], axis=1)
    for d, sides in data.periodic.items():
        box[d] = sides
    width = box[:, 1] - box[:, 0]
    margin = np.where(width > 1e-9, EDGE_MARGIN * width, np.inf)
    rewards = data.rewards[~data.terminals] if (~data.terminals).any() else data.rewards
    worst = float(np.quantile(rewards, WORST))
    value = worst / (1.0 - discount) if worst < 0 else worst
    if data.terminals.any():
        value = min(value, float(np.quantile(data.rewards[data.terminals], BAD_END)))
    return Edge(box, margin, bool(data.terminals.any()), value, worst)
