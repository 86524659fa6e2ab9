"""Dynamic programming on a grid of states of a learned model, for systems of few dimensions.

The states of the grid span the data. Every action of a second grid is tried once in each of them, with the noise of the
data and in several members of the model's ensemble; the rewards and the next states are kept. Modified policy iteration
(Puterman and Shin, 1978) then solves

    V(s) = max_a  E[ r + gamma V(s') ],

with V linear between the states of the grid. A policy forest is regressed on the best actions. All states are planned
for at once, so that detours are found that trajectories and rollouts from a poor policy miss; the number of states
grows exponentially with the number of dimensions, so at most three are supported. An angle that the state holds as sine
and cosine counts as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats, real_number, seed_number, whole_number
from policyforest._support.blas import one_blas_thread
from policyforest._support.spaces import bounds
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.improvement.beyond_limits import beyond_limits
from policyforest.learning.improvement.policy_search import PolicySearch, certainly_better, rollout_steps
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.state_grid import StateGrid
from policyforest.policy.policy import Policy

# The most axes and actions together: more would take too much memory.
DIMENSIONS = 4
# The most improvements of the policy, and sweeps of its values after each; the iteration ends when values change by
# less than this part of their spread.
IMPROVEMENTS, SWEEPS, SETTLED = 60, 30, 1e-3
# Leaf sizes of the policies that are tried, as parts of the states.
LEAF_SHARES = (0.01, 0.003, 0.001)
# Rows of model steps at a time: memory stays bounded.
ROWS = 200_000

Step = Callable[[Floats, Floats, NDArray[np.uint32]], tuple[Floats, Floats, Floats]]
"""From rows of states, actions and numbers of residuals to the next states, the rewards and the chance that the episode
continues."""


@dataclass(frozen=True)
class GridSize:
    """The size of a grid."""

    states: Mapping[int, int]
    """Points along each axis, by the number of axes"""
    actions: Mapping[int, int]
    """Actions along each dimension, by the number of dimensions"""
    noise: int
    """Residuals of the model that represent its noise"""
    halvings: int
    """The best action is also searched between the tried ones, by halving their distance this many times"""

    def grid(self, model: DynamicsModel, beyond: float = 0.0) -> StateGrid | None:
        """The grid of a model's states; None where it would be too large."""
        grid, n_actions = StateGrid.of(model, self.states, beyond), model.transitions.actions.shape[1]
        small = grid is not None and n_actions in self.actions and len(grid.axes) + n_actions <= DIMENSIONS
        return grid if small else None


FINE = GridSize({1: 201, 2: 81, 3: 25}, {1: 17, 2: 7}, noise=8, halvings=4)
# For models without noise, the largest error is the interpolation of values: more states and fewer actions take about
# twice as long, and Pendulum-v1 gains 1.5 to 3% of its return after 1,000 and 2,000 steps.
DENSE = GridSize({1: 401, 2: 161, 3: 29}, {1: 9, 2: 5}, noise=4, halvings=5)
COARSE = GridSize({1: 101, 2: 41, 3: 17}, {1: 9, 2: 5}, noise=4, halvings=3)


@dataclass(frozen=True)
class GridPlan:
    """Values and best actions at the states of a grid."""

    states: Floats
    values: Floats
    actions: Floats
    weights: Floats
    """How much the action matters: the standard deviation of Q over the actions that were tried"""
    targets: Floats
    """What policies are regressed on: the best actions or, if noise hardly matters, targets beyond the limits of the
    action box where the best action is at a limit (`beyond_limits`)"""


