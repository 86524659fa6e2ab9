"""Binary Action Search (Pazis & Lagoudakis, 2009): continuous actions from decisions between up and down.

The action starts in the middle of its range and moves N = `resolution` times, by steps that halve:

    a_0 = (low + high) / 2,    a_i = a_(i-1) + e_i Delta_i,    e_i in {-1, +1},
    Delta_i = (high - low) 2^(N-1) / (2^N - 1) / 2^i,

so that the 2^N outcomes a_N are evenly spaced from low to high. Each step is decided by a policy with two choices. The
inputs of this policy are the state and the current action, (s, a_i). It acts in a problem of its own, in which one step
of the environment is a path of N decisions. A sample (s, a, r, s') becomes the path that leads to a, rounded to the
nearest outcome:

    ((s, a_(i-1)), e_i, 0, (s, a_i))     with discount 1,        i = 1 .. N-1
    ((s, a_(N-1)), e_N, r, (s', a_0))    with discount gamma.

Least-squares policy iteration learns the values of both choices, with a block of features of (s, a) for each. The moves
within a step are certain, so the Bellman residual of these samples is minimised (beta = 1 in `least_squares`) without
bias. The plain fixed point does not discount its errors along a path: on the double integrator it ends in a cycle of
policies that crash. The transitions of the environment may be random; `residual` is the beta of their samples.

Several action dimensions are searched one after the other: N decisions for the first, then N for the second. Each
dimension has two blocks of its own. While it is searched, the earlier ones have their final values, and the later ones
are in the middle of their ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats, whole_number
from policyforest._support.spaces import bounds
from policyforest.baselines.bases import Basis
from policyforest.baselines.finite_actions import nearest_step
from policyforest.baselines.least_squares import Decisions, check_iteration
from policyforest.baselines.linear_policy import LinearPolicy, learned_fields
from policyforest.baselines.sample_checks import check_transitions, visited_box
from policyforest.data.sample_checks import Bools, Ints
from policyforest.data.transitions import Transitions


@dataclass(frozen=True)
class BinaryActionSearch:
    """Learns to search the action box by halving steps. `fit(transitions)` returns a `BinarySearchPolicy`.

    Args:
        discount: gamma, in [0, 1).
        resolution: N, the decisions for each action dimension; it distinguishes 2^N actions.
        basis: phi, defined over the sampled states and the action box; None for `default_basis`.
        residual: beta of the environment's transitions, in [0, 1]: 0 for plain LSTDQ, 1 for the Bellman residual.
        max_iterations: As in `LSPI`.
        ridge: As in `LSPI`.
    """

    discount: float = 0.98
    resolution: int = 6
    basis: Basis | None = None
    residual: float = 0.0
    max_iterations: int = 20
    ridge: float = 1e-6

    def __post_init__(self) -> None:
        check_resolution(self.resolution)
        check_iteration(self.discount, self.residual, self.max_iterations, self.ridge)

    def fit(self, transitions: Transitions) -> BinarySearchPolicy:
        """Learns from a batch of samples."""
        check_transitions(transitions)
        box = np.concatenate([visited_box(transitions), bounds(transitions.action_space)])
        decisions = binary_decisions(transitions, self.resolution, self.discount, self.residual)
        return BinarySearchPolicy(
            resolution=self.resolution, **learned_fields("bas", self, transitions, box, decisions)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class BinarySearchPolicy(LinearPolicy):
    """Moves the action up if w_up . phi(s, a) > w_down . phi(s, a), otherwise down; one block per direction."""

    kind = "binary-action-search"

    resolution: int

    def choose(self, states: Floats) -> Floats:
        """Actions for rows of states that have been checked: the search goes up or down, by halving steps."""
        return searched_actions(states, bounds(self.action_space), self.resolution, self._goes_up)

    def _goes_up(self, decision: int, inputs: Floats) -> Bools:
        dimension = decision // self.resolution
        preference = self.weights[2 * dimension + 1] - self.weights[2 * dimension]
        up: Bools = self.values(inputs, preference) > 0.0
        return up


def check_resolution(resolution: int) -> int:
    """N, the decisions for each action dimension."""
    return whole_number("resolution", resolution, at_least=1, at_most=24)


def searched_actions(
    states: Floats, action_box: Floats, resolution: int, goes_up: Callable[[int, Floats], Bools]
) -> Floats:
    """The actions that the search ends at; `goes_up(j, inputs)` makes decision j for rows (s, a)."""
    actions = np.tile(action_box.mean(axis=1), (len(states), 1))
    for j, step in enumerate(step_sizes(action_box, resolution).ravel()):
        up = goes_up(j, np.concatenate([states, actions], axis=1))
        actions[:, j // resolution] += np.where(up, step, -step)
    # The steps add up to half of the range, up to rounding.
    clipped: Floats = np.clip(actions, action_box[:, 0], action_box[:, 1])
    return clipped


def step_sizes(action_box: Floats, resolution: int) -> Floats:
    """Delta_1 .. Delta_N for each action dimension: (dA, N)."""
    whole = (action_box[:, 1] - action_box[:, 0]) * 2.0 ** (resolution - 1) / (2.0**resolution - 1.0)
    steps: Floats = whole[:, np.newaxis] * 0.5 ** np.arange(1, resolution + 1)
    return steps


def path_to(actions: Floats, action_box: Floats, resolution: int) -> Ints:
    """The decisions that lead to the outcome nearest to each action, 1 for up and 0 for down: (N, dA, resolution).

    They are the binary digits of the outcome's number, the highest first.
    """
    outcome = nearest_step(actions, action_box, 2**resolution)
    digits: Ints = (outcome[:, :, np.newaxis] >> np.arange(resolution - 1, -1, -1)) & 1
    return digits


def binary_decisions(transitions: Transitions, resolution: int, discount: float, residual: float) -> Decisions:
    """The paths of all samples, one after the other: N * dA * resolution rows."""
    box = bounds(transitions.action_space)
    n, dimensions = transitions.actions.shape
    length = dimensions * resolution
    up = path_to(transitions.actions, box, resolution).reshape(n, length)
    of_dimension = np.repeat(np.arange(dimensions), resolution)
    moves = np.zeros((n, length, dimensions))
    moves[:, np.arange(length), of_dimension] = np.where(up, 1.0, -1.0) * step_sizes(box, resolution).ravel()
    middle = np.tile(box.mean(axis=1), (n, 1, 1))
    at = np.concatenate([middle, middle + np.cumsum(moves, axis=1)], axis=1)
    at[:, -1] = middle[:, 0]
    state_at = np.repeat(transitions.states[:, np.newaxis], length + 1, axis=1)
    state_at[:, -1] = transitions.next_states
    inputs = np.concatenate([state_at, at], axis=2)

    def ending(before: float, values: Floats | float) -> Floats:
        column = np.full((n, length), before)
        column[:, -1] = values
        return column.ravel()

    return Decisions(
        inputs=inputs[:, :-1].reshape(n * length, -1),
        blocks=(2 * of_dimension + up).ravel(),
        rewards=ending(0.0, transitions.rewards),
        next_inputs=inputs[:, 1:].reshape(n * length, -1),
        discounts=ending(1.0, np.where(transitions.terminals, 0.0, discount)),
        residual=ending(1.0, residual),
        menus=np.arange(2 * dimensions).reshape(dimensions, 2),
        next_menu=np.tile(np.roll(of_dimension, -1), n),
    )
