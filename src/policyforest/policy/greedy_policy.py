"""The policy that is greedy in a Q forest (the paper's "FQI"): the arg max is searched at each call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array, moderate, one_of, whole_number
from policyforest._support.spaces import bounds, require_actions, require_observations
from policyforest.forest.best_actions import SEARCH_MODES, SearchMode
from policyforest.forest.forest import Forest
from policyforest.forest.growth_rules import period_rows
from policyforest.forest.maximiser import states_in_box
from policyforest.policy.acting import ActingPolicy
from policyforest.policy.policy_info import PolicyInfo


@dataclass(frozen=True, eq=False)
class GreedyPolicy(ActingPolicy):
    """Acts by the arg max of a Q forest. A state outside the forest's box gets the action of the nearest state inside.

    `action_search` sets how the arg max is searched, as in `Forest.best_action`."""

    kind = "greedy"

    forest: Forest
    observation_space: Box
    action_space: Box
    action_search: SearchMode = "exact"
    max_leaves: int = 50
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("fqi"))
    periodic: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_states = require_observations("observation_space", self.observation_space).shape[0]
        n_actions = require_actions("action_space", self.action_space).shape[0]
        one_of("action_search", self.action_search, SEARCH_MODES)
        whole_number("max_leaves", self.max_leaves, at_least=1)
        if self.forest.n_inputs != n_states + n_actions:
            raise ValueError(f"forest: has {self.forest.n_inputs} inputs, must have {n_states} + {n_actions}")
        if not np.isfinite(self.forest.box[n_states:]).all():
            raise ValueError("forest: its box is unbounded in an action, must be finite there")
        moderate("forest", self.forest.arrays["split"])
        period_rows(self.periodic, n_states)

    def act(self, state: ArrayLike) -> Floats:
        """The action of the largest Q at one state."""
        action: Floats = self.act_batch(finite_array("state", state, 1)[np.newaxis])[0]
        return action

    def act_batch(self, states: ArrayLike) -> Floats:
        """The actions of the largest Q, for rows of states."""
        box = self.forest.box[: self.observation_space.shape[0]]
        rows = states_in_box(states, box, self.periodic)
        found = self.forest.best_action_inside(rows, self.action_search, self.max_leaves, 1)
        box = bounds(self.action_space)
        return np.clip(found.action, box[:, 0], box[:, 1])
