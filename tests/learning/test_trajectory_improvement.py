"""Trajectories that are planned in a learned model: the known optimum, bounded actions, policies, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st
from test_planned_learning import DISCOUNT, A, B, Linear, cost, linear_samples, regulator_gain

import policyforest as pf
from policyforest.learning.dynamics.focus import focused
from policyforest.learning.improvement.iterated_lqr import TrajectorySearch, _best_move
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.simple_policies import constant_policy, middle_action

T = 60


@pytest.fixture(scope="module")
def model() -> pf.DynamicsModel:
    return pf.DynamicsForest().fit(linear_samples())


def riccati_gains(steps: int) -> list[np.ndarray]:
    """The optimal gains of a finite horizon, first step first."""
    p, gains = np.zeros((2, 2)), []
    for _ in range(steps):
        gain = np.linalg.solve(0.1 * np.eye(2) + DISCOUNT * B.T @ p @ B, DISCOUNT * B.T @ p @ A)
        p = np.eye(2) + 0.1 * gain.T @ gain + DISCOUNT * (A - B @ gain).T @ p @ (A - B @ gain)
        gains.append(gain)
    return gains[::-1]


def test_trajectories_of_a_linear_system_are_those_of_the_regulator(model: pf.DynamicsModel) -> None:
    search = TrajectorySearch(ModelRollouts(model, DISCOUNT, 1), 0, T)
    starts = np.random.default_rng(1).uniform(-0.3, 0.3, (8, 2))
    found = search.improve(starts, search.follow(starts, lambda states: np.zeros((len(states), 2))))
    gains, state = riccati_gains(T), starts
    for t in range(20):
        np.testing.assert_allclose(found.states[:, t], state, atol=2e-3)
        np.testing.assert_allclose(found.actions[:, t], -state @ gains[t].T, atol=2e-2)
        np.testing.assert_allclose(found.gains[:, t], np.broadcast_to(-gains[t], (8, 2, 2)), atol=2e-2)
        state = state @ A.T - state @ gains[t].T @ B.T


def test_an_improved_trajectory_never_earns_less(model: pf.DynamicsModel) -> None:
    search = TrajectorySearch(ModelRollouts(model, DISCOUNT, 1), 0, 20, n_iterations=3)
    starts = np.random.default_rng(2).uniform(-1, 1, (20, 2))
    begun = search.follow(starts, lambda states: np.full((len(states), 2), 5.0))
    found = search.improve(starts, begun)
    assert (begun.actions == 2.0).all()  # clipped to the action box
    assert (found.values >= begun.values).all()
    assert found.values.mean() > begun.values.mean() + 1.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_a_bounded_move_is_as_good_as_any_in_the_box(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(1, m, m))
    qq = np.zeros((1, 2 + m, 2 + m))
    qq[:, 2:, 2:] = -(half @ half.transpose(0, 2, 1)) - 0.5 * np.eye(m)
    q = rng.normal(size=(1, 2 + m))
    low, high = -rng.random((1, m)), rng.random((1, m))
    move, gain = _best_move(q, qq, 2, np.zeros(1), low, high)
    assert (move >= low).all()
    assert (move <= high).all()
    assert np.isfinite(gain).all()
    if m == 1:  # exact in one dimension
        tried = np.linspace(low[0, 0], high[0, 0], 201)
        value = q[0, 2] * tried + 0.5 * qq[0, 2, 2] * tried**2
        mine = q[0, 2] * move[0, 0] + 0.5 * qq[0, 2, 2] * move[0, 0] ** 2
        assert mine >= value.max() - 1e-6
    inside = (move > low) & (move < high)
    slope = q[:, 2:] + np.einsum("bij,bj->bi", qq[:, 2:, 2:], move)
    np.testing.assert_allclose(slope[inside], 0.0, atol=1e-5)  # of what is free


def test_a_policy_from_trajectories_is_near_the_optimum(model: pf.DynamicsModel) -> None:
    start = constant_policy(model.transitions, middle_action(model.transitions))
    made = pf.TrajectoryImprovement(DISCOUNT, n_rounds=2, n_trajectories=30).improve(model, start)
    assert made.improved
    assert made.gain > 0
    assert cost(made.policy) < 1.02 * cost(Linear(regulator_gain()))
    assert made.policy.info.method == "trajectory-improvement"


def test_threads_do_not_change_a_bit(model: pf.DynamicsModel) -> None:
    start = constant_policy(model.transitions, middle_action(model.transitions))
    states = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    one, two = (
        pf.TrajectoryImprovement(DISCOUNT, n_rounds=1, n_trajectories=10, n_jobs=n).fit(model, start).act_batch(states)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_noise_that_costs_more_than_trajectories_gain_is_left_to_rollouts() -> None:
    data = linear_samples(1_000)
    noise = 0.3 * np.random.default_rng(5).standard_normal(data.states.shape)
    noisy = pf.Transitions(
        data.states, data.actions, data.rewards, data.next_states + noise, data.terminals, np.arange(len(data)),
        action_space=data.action_space,
    )  # fmt: skip
    model = pf.DynamicsForest().fit(noisy)
    made = pf.TrajectoryImprovement(DISCOUNT).improve(model, Linear(regulator_gain()))
    assert not made.improved
    assert made.history == ()


def test_bad_settings_and_starts_are_named(model: pf.DynamicsModel) -> None:
    with pytest.raises(ValueError, match="n_trajectories: is 0"):
        pf.TrajectoryImprovement(n_trajectories=0)
    with pytest.raises(ValueError, match="discount: is 1"):
        pf.TrajectoryImprovement(1.0)
    with pytest.raises(TypeError, match="model: is 3"):
        pf.TrajectoryImprovement().improve(3, Linear(regulator_gain()))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy: is None"):
        pf.TrajectoryImprovement().improve(model, None)


def rough_samples(n: int = 600) -> pf.Transitions:
    """A system that is smooth near zero, with the slope 0.9 there, and rough far away."""
    rng = np.random.default_rng(3)
    states, actions = rng.uniform(-3, 3, (n, 1)), rng.uniform(-1, 1, (n, 1))
    ahead = np.where(np.abs(states) < 1.2, 0.9 * np.sin(states), 0.6 * np.sin(9.0 * states)) + 0.2 * actions
    ahead = ahead + 0.05 * rng.standard_normal((n, 1))
    rewards = -(states[:, 0] ** 2)
    box = Box(-1.0, 1.0, (1,), np.float64)
    return pf.Transitions(states, actions, rewards, ahead, np.zeros(n, bool), np.arange(n), action_space=box)


def test_a_model_for_visited_states_is_simpler_and_right_where_they_are() -> None:
    model = pf.DynamicsForest().fit(rough_samples())
    near = focused(model, np.random.default_rng(0).uniform(-0.4, 0.4, (200, 1)))
    rough, smooth = model.choices[0].kind.leaf, near.choices[0].kind.leaf
    assert rough is not None
    assert smooth is None or smooth > rough
    states = np.array([[-0.3], [0.0], [0.3]])
    found = near.native.step(states, np.zeros((3, 1)), None, False)[0]
    np.testing.assert_allclose(found, 0.9 * np.sin(states), atol=0.05)


def test_a_policy_that_visits_most_of_the_data_leaves_the_model_as_it_is() -> None:
    model = pf.DynamicsForest().fit(rough_samples(300))
    assert focused(model, np.random.default_rng(0).uniform(-3, 3, (200, 1))) is model
    assert focused(model, np.full((10, 1), 2.9)) is model  # too few samples are near


def test_a_model_for_visited_states_that_predicts_them_no_better_is_not_used() -> None:
    samples = linear_samples()  # one formula holds everywhere, and all samples say more about it than some
    model = pf.DynamicsForest().fit(samples)
    inside = np.quantile(np.abs(samples.states), 0.3)
    assert focused(model, np.random.default_rng(0).uniform(-inside, inside, (200, 2))) is model
