"""Fitted Q Iteration over a few evenly spaced actions (Ernst et al., 2005), the usual method.

The forest over (s, a) is the same as in `FittedQIteration`, but the maximum is taken over the rows of a finite set:

    y = r + gamma max_j Q_(h-1)(s', a_j)    (y = r where s' is terminal),    pi(s) = arg max_j Q(s, a_j).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Array, Floats, real_number, seed_number, whole_number
from policyforest._support.spaces import bounds
from policyforest.baselines.batch_policy import BatchPolicy
from policyforest.baselines.finite_actions import action_grid, stored_actions
from policyforest.baselines.sample_checks import check_transitions
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.forest.maximiser import states_in_box
from policyforest.policy.policy_info import PolicyInfo
from policyforest.policy.policy_parts import Parts, PolicyKind, forest_arrays, periodic_setting


@dataclass(frozen=True)
class DiscreteFQI:
    """Learns Q for a finite set of actions. `fit(transitions)` returns a `DiscretePolicy`.

    Args:
        discount: gamma, in [0, 1).
        horizon: H, the number of iterations.
        n_actions: Evenly spaced values of each action dimension, bounds included; for several dimensions, all
            combinations of them.
        n_estimators: The number of trees of the Q forest.
        max_features: As in `grow_forest`, for the Q forest.
        min_samples_leaf: As in `grow_forest`, for the Q forest.
        min_variance: As in `grow_forest`, for the Q forest.
    """

    discount: float = 0.98
    horizon: int = 20
    n_actions: int = 5
    n_estimators: int = 25
    max_features: int | None = None
    min_samples_leaf: int | None = 1
    min_variance: float = 0.0
    random_state: int = 0
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        whole_number("horizon", self.horizon, at_least=1)
        whole_number("n_actions", self.n_actions, at_least=2)

    def fit(self, transitions: Transitions) -> DiscretePolicy:
        """Learns from a batch of samples."""
        check_transitions(transitions)
        data = transitions
        action_box = bounds(data.action_space)
        actions = action_grid(action_box, self.n_actions)
        seed = seed_number("random_state", self.random_state)
        box = np.concatenate([data.state_box(), action_box])
        inputs = np.concatenate([data.states, data.actions], axis=1)
        living = ~data.terminals
        targets = data.rewards.copy()
        for h in range(1, self.horizon + 1):
            forest = grow_forest(
                inputs,
                targets,
                n_estimators=self.n_estimators,
                max_features=self.max_features,
                min_samples_leaf=self.min_samples_leaf,
                min_variance=self.min_variance,
                periodic=data.periodic,
                box=box,
                random_state=(seed + h) % 2**64,
                n_jobs=self.n_jobs,
            )
            targets = data.rewards.copy()
            ahead = action_values(forest, data.next_states[living], actions, self.n_jobs)
            targets[living] += self.discount * ahead.max(axis=1, initial=-np.inf)
        return DiscretePolicy(
            forest=forest,
            actions=actions,
            observation_space=data.observation_space,
            action_space=data.action_space,
            periodic=data.periodic,
            info=PolicyInfo.of("fqi-discrete", self, len(data)),
        )


@dataclass(frozen=True, eq=False)
class DiscretePolicy(BatchPolicy):
    """pi(s) = arg max_j Q(s, a_j) over the rows of `actions`; ties go to the lowest."""

    kind = "discrete"

    forest: Forest
    actions: Floats = field(repr=False)
    observation_space: Box
    action_space: Box
    periodic: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("fqi-discrete"), repr=False)

    def choose(self, states: Floats) -> Floats:
        """Actions for rows of states that have been checked: of all discrete actions, the one with the largest Q."""
        rows = states_in_box(states, self.forest.box[: states.shape[1]], self.periodic)
        chosen: Floats = self.actions[action_values(self.forest, rows, self.actions).argmax(axis=1)]
        return chosen


def action_values(forest: Forest, states: Floats, actions: Floats, n_jobs: int | None = 1) -> Floats:
    """Q(s_i, a_j): (N, A)."""
    if len(states) == 0:
        return np.empty((0, len(actions)))
    rows = np.concatenate([np.repeat(states, len(actions), axis=0), np.tile(actions, (len(states), 1))], axis=1)
    return forest.predict(rows, n_jobs).reshape(len(states), len(actions))


def _pack(policy: DiscretePolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays = forest_arrays("forest0", policy.forest) | {"actions": policy.actions}
    return arrays, {"periodic": periodic_setting(policy.periodic)}


def _unpack(parts: Parts) -> DiscretePolicy:
    actions = stored_actions(parts)
    forest = parts.forest("forest0")
    if forest.n_inputs != parts.observation_space.shape[0] + actions.shape[1]:
        raise ValueError(f"its forest has {forest.n_inputs} inputs, which is not the number of states and actions")
    return DiscretePolicy(forest, actions, parts.observation_space, parts.action_space, parts.periodic(), parts.info)


DISCRETE_KIND = PolicyKind(_pack, _unpack)
