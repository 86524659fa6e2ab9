"""The best linear law in a learned model: near the regulator's, for noisy systems, reproducible, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box
from test_planned_learning import DISCOUNT, Linear, cost, linear_samples, regulator_gain

import policyforest as pf
from policyforest.learning.improvement.gain_improvement import MOST_NUMBERS, _LinearLaw
from policyforest.learning.improvement.simple_policies import constant_policy


@pytest.fixture(scope="module")
def noisy_model() -> pf.DynamicsModel:
    data = linear_samples(1_000)
    noise = 0.05 * np.random.default_rng(5).standard_normal(data.states.shape)
    return pf.DynamicsForest().fit(
        pf.Transitions(
            data.states, data.actions, data.rewards, data.next_states + noise, data.terminals, np.arange(len(data)),
            action_space=data.action_space,
        )
    )  # fmt: skip


def test_gains_that_are_too_low_are_raised_to_those_of_the_regulator(noisy_model: pf.DynamicsModel) -> None:
    start = Linear(0.5 * regulator_gain())
    made = pf.GainImprovement(DISCOUNT).improve(noisy_model, start)
    assert made.improved
    assert made.policy.info.method == "gain-improvement"
    assert cost(made.policy) < 1.02 * cost(Linear(regulator_gain()))
    assert cost(start) > 1.04 * cost(Linear(regulator_gain()))
    (only,) = made.history
    assert only.taken
    assert only.gain > 0


def test_threads_do_not_change_a_bit(noisy_model: pf.DynamicsModel) -> None:
    states = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    one, two = (
        pf.GainImprovement(DISCOUNT, n_members=2, n_jobs=n)
        .fit(noisy_model, Linear(0.5 * regulator_gain()))
        .act_batch(states)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_a_law_with_too_many_gains_is_left_as_it_is() -> None:
    rng, n = np.random.default_rng(1), MOST_NUMBERS + 1
    states, actions = rng.normal(size=(400, n)), rng.uniform(-1, 1, (400, 1))
    ahead = 0.9 * states + 0.1 * actions
    data = pf.Transitions(
        states, actions, -(states**2).sum(axis=1), ahead, np.zeros(400, dtype=bool), np.arange(400),
        action_space=Box(-1.0, 1.0, (1,)),
    )  # fmt: skip
    start = constant_policy(data, np.zeros(1))
    made = pf.GainImprovement(DISCOUNT).improve(pf.DynamicsForest().fit(data), start)
    assert not made.improved
    assert made.policy is start
    assert made.history == ()


def test_the_nearest_law_of_a_linear_policy_is_that_policy() -> None:
    rng = np.random.default_rng(2)
    states = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.0] + [0.0, 5.0, 2.0]  # the last one never changes
    slopes, offset = np.array([[1.0, -2.0], [0.3, 0.1], [0.0, 0.0]]), np.array([0.5, -0.5])
    found = _LinearLaw.nearest(states, states @ slopes + offset).coefficients
    np.testing.assert_allclose(found[:-1], slopes, atol=1e-9)
    np.testing.assert_allclose(found[-1], offset, atol=1e-8)


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match="n_members: is 0"):
        pf.GainImprovement(n_members=0)
