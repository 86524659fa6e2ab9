"""A finite set of actions in place of a box of them."""

from __future__ import annotations

from itertools import product

import numpy as np

from policyforest._support.arguments import Floats, finite_array, whole_number
from policyforest._support.spaces import bounds, require_actions
from policyforest.data.sample_checks import Ints
from policyforest.policy.policy_parts import Parts

MOST_ACTIONS = 10_000


def action_grid(action_box: Floats, n_actions: int) -> Floats:
    """`n_actions` evenly spaced values of each dimension, bounds included, and all their combinations: (A, dA).

    The lowest comes first, so that an arg max over the rows sends ties to the lowest action.
    """
    values = whole_number("n_actions", n_actions, at_least=2)
    if values ** len(action_box) > MOST_ACTIONS:
        raise ValueError(
            f"n_actions: is {values} in each of {len(action_box)} dimensions, must make at most {MOST_ACTIONS} actions"
        )
    return np.array(list(product(*(np.linspace(low, high, values) for low, high in action_box))))


def stored_actions(parts: Parts) -> Floats:
    """The actions that the file of a policy holds, checked: (A, dA)."""
    box = bounds(require_actions("action_space", parts.action_space))
    actions = finite_array("actions", parts.array("actions", "<f8", 2), 2)
    if actions.shape[1] != len(box) or (actions < box[:, 0]).any() or (actions > box[:, 1]).any():
        raise ValueError(f"its actions of shape {actions.shape} do not lie in {box.tolist()}")
    return actions


def nearest_step(actions: Floats, action_box: Floats, n_actions: int) -> Ints:
    """For each entry of the actions, the number of the nearest of `n_actions` evenly spaced values: (N, dA)."""
    low, width = action_box[:, 0], action_box[:, 1] - action_box[:, 0]
    share = np.divide(actions - low, width, out=np.zeros_like(actions), where=width > 0.0)
    steps: Ints = np.rint(share * (n_actions - 1)).astype(np.int64)
    return steps


def nearest_action(actions: Floats, action_box: Floats, n_actions: int) -> Ints:
    """For each action, the row of `action_grid` that is nearest: (N,)."""
    steps = nearest_step(actions, action_box, n_actions)
    rows: Ints = np.ravel_multi_index(tuple(steps.T), (n_actions,) * len(action_box)).astype(np.int64)
    return rows