@dataclass(frozen=True)
class GridPlanning:
    """Plans by dynamic programming on a grid of a learned model's states; `fit(model)` returns a policy.

    It is for systems with at most three dimensions of state, two of action, and four in all.

    Args:
        discount: gamma, in [0, 1).
        n_members: Members of the model's ensemble.
        n_estimators: Trees of the policy's forests.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
    """

    discount: float = 0.98
    n_members: int = 4
    n_estimators: int = 16
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = 1

    method = "grid-planning"

    def __post_init__(self) -> None:
        real_number("discount", self.discount, at_least=0.0, below=1.0)
        whole_number("n_members", self.n_members, at_least=1)
        whole_number("n_estimators", self.n_estimators, at_least=1)

    @property
    def n_steps(self) -> int:
        """T, the steps over which a reward matters; policies are judged over twice that."""
        return rollout_steps(self.discount)

    @staticmethod
    def fits(model: DynamicsModel) -> bool:
        """Whether a grid of the model's states and actions is small enough."""
        return FINE.grid(model) is not None

    def plan(self, model: DynamicsModel, rollouts: ModelRollouts | None = None) -> GridPlan:
        """Values and actions; `rollouts` of the same model share its compiled members."""
        if not isinstance(model, DynamicsModel):
            raise TypeError(f"model: is {model!r}, must be a DynamicsModel, which DynamicsForest.fit returns")
        size = replace(DENSE, noise=self.n_members) if model.is_quiet else FINE
        grid = size.grid(model)
        if grid is None:
            n, m = model.transitions.states.shape[1], model.transitions.actions.shape[1]
            raise ValueError(
                f"model: has {n} dimensions of state and {m} of action, must have at most {max(FINE.states)} of state, "
                f"{max(FINE.actions)} of action and {DIMENSIONS} in all, none of them computed from others or a "
                "late command"
            )
        shared = ModelRollouts(model, self.discount, self.n_members, self.n_jobs) if rollouts is None else rollouts
        steps = [_rolled(shared, b) for b in range(self.n_members)]
        return solved(grid, steps, size, model, self.discount)

    @one_blas_thread
    def fit(self, model: DynamicsModel, rollouts: ModelRollouts | None = None) -> Policy:
        """Of the policies regressed on the plan, the one that does best in the model.

        The regression weights states by how much the action matters there. A policy without these weights must be
        certainly better: it fits states where every action is nearly as good, at the cost of those where one is not."""
        shared = ModelRollouts(model, self.discount, self.n_members, self.n_jobs) if rollouts is None else rollouts
        plan = self.plan(model, shared)
        search = PolicySearch(self, model, shared, seed_number("random_state", self.random_state))
        search.method = self.method
        mean = plan.weights.mean()
        weights = plan.weights / mean if mean > 0 else np.ones_like(plan.weights)
        columns = np.repeat(weights[:, None], plan.actions.shape[1], axis=1)
        tried = [search.fit(plan.states, plan.targets, share, 1, columns) for share in LEAF_SHARES]
        search.judged = search.judged_states(tried[0])
        weighted, values = best_in_model(search, tried)
        unweighted, others = best_in_model(
            search, [search.fit(plan.states, plan.targets, share, 1) for share in LEAF_SHARES]
        )
        return unweighted if certainly_better(others - values) else weighted


def best_in_model(search: PolicySearch, policies: Sequence[Policy]) -> tuple[Policy, Floats]:
    """The policy with the highest mean value, and its values."""
    judged = [search.judge(policy, 7) for policy in policies]
    best = max(range(len(policies)), key=lambda i: float(judged[i].mean()))
    return policies[best], judged[best]


def solved(grid: StateGrid, steps: Sequence[Step], size: GridSize, model: DynamicsModel, discount: float) -> GridPlan:
    """The plan for the states of a grid; the members of an ensemble step in turns."""
    return _GridValues(grid, steps, size, model, discount).solve()


def _rolled(rollouts: ModelRollouts, member: int) -> Step:
    """The steps of a member as rollouts take them."""
    native = rollouts.member(member)

    def step(states: Floats, actions: Floats, residuals: NDArray[np.uint32]) -> tuple[Floats, Floats, Floats]:
        ahead, rewards, chance, paid = rollouts.step(native, states, actions, residuals)
        return ahead, (1.0 - chance) * rewards + chance * paid, 1.0 - chance

    return step


