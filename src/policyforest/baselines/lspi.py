"""LSPI with a finite set of actions: a block of features of the state for each action (Lagoudakis & Parr, 2003)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from policyforest._support.arguments import Floats, whole_number
from policyforest._support.spaces import bounds
from policyforest.baselines.bases import Basis
from policyforest.baselines.finite_actions import action_grid, nearest_action
from policyforest.baselines.least_squares import Decisions, check_iteration
from policyforest.baselines.linear_policy import LinearPolicy, learned_fields
from policyforest.baselines.sample_checks import check_transitions, visited_box
from policyforest.data.transitions import Transitions


@dataclass(frozen=True)
class LSPI:
    """Learns Q(s, a) = w_a . phi(s) for a few actions a. `fit(transitions)` returns an `LSPIPolicy`.

    Args:
        discount: gamma, in [0, 1).
        n_actions: Evenly spaced values of each action dimension; for several dimensions, all combinations of them. A
            sample with another action counts for the nearest one.
        basis: phi, defined over the sampled states; None for `default_basis`.
        residual: beta, in [0, 1]: 0 for plain LSTDQ, 1 for the Bellman residual; see `least_squares`.
        max_iterations: The largest number of policies to evaluate.
        ridge: Regularisation, relative to the features' mean square.
    """

    discount: float = 0.98
    n_actions: int = 3
    basis: Basis | None = None
    residual: float = 0.0
    max_iterations: int = 20
    ridge: float = 1e-6

    def __post_init__(self) -> None:
        whole_number("n_actions", self.n_actions, at_least=2)
        check_iteration(self.discount, self.residual, self.max_iterations, self.ridge)

    def fit(self, transitions: Transitions) -> LSPIPolicy:
        """Learns from a batch of samples."""
        check_transitions(transitions)
        action_box, state_box = bounds(transitions.action_space), visited_box(transitions)
        actions = action_grid(action_box, self.n_actions)
        decisions = Decisions(
            inputs=transitions.states,
            blocks=nearest_action(transitions.actions, action_box, self.n_actions),
            rewards=transitions.rewards,
            next_inputs=transitions.next_states,
            discounts=np.where(transitions.terminals, 0.0, self.discount),
            residual=np.full(len(transitions), self.residual),
            menus=np.arange(len(actions))[np.newaxis],
            next_menu=np.zeros(len(transitions), dtype=np.int64),
        )
        return LSPIPolicy(actions=actions, **learned_fields("lspi", self, transitions, state_box, decisions))


@dataclass(frozen=True, eq=False, kw_only=True)
class LSPIPolicy(LinearPolicy):
    """pi(s) = arg max_a w_a . phi(s) over the rows of `actions`; ties go to the lowest."""

    kind = "lspi"

    actions: Floats = field(repr=False)

    def choose(self, states: Floats) -> Floats:
        """Actions for rows of states that have been checked: of all discrete actions, the one with the largest Q."""
        values = self.values(states, self.weights.T)
        chosen: Floats = self.actions[values.argmax(axis=1)]
        return chosen
