"""Targets beyond the limits of the action box: where Q would be largest, how far, and in which models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_planned_learning import linear_samples

import policyforest as pf
from policyforest.learning.improvement.beyond_limits import BEYOND, beyond_limits

BOX = np.array([[-2.0, 4.0]])
TRIED = np.linspace(-2.0, 4.0, 9)[:, None]


def targets_of(peak: float, curvature: float = 1.0) -> tuple[float, float]:
    """The best action and the target for Q(a) = -curvature (a - peak)²."""
    q = -curvature * (TRIED - peak) ** 2
    best = np.clip([[peak]], *BOX[0])
    return float(best[0, 0]), float(beyond_limits(best, TRIED, q.T, BOX)[0, 0])


@given(peak=st.floats(-4.5, 6.5), curvature=st.floats(1e-3, 1e3))
@settings(max_examples=50, deadline=None)
def test_the_target_is_the_maximum_without_the_limit_up_to_an_eighth_of_the_width(
    peak: float, curvature: float
) -> None:
    best, target = targets_of(peak, curvature)
    allowed = BEYOND * 6.0
    assert target == pytest.approx(np.clip(peak, -2.0 - allowed, 4.0 + allowed), abs=1e-6)
    assert np.clip(target, -2.0, 4.0) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("power", [1, 2])
def test_a_value_that_rises_evenly_or_ever_faster_puts_the_target_as_far_out_as_allowed(
    sign: float, power: int
) -> None:
    along = sign * (TRIED - BOX[0, 0 if sign > 0 else 1])  # 0 at one limit, 6 at the other
    best = np.array([[4.0 if sign > 0 else -2.0]])
    target = beyond_limits(best, TRIED, (along**power).T, BOX)
    np.testing.assert_allclose(target, best + sign * BEYOND * 6.0)


def test_a_limit_that_is_the_best_of_nearly_equal_actions_is_not_left_against_the_slope() -> None:
    """Q of an action that does not matter is constant up to rounding, and its largest value may be anywhere."""
    best = np.array([[4.0], [-2.0], [1.0]])
    falling = np.array([-1e-9 * TRIED[:, 0], 1e-9 * TRIED[:, 0], np.zeros(9)])
    np.testing.assert_array_equal(beyond_limits(best, TRIED, falling, BOX), best)


def test_each_of_two_actions_is_judged_at_the_best_value_of_the_other() -> None:
    box = np.array([[-1.0, 1.0], [-1.0, 1.0]])
    tried = np.stack(np.meshgrid(*(np.linspace(-1, 1, 5),) * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    a, b = tried.T
    q = np.stack([-((a - 1.1) ** 2) - (b - 0.5) ** 2, 3 * a * b, 3 * a * b])
    best = np.array([[1.0, 0.5], [1.0, 1.0], [-1.0, -1.0]])
    far = 2.0 * BEYOND
    expected = [[1.1, 0.5], [1 + far, 1 + far], [-1 - far, -1 - far]]
    np.testing.assert_allclose(beyond_limits(best, tried, q, box), expected, atol=1e-9)


def test_an_action_that_cannot_vary_is_left_as_it_is() -> None:
    box = np.array([[-1.0, 1.0], [0.5, 0.5]])
    tried = np.stack([np.linspace(-1, 1, 5), np.full(5, 0.5)], axis=1)
    found = beyond_limits(np.array([[1.0, 0.5]]), tried, tried[:, :1].T, box)
    np.testing.assert_array_equal(found, [[1.0 + 2.0 * BEYOND, 0.5]])


@pytest.fixture(scope="module")
def pendulum_model() -> pf.DynamicsModel:
    return pf.DynamicsForest().fit(pf.collect("Pendulum-v1", steps=2_000, seed=0))


def test_a_plan_aims_beyond_the_limits_only_where_its_best_action_is_at_one(pendulum_model: pf.DynamicsModel) -> None:
    plan = pf.GridPlanning(0.98).plan(pendulum_model)
    inside = np.abs(plan.actions[:, 0]) < 2.0 - 1e-6
    assert 0.1 < inside.mean() < 0.9
    np.testing.assert_array_equal(plan.targets[inside], plan.actions[inside])
    outside = np.abs(plan.targets[:, 0]) > 2.0 + 1e-6
    assert outside.mean() > 0.1
    np.testing.assert_array_equal(np.clip(plan.targets, -2.0, 2.0)[outside], plan.actions[outside])
    assert np.abs(plan.targets).max() == pytest.approx(2.0 + 4.0 * BEYOND)


def test_the_policy_takes_the_limit_where_the_plan_does(
    pendulum_model: pf.DynamicsModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees fitted to actions within the box take the limit in 69% of these states, with targets beyond it in 89%."""
    plan = pf.GridPlanning(0.98).plan(pendulum_model)
    states = plan.states[np.abs(plan.actions[:, 0]) > 2.0 - 1e-6]

    def share_at_limit() -> float:
        actions = pf.GridPlanning(0.98).fit(pendulum_model).act_batch(states)
        return float(np.mean(np.abs(actions[:, 0]) > 2.0 - 1e-6))

    with_targets = share_at_limit()
    monkeypatch.setattr("policyforest.learning.improvement.grid_planning.beyond_limits", lambda actions, *_: actions)
    assert with_targets > 0.83 > 0.76 > share_at_limit()


def test_where_noise_matters_targets_stay_in_the_box() -> None:
    """There the mean of the trees is the more careful action, and a plan exploits the errors of its model."""
    data = linear_samples(600)
    noise = 0.05 * np.random.default_rng(5).normal(size=data.states.shape)
    model = pf.DynamicsForest().fit(replace(data, next_states=data.next_states + noise))
    plan = pf.GridPlanning(0.95).plan(model)
    assert not model.is_mostly_quiet
    assert np.any(np.abs(plan.actions) > 2.0 - 1e-9)
    np.testing.assert_array_equal(plan.targets, plan.actions)


def test_a_stop_that_few_samples_meet_is_not_noise() -> None:
    data = linear_samples(600)
    met = np.zeros(600, dtype=bool)
    met[::50] = True
    stopped = np.where(met[:, None], data.states, data.next_states)
    model = pf.DynamicsForest().fit(replace(data, next_states=stopped))
    assert model.is_mostly_quiet
    assert not model.is_quiet


@pytest.mark.parametrize("reward", [-1.0, -0.1, -1 / 3, 0.001])
def test_a_constant_reward_is_not_noise(reward: float) -> None:
    """Its errors are rounding, and so is its variance."""
    data = linear_samples(600)
    model = pf.DynamicsForest().fit(replace(data, rewards=np.full(600, reward)))
    assert model.is_quiet
    assert model.is_mostly_quiet


def test_a_clock_is_not_noise() -> None:
    data = linear_samples(600)
    clock = 0.05 * (np.arange(600) % 20)[:, None]
    states, ahead = np.hstack([data.states, clock]), np.hstack([data.next_states, clock + 0.05])
    steps = states, data.actions, data.rewards, ahead, data.terminals, data.episodes
    timed = pf.Transitions(*steps, action_space=data.action_space)
    assert pf.DynamicsForest().fit(timed).is_mostly_quiet
