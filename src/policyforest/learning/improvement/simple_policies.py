"""Policies that are one leaf: a constant action, or one linear function of the state."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.linear_systems import solved
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.policy.policy import Policy
from policyforest.policy.policy_info import PolicyInfo

# The ridge of a global linear policy, as a part of the samples' weight.
RIDGE = 1e-6


def constant_policy(data: Transitions, action: Floats) -> Policy:
    """The policy that always takes one action."""
    box = data.state_box()
    return make_policy(data, [one_leaf(box, np.append(np.zeros(len(box)), a)) for a in action], "constant")


def linear_policy(data: Transitions, states: Floats, actions: Floats, weights: Floats) -> Policy:
    """The linear function of the state that fits weighted actions best, clipped to the action box."""
    centre, scale = states.mean(axis=0), states.std(axis=0)
    scale = np.where(scale > 1e-9 * (1.0 + np.abs(centre)), scale, np.inf)
    features = np.concatenate([(states - centre) / scale, np.ones((len(states), 1))], axis=1)
    weighted = features * weights[:, None]
    gram = weighted.T @ features + RIDGE * weights.sum() * np.eye(features.shape[1])
    slopes = solved(gram, weighted.T @ actions)
    slopes[:-1] /= scale[:, None]
    slopes[-1] -= centre @ slopes[:-1]
    return make_policy(data, [one_leaf(data.state_box(), column) for column in slopes.T], "linear")


def one_leaf(box: Floats, coefficients: Floats) -> Forest:
    """The forest of one tree of one linear leaf (w…, c)."""
    return Forest.from_arrays(
        feature=np.array([-1], dtype=np.int32),
        split=np.zeros(1),
        child=np.zeros(1, dtype=np.int32),
        node_offsets=np.array([0, 1], dtype=np.int64),
        box=box,
        coefficients=coefficients[None],
    )


def make_policy(data: Transitions, forests: list[Forest], method: str) -> Policy:
    """A policy for the spaces of the samples."""
    return Policy(
        tuple(forests),
        data.observation_space,
        data.action_space,
        data.periodic,
        PolicyInfo.made_now(method, {}, len(data)),
    )


def middle_action(data: Transitions) -> Floats:
    """Zero if the action box contains it, else the middle of the box."""
    box = bounds(data.action_space)
    return np.asarray(np.where((box[:, 0] <= 0) & (box[:, 1] >= 0), 0.0, box.mean(axis=1)))
