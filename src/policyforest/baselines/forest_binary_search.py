"""Binary Action Search on Fitted Q Iteration: forests in place of a linear basis (Pazis & Lagoudakis, 2009, use both).

The decisions are those of `binary_action_search`: L = dA * N in each step. Decision j has a forest over the state, the
action so far and the choice. Only the last decision of a path has a reward and a discount. Therefore one iteration goes
through the path backwards, with the values v_L = r + gamma max_e Q_1(s', a_0, e) (r if s' is terminal):

    Q_j is grown on inputs (s, a_(j-1), e_j) and targets v_j,    v_(j-1) = max_e Q_j(s, a_(j-1), e),    j = L .. 1.

This method is for values with jumps, as on the Car on the Hill: every grid of smooth functions that LSPI can afford is
too coarse there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Array, Floats, real_number, seed_number, whole_number
from policyforest._support.spaces import bounds, require_actions
from policyforest.baselines.batch_policy import BatchPolicy
from policyforest.baselines.binary_action_search import binary_decisions, check_resolution, searched_actions
from policyforest.baselines.discrete_fqi import action_values
from policyforest.baselines.sample_checks import check_transitions
from policyforest.data.sample_checks import Bools
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.forest.maximiser import states_in_box
from policyforest.policy.policy_info import PolicyInfo
from policyforest.policy.policy_parts import Parts, PolicyKind, forest_arrays, periodic_setting

DOWN_AND_UP = np.array([[0.0], [1.0]])


@dataclass(frozen=True)
class ForestBinaryActionSearch:
    """Learns to search the action box by halving steps. `fit(transitions)` returns a `ForestBinarySearchPolicy`.

    Args:
        discount: gamma, in [0, 1).
        resolution: N, the decisions for each action dimension; it distinguishes 2^N actions.
        horizon: H, the number of iterations.
        n_estimators: The number of trees of each forest.
        min_samples_leaf: As in `grow_forest`.
        random_state: The seed.
        n_jobs: The number of threads; the result does not depend on it.
    """

    discount: float = 0.98
    resolution: int = 4
    horizon: int = 30
    n_estimators: int = 25
    min_samples_leaf: int | None = 1
    random_state: int = 0
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        check_resolution(self.resolution)
        whole_number("horizon", self.horizon, at_least=1)

    def fit(self, transitions: Transitions) -> ForestBinarySearchPolicy:
        """Learns from a batch of samples."""
        check_transitions(transitions)
        n, n_actions = transitions.actions.shape
        length = n_actions * self.resolution
        decisions = binary_decisions(transitions, self.resolution, self.discount, residual=0.0)
        at = decisions.inputs.reshape(n, length, -1)
        up = (decisions.blocks % 2).reshape(n, length, 1)
        living = ~transitions.terminals
        starts = decisions.next_inputs.reshape(n, length, -1)[living, -1]
        seed = seed_number("random_state", self.random_state)
        forests: dict[int, Forest] = {}
        for h in range(self.horizon):
            values = transitions.rewards.copy()
            if forests:
                values[living] += self.discount * self._best(forests[0], starts)
            for j in reversed(range(length)):
                inputs = np.concatenate([at[:, j], up[:, j]], axis=1)
                forests[j] = self._grow(transitions, inputs, values, (seed + h * length + j) % 2**64)
                if j > 0:
                    values = self._best(forests[j], at[:, j])
        return ForestBinarySearchPolicy(
            forests=tuple(forests[j] for j in range(length)),
            resolution=self.resolution,
            observation_space=transitions.observation_space,
            action_space=transitions.action_space,
            periodic=transitions.periodic,
            info=PolicyInfo.of("bas", self, n),
        )

    def _grow(self, transitions: Transitions, inputs: Floats, values: Floats, seed: int) -> Forest:
        """The forest of one decision, from rows (s, a, e) and their values."""
        return grow_forest(
            inputs,
            values,
            n_estimators=self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            periodic=transitions.periodic,
            box=np.concatenate([transitions.state_box(), bounds(transitions.action_space), [[0.0, 1.0]]]),
            random_state=seed,
            n_jobs=self.n_jobs,
        )

    def _best(self, forest: Forest, inputs: Floats) -> Floats:
        """max_e Q(s, a, e) for rows (s, a)."""
        best: Floats = action_values(forest, inputs, DOWN_AND_UP, self.n_jobs).max(axis=1, initial=-np.inf)
        return best


@dataclass(frozen=True, eq=False)
class ForestBinarySearchPolicy(BatchPolicy):
    """Moves the action up if decision j's forest has a higher value for up than for down, otherwise down."""

    kind = "forest-binary-action-search"

    forests: tuple[Forest, ...]
    resolution: int
    observation_space: Box
    action_space: Box
    periodic: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("bas"), repr=False)

    def choose(self, states: Floats) -> Floats:
        """Actions for rows of states that have been checked: the search goes up or down, by halving steps."""
        rows = states_in_box(states, self.forests[0].box[: states.shape[1]], self.periodic)
        return searched_actions(rows, bounds(self.action_space), self.resolution, self._goes_up)

    def _goes_up(self, decision: int, inputs: Floats) -> Bools:
        down, up = action_values(self.forests[decision], inputs, DOWN_AND_UP).T
        higher: Bools = up > down
        return higher


def _pack(policy: ForestBinarySearchPolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays: dict[str, Array] = {}
    for j, forest in enumerate(policy.forests):
        arrays |= forest_arrays(f"forest{j}", forest)
    return arrays, {"resolution": policy.resolution, "periodic": periodic_setting(policy.periodic)}


def _unpack(parts: Parts) -> ForestBinarySearchPolicy:
    n_actions = require_actions("action_space", parts.action_space).shape[0]
    resolution = check_resolution(parts.setting("resolution"))
    forests = tuple(parts.forest(f"forest{j}") for j in range(n_actions * resolution))
    n_inputs = parts.observation_space.shape[0] + n_actions + 1
    for forest in forests:
        if forest.n_inputs != n_inputs:
            raise ValueError(f"its forests have {forest.n_inputs} inputs, must have {n_inputs}")
    return ForestBinarySearchPolicy(
        forests, resolution, parts.observation_space, parts.action_space, parts.periodic(), parts.info
    )


FOREST_SEARCH_KIND = PolicyKind(_pack, _unpack)
