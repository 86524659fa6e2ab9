"""Why a policy acts as it does at one state, in words.

Every tree makes a few comparisons and reaches a leaf. Together, the comparisons give a range for each state dimension.
These ranges form a cell. While the state stays in the cell, no tree changes its leaf, and the action is one linear
function (or a constant).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array
from policyforest.forest.forest import Forest
from policyforest.forest.maximiser import states_in_box

if TYPE_CHECKING:
    from policyforest.policy.policy import Policy


@dataclass(frozen=True)
class Condition:
    """A range of one state dimension, (low, high], infinite where nothing bounds it."""

    dim: int
    name: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isinf(self.low) and np.isinf(self.high):
            return f"{self.name} may be anything"
        if np.isinf(self.low):
            return f"{self.name} = {self.value:.4g} is at most {self.high:.4g}"
        if np.isinf(self.high):
            return f"{self.name} = {self.value:.4g} is above {self.low:.4g}"
        return f"{self.name} = {self.value:.4g} is above {self.low:.4g} and at most {self.high:.4g}"


@dataclass(frozen=True)
class Explanation:
    """Why a policy acts as it does at one state: the cell that the state is in, and the function there."""

    action_name: str
    action: float
    before_clipping: float
    conditions: tuple[Condition, ...]
    """While all of them hold, no tree changes its leaf"""
    constant: float
    slopes: Floats
    """In the cell the action is constant + slopes · state, clipped to the action box"""
    n_trees: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        told = [str(c) for c in self.conditions if np.isfinite(c.low) or np.isfinite(c.high)]
        because = "\n".join(f"  - {text}" for text in told) or "  - no state changes it"
        terms = "".join(f" {w:+.4g} · {name}" for w, name in zip(self.slopes, self.names, strict=True) if w != 0)
        law = f"{self.constant:.4g}{terms}"
        clipped = "" if self.action == self.before_clipping else f", clipped from {self.before_clipping:.4g}"
        return (
            f"{self.action_name} is {self.action:.4g}{clipped}, because\n{because}\n"
            f"While that holds, all {self.n_trees} trees stay in their leaves, and {self.action_name} = {law}."
        )


def explain(policy: Policy, state: ArrayLike, names: Sequence[str] | None = None) -> tuple[Explanation, ...]:
    """The leaf conditions that decided, one explanation per action dimension."""
    from policyforest._support.labels import labels_of

    dims = policy.observation_space.shape[0]
    given = finite_array("state", state, 1)
    if given.shape != (dims,):
        raise ValueError(f"state: has shape {given.shape}, must have shape {(dims,)}")
    labels = labels_of(policy)
    told = tuple(names) if names is not None else labels.states
    if len(told) != dims:
        raise ValueError(f"names: has {len(told)} names, must have one for each of {dims} state dimensions")
    unbounded = np.tile([-np.inf, np.inf], (dims, 1))
    x = states_in_box(given[np.newaxis], unbounded, policy.periodic)[0]
    action = policy.native.act(given)
    return tuple(
        _explained(forest, x, told, labels.actions[j], float(action[j])) for j, forest in enumerate(policy.forests)
    )


def _explained(forest: Forest, x: Floats, names: tuple[str, ...], action_name: str, action: float) -> Explanation:
    arrays, dims = forest.arrays, len(x)
    low, high = np.full(dims, -np.inf), np.full(dims, np.inf)
    model = np.zeros(dims + 1)
    for tree in range(len(forest)):
        first, node = int(arrays["node_offsets"][tree]), int(arrays["node_offsets"][tree])
        while (d := int(arrays["feature"][node])) >= 0:
            split, below = float(arrays["split"][node]), bool(x[d] <= arrays["split"][node])
            node = first + int(arrays["child"][node]) + (not below)
            low[d], high[d] = (low[d], min(high[d], split)) if below else (max(low[d], split), high[d])
        if forest.leaf_model == "linear":
            model += arrays["coefficients"][int(arrays["leaf_offsets"][tree]) + int(arrays["child"][node])]
        else:
            model[dims] += arrays["split"][node]
    model /= len(forest)
    conditions = tuple(Condition(d, names[d], float(x[d]), float(low[d]), float(high[d])) for d in range(dims))
    before = float(forest.predict(x[np.newaxis])[0])
    return Explanation(action_name, action, before, conditions, float(model[dims]), model[:dims], len(forest), names)