class _GridValues:
    """The steps of all actions at the states of a grid, and the values that follow from them."""

    def __init__(
        self, grid: StateGrid, steps: Sequence[Step], size: GridSize, model: DynamicsModel, discount: float
    ) -> None:
        self.grid, self.steps, self.size, self.discount = grid, steps, size, discount
        box = bounds(model.transitions.action_space)
        axes = [np.linspace(low, high, size.actions[len(box)]) for low, high in box]
        self.box, self.apart = box, np.array([axis[1] - axis[0] for axis in axes])
        self.tried = np.array(list(product(*axes)))
        self.noise, self.is_quiet = _quantiles(model.residuals, size.noise), model.is_mostly_quiet

    def solve(self) -> GridPlan:
        states, gamma = self.grid.states, self.discount
        n, k = len(states), len(self.tried)
        rewards, corners, shares = self._steps(np.repeat(states, k, axis=0), np.tile(self.tried, (n, 1)))
        rewards, corners, shares = rewards.reshape(n, k), corners.reshape(n, k, -1), shares.reshape(n, k, -1)
        values, rows = np.zeros(n), np.arange(n)
        for _ in range(IMPROVEMENTS):
            q = rewards + gamma * np.einsum("nkc,nkc->nk", values[corners], shares)
            best = q.argmax(axis=1)
            change = float(np.abs(q[rows, best] - values).max())
            values = q[rows, best]
            if change <= SETTLED * float(values.std()):
                break
            earned, ahead, share = rewards[rows, best], corners[rows, best], shares[rows, best]
            for _ in range(SWEEPS):
                values = earned + gamma * np.einsum("nc,nc->n", values[ahead], share)
        actions = self._between(values, self.tried[best], q[rows, best])
        targets = beyond_limits(actions, self.tried, q, self.box) if self.is_quiet else actions
        return GridPlan(states, values, actions, q.std(axis=1), targets)

    def _steps(self, states: Floats, actions: Floats) -> tuple[Floats, NDArray[np.int32], Floats]:
        """Of each row: the mean reward, the corners of the cells that it leads to, and the chance of each of them."""
        parts = [self._some_steps(states[i : i + ROWS], actions[i : i + ROWS]) for i in range(0, len(states), ROWS)]
        rewards, corners, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
        return rewards, corners, shares

    def _some_steps(self, states: Floats, actions: Floats) -> tuple[Floats, NDArray[np.int32], Floats]:
        earned, corners, shares = np.zeros(len(states)), [], []
        for b, residual in enumerate(self.noise):
            rows = np.full(len(states), residual, dtype=np.uint32)
            ahead, rewards, going = self.steps[b % len(self.steps)](states, actions, rows)
            earned += rewards / len(self.noise)
            where, share = self.grid.corners(ahead)
            corners.append(where)
            shares.append(share * (going / len(self.noise))[:, None])
        return earned, np.concatenate(corners, axis=1), np.concatenate(shares, axis=1)

    def _between(self, values: Floats, actions: Floats, worth: Floats) -> Floats:
        """Finds better actions between those that were tried, one dimension after the other."""
        low, high = self.box.T
        for halving, j in product(range(1, self.size.halvings + 1), range(len(self.apart))):
            for side in (-1.0, 1.0):
                moved = actions.copy()
                moved[:, j] = np.clip(moved[:, j] + side * self.apart[j] / 2**halving, low[j], high[j])
                rewards, corners, shares = self._steps(self.grid.states, moved)
                found = rewards + self.discount * np.einsum("nc,nc->n", values[corners], shares)
                better = found > worth
                actions, worth = np.where(better[:, None], moved, actions), np.where(better, found, worth)
        return actions


def _quantiles(residuals: Floats, number: int) -> NDArray[np.intp]:
    """Rows of residuals at evenly spaced quantiles along their main direction: a few that represent all."""
    if len(residuals) <= number:
        return np.arange(len(residuals))
    spread = residuals.std(axis=0)
    scaled = (residuals - residuals.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    main = np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
    order = np.argsort(scaled @ main, kind="stable")
    found: NDArray[np.intp] = order[((np.arange(number) + 0.5) / number * len(order)).astype(np.intp)]
    return found
