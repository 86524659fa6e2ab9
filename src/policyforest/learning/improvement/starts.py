"""The best constant action: the simplest policy that an improvement may start from, and what it has to beat."""

from __future__ import annotations

from itertools import product

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.simple_policies import constant_policy, middle_action
from policyforest.policy.policy import Policy

# Corners of the action box are tried up to this number of dimensions, and this many actions between them.
CORNERS, TRIED, STARTS = 4, 16, 60


def best_constant(rollouts: ModelRollouts, starts: Floats, n_steps: int, seed: int) -> Policy:
    """The constant action that earns most in the model; `middle_action` if none is better than it on every member."""
    data = rollouts.model.transitions
    rng = np.random.default_rng([seed, 31])
    states = starts[rng.integers(len(starts), size=STARTS)]
    zero = middle_action(data)
    worth = _worth(rollouts, data, zero, states, n_steps, seed)
    best, top = zero, worth
    for action in _actions(data, rng):
        found = _worth(rollouts, data, action, states, n_steps, seed)
        if (found - worth).min() > 0 and found.mean() > top.mean():
            best, top = action, found
    return constant_policy(data, best)


def _worth(
    rollouts: ModelRollouts, data: Transitions, action: Floats, states: Floats, n_steps: int, seed: int
) -> Floats:
    policy = constant_policy(data, action)
    members = range(rollouts.n_members)
    values = [rollouts.values(policy, states, n_steps=n_steps, seed=seed + b, member=b).mean() for b in members]
    return np.array(values)


def _actions(data: Transitions, rng: np.random.Generator) -> list[Floats]:
    box = bounds(data.action_space)
    inner = box[:, 0] + (box[:, 1] - box[:, 0]) * rng.random((TRIED, len(box)))
    corners = [np.array(corner) for corner in product(*box)] if len(box) <= CORNERS else []
    return [*corners, *inner]
