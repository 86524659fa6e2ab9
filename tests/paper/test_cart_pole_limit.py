"""The limit of the cart-pole: the optimiser's derivatives, its paths in the environment, and another search."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest import _core
from policyforest.paper.cart_pole_limit import bang_bang, best_forces, cart_pole_limit, cart_pole_task
from policyforest.paper.limit_studies import LIMITED, STUDIES
from policyforest.paper.trajectory_optimiser import _backward, _derivatives, optimised
from policyforest.problems import cart_pole_balanced

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ID = "policyforest/CartPoleSwingUp-v0"
HANGING = np.array([0.0, 0.0, -np.pi, 0.0])
LIMIT_OF_30 = 23.0965
"""The return of the first 30 steps of the best path"""


def played(forces):
    env = gym.make(ID, start_spread=0.0, max_episode_steps=len(forces))
    rest = iter(forces)
    return pf.collect(env, lambda state: np.array([next(rest)]), episodes=1)


@pytest.fixture(scope="module")
def forces():
    return best_forces(40, guesses=12)


def test_returns_are_those_of_the_environment():
    guesses = bang_bang(5, 12, np.random.default_rng(0))
    paths = optimised(cart_pole_task(12), guesses, 3)
    for actions, states, total in zip(paths.actions, paths.states, paths.returns, strict=True):
        data = played(actions)
        assert data.rewards.sum() == pytest.approx(total, rel=1e-12)
        np.testing.assert_array_equal(data.next_states, states[1:])


def test_improvement_never_makes_a_path_worse():
    task, guesses = cart_pole_task(20), bang_bang(8, 20, np.random.default_rng(1))
    totals = np.array([optimised(task, guesses, n).returns for n in (0, 5, 20)])
    assert (np.diff(totals, axis=0) >= 0).all()
    assert (totals[2] > totals[0] + 0.5).all()
    assert np.abs(optimised(task, guesses, 20).actions).max() <= 10.0


def test_changes_follow_the_gradient_where_they_are_damped():
    """With much damping the change of an action is its derivative of the return over the damping."""
    task, steps, damping = cart_pole_task(10), 10, 1e9
    guesses = 0.5 * bang_bang(1, steps, np.random.default_rng(2))
    path = optimised(task, guesses, 0)
    change, _ = _backward(task, path, np.full(1, damping))
    _, by_action = _derivatives(task, path)
    slopes = damping * (by_action[0] ** 2).sum(axis=-1) * change[0]
    for t in range(steps):
        by = 1e-4 * np.eye(steps)[t]
        higher, lower = (played(guesses[0] + sign * by).rewards.sum() for sign in (1, -1))
        assert slopes[t] == pytest.approx((higher - lower) / 2e-4, rel=1e-3, abs=1e-6)


def test_different_guesses_end_at_the_same_return():
    assert cart_pole_limit(30, guesses=12, seed=1).mean == pytest.approx(LIMIT_OF_30, abs=1e-3)
    assert cart_pole_limit(30, guesses=12, seed=2).mean == pytest.approx(LIMIT_OF_30, abs=1e-3)


def test_the_best_forces_swing_the_pole_up_and_balance_it(forces):
    data = played(forces)
    assert len(data) == 40
    assert cart_pole_balanced(data.next_states, angle=np.radians(2), position=0.05)
    assert data.rewards.sum() == pytest.approx(LIMIT_OF_30 + 10, abs=1e-3)


def test_a_search_over_cells_of_states_comes_close_and_finds_nothing_better():
    """Forward dynamic programming, without derivatives: of all paths that enter a cell only the best is followed."""
    found = searched(30, np.array([-10.0, -5.0, 0.0, 5.0, 10.0]), np.array([0.05, 0.15, 0.1, 0.4]), most=20_000)
    assert LIMIT_OF_30 - 0.5 < found < LIMIT_OF_30


def searched(steps, forces, cell, most):
    states, totals = HANGING[None], np.zeros(1)
    for _ in range(steps):
        tried = np.repeat(states, len(forces), axis=0)
        actions = np.tile(forces, len(states))[:, None]
        moved, rewards, _ = _core.CartPole(6.0, 0.1).step_many(tried, actions, np.zeros((len(tried), 0)))
        gained = np.repeat(totals, len(forces)) + rewards
        moved *= np.where(moved[:, 2] > 0, -1.0, 1.0)[:, None]  # mirror images are worth the same
        cells = (np.floor(moved / cell) + 500) @ 1000.0 ** np.arange(4)
        order = np.lexsort((-gained, cells))
        best = order[np.diff(cells[order], prepend=-1) > 0]
        kept = best[np.argsort(-gained[best], kind="stable")[:most]]
        states, totals = moved[kept], gained[kept]
    return float(totals.max())


def test_the_stored_limit_is_that_of_the_first_30_steps_and_nearly_1_for_each_of_the_others():
    stored = {cell["problem"]: cell for cell in STUDIES["limits"].results(RESULTS)}
    assert tuple(stored) == LIMITED
    assert stored["cart-pole-swing-up"]["steps"] == 60
    assert LIMIT_OF_30 + 29.999 < stored["cart-pole-swing-up"]["return"] < LIMIT_OF_30 + 30
