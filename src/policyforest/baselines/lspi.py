"""LSPI with a finite set of actions: a block of features of the state for each action (Lagoudakis & Parr, 2003)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from policyforest._support.arguments import Floats, real_number, whole_number
from policyforest._support.spaces import bounds
from policyforest.baselines.bases import Basis, default_basis
from policyforest.baselines.finite_actions import action_grid, nearest_action
from policyforest.baselines.least_squares import Decisions, policy_iteration
from policyforest.baselines.linear_policy import LinearPolicy
from policyforest.data.transitions import Transitions
from policyforest.policy.policy_info import PolicyInfo


@dataclass(frozen=True)
class LSPI:
    """Learns Q(s, a) = w_a . phi(s) for a few actions a. `fit(transitions)` returns an `LSPIPolicy`.

    Parameters
    ----------
    discount: gamma, in [0, 1).
    n_actions: evenly spaced values of each action dimension (their product for several). A sample with another action
        counts for the nearest one.
    basis: phi, laid over the sampled states; None for `default_basis`.
    residual: beta, in [0, 1]: 0 for LSTDQ proper, 1 for the Bellman residual; see `least_squares`.
    max_iterations: policies to evaluate at most.
    ridge: regularisation, relative to the features' mean square.
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
        basis = default_basis(len(state_box)) if self.basis is None else self.basis
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
        weights, progress = policy_iteration(
            basis.over(state_box), decisions, max_iterations=self.max_iterations, ridge=self.ridge
        )
        return LSPIPolicy(
            weights=weights,
            actions=actions,
            basis=basis,
            input_box=state_box,
            observation_space=transitions.observation_space,
            action_space=transitions.action_space,
            progress=progress,
            info=PolicyInfo.of("lspi", self, len(transitions), basis=repr(basis)),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class LSPIPolicy(LinearPolicy):
    """pi(s) = arg max_a w_a . phi(s) over the rows of `actions`; ties go to the lowest."""

    kind = "lspi"

    actions: Floats = field(repr=False)

    def choose(self, states: Floats) -> Floats:
        """Actions for rows of states that have been checked: of the finitely many, the one of the largest Q."""
        values = self.features(states) @ self.weights.T
        chosen: Floats = self.actions[values.argmax(axis=1)]
        return chosen


def check_iteration(discount: float, residual: float, max_iterations: int, ridge: float) -> None:
    real_number("discount", discount, at_least=0.0, below=1.0)
    real_number("residual", residual, at_least=0.0, below=float(np.nextafter(1.0, 2.0)))
    whole_number("max_iterations", max_iterations, at_least=1)
    real_number("ridge", ridge, at_least=0.0)


def check_transitions(transitions: Transitions) -> None:
    if not isinstance(transitions, Transitions):
        raise TypeError(f"transitions: is {type(transitions).__name__}, must be Transitions (see pf.collect)")


def visited_box(transitions: Transitions) -> Floats:
    """The extremes (dS, 2) of the sampled states, where a basis is laid.

    They need not fill the box of all states: on the pendulum of 6 kg random episodes reach half of it, and a grid over
    that half gives a return of -170, over the whole one of -340 (300 episodes, 10 seeds)."""
    if transitions.periodic:
        raise ValueError(
            f"transitions: dimensions {sorted(transitions.periodic)} are angles, where a linear basis would have "
            "a seam; must be none (use a forest, or cosine and sine as states)"
        )
    return np.stack([transitions.states.min(axis=0), transitions.states.max(axis=0)], axis=1)
