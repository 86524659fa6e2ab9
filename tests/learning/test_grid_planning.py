"""Dynamic programming on a grid of a learned model: interpolation, the Bellman equation, good policies, bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_planned_learning import DISCOUNT, Linear, cost, linear_samples, regulator_gain

import policyforest as pf
from policyforest.learning.improvement import grid_planning
from policyforest.learning.improvement.grid_planning import FINE, _quantiles
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.state_grid import StateGrid


@pytest.fixture(scope="module")
def linear_model() -> pf.DynamicsModel:
    return pf.DynamicsForest().fit(linear_samples(600))


@pytest.fixture(scope="module")
def pendulum_model() -> pf.DynamicsModel:
    """Of Pendulum-v1, whose states hold the cosine and the sine of an angle."""
    return pf.DynamicsForest().fit(pf.collect("Pendulum-v1", steps=2_000, seed=0))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_between_states_of_the_grid_a_linear_function_is_met_exactly(linear_model: pf.DynamicsModel, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = FINE.grid(linear_model)
    assert grid is not None
    slope = rng.normal(size=2)
    states = rng.uniform(grid.states.min(axis=0), grid.states.max(axis=0), (50, 2))
    where, shares = grid.corners(states)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.min() >= 0
    np.testing.assert_allclose(((grid.states @ slope)[where] * shares).sum(axis=1), states @ slope, atol=1e-9)


def test_states_outside_of_the_grid_have_the_value_of_its_edge(linear_model: pf.DynamicsModel) -> None:
    grid = FINE.grid(linear_model)
    assert grid is not None
    where, shares = grid.corners(np.array([[1e9, -1e9]]))
    corner = (grid.states[where[0]] * shares[0][:, None]).sum(axis=0)
    np.testing.assert_allclose(corner, [grid.states[:, 0].max(), grid.states[:, 1].min()])


def test_a_wrong_reading_of_a_sensor_does_not_take_the_grid_from_the_other_states() -> None:
    data = linear_samples(600)
    wrong = data.states.copy()
    wrong[300, 1] = 1e6
    grid = FINE.grid(pf.DynamicsForest().fit(replace(data, states=wrong)))
    assert grid is not None
    np.testing.assert_array_equal(grid.states.max(axis=0), np.concatenate([data.states, data.next_states]).max(axis=0))


def test_the_grid_spans_states_that_a_trajectory_passed_through() -> None:
    data = linear_samples(600)
    away = np.linspace(2.0, 40.0, 40)  # fewer than one percent of the states are beyond 35
    passed = np.stack([away, away], axis=1)
    states, ahead = np.concatenate([data.states, passed]), np.concatenate([data.next_states, passed])
    rows = np.arange(640) % 600
    longer = pf.Transitions(
        states, data.actions[rows], data.rewards[rows], ahead, np.zeros(640, bool), np.arange(640) // 20,
        action_space=data.action_space,
    )  # fmt: skip
    grid = FINE.grid(pf.DynamicsForest().fit(longer))
    assert grid is not None
    np.testing.assert_array_equal(grid.states.max(axis=0), [40.0, 40.0])


def test_an_angle_of_sine_and_cosine_is_one_axis_without_a_seam(pendulum_model: pf.DynamicsModel) -> None:
    grid = FINE.grid(pendulum_model)
    assert grid is not None
    assert len(grid.states) == FINE.states[2] ** 2
    np.testing.assert_allclose(np.hypot(grid.states[:, 0], grid.states[:, 1]), 1.0, atol=1e-6)
    angles = np.array([np.pi - 1e-6, -np.pi + 1e-6])
    where, shares = grid.corners(np.stack([np.cos(angles), np.sin(angles), [0.0, 0.0]], axis=1))
    speeds = np.cos(np.arctan2(grid.states[:, 1], grid.states[:, 0]))
    near = (speeds[where] * shares).sum(axis=1)
    np.testing.assert_allclose(near[0], near[1], atol=1e-4)


@pytest.fixture(scope="module")
def noisy_model() -> pf.DynamicsModel:
    data = linear_samples(600)
    noise = 0.05 * np.random.default_rng(5).normal(size=data.states.shape)
    return pf.DynamicsForest().fit(replace(data, next_states=data.next_states + noise))


@pytest.mark.parametrize(("name", "size"), [("linear_model", "DENSE"), ("noisy_model", "FINE")])
def test_values_solve_the_bellman_equation(
    name: str, size: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared with a plain loop over states, actions and steps; models with noise and without have their own sizes."""
    model, used = request.getfixturevalue(name), replace(getattr(grid_planning, size), states={2: 9})
    assert model.is_quiet == (size == "DENSE")
    monkeypatch.setattr(grid_planning, size, used)
    monkeypatch.setattr(grid_planning, "SETTLED", 1e-9)
    rollouts = ModelRollouts(model, DISCOUNT, 4)
    plan = pf.GridPlanning(DISCOUNT).plan(model, rollouts)
    grid = StateGrid.of(model, {2: 9})
    assert grid is not None
    for i in (0, 17, 40, 80):
        worth = []
        for action in product(np.linspace(-2.0, 2.0, used.actions[2]), repeat=2):
            total = 0.0
            for b, residual in enumerate(_quantiles(model.residuals, used.noise)):
                row = plan.states[i : i + 1], np.array([action]), np.array([residual], dtype=np.uint32)
                ahead, reward, chance, paid = rollouts.member(b % 4).step(*row, True)
                where, shares = grid.corners(ahead)
                later = sum(plan.values[w] * s for w, s in zip(where[0], shares[0], strict=True))
                total += float((1 - chance[0]) * (reward[0] + DISCOUNT * later) + chance[0] * paid[0])
            worth.append(total / used.noise)
        assert max(worth) == pytest.approx(plan.values[i], rel=1e-5, abs=1e-5)


def test_the_policy_of_a_linear_system_is_nearly_the_regulator(linear_model: pf.DynamicsModel) -> None:
    policy = pf.GridPlanning(DISCOUNT).fit(linear_model)
    assert policy.info.method == "grid-planning"
    assert cost(policy) < 1.1 * cost(Linear(regulator_gain()))


def test_a_pendulum_is_swung_up_from_two_thousand_random_steps(pendulum_model: pf.DynamicsModel) -> None:
    policy = pf.GridPlanning().fit(pendulum_model)
    assert pf.evaluate(policy, gym.make("Pendulum-v1"), episodes=20, seed=3).mean > -200  # random actions: about -1,200


def test_threads_do_not_change_a_bit(linear_model: pf.DynamicsModel) -> None:
    states = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    one, two = (pf.GridPlanning(DISCOUNT, n_jobs=n).fit(linear_model).act_batch(states) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_too_many_dimensions_and_bad_settings_are_named() -> None:
    rng = np.random.default_rng(1)
    states, actions = rng.normal(size=(200, 4)), rng.uniform(-1, 1, (200, 1))
    ahead = 0.9 * states + 0.1 * actions
    data = pf.Transitions(
        states, actions, -(states**2).sum(axis=1), ahead, np.zeros(200, dtype=bool), np.arange(200),
        action_space=gym.spaces.Box(-1.0, 1.0, (1,)),
    )  # fmt: skip
    model = pf.DynamicsForest().fit(data)
    assert not pf.GridPlanning.fits(model)
    with pytest.raises(ValueError, match="model: has 4 dimensions of state and 1 of action, must have at most 3"):
        pf.GridPlanning().fit(model)
    with pytest.raises(ValueError, match=r"discount: is 1\.0"):
        pf.GridPlanning(discount=1.0)
    with pytest.raises(TypeError, match="model: is 3, must be a DynamicsModel"):
        pf.GridPlanning().fit(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("gain", [0.01, 5.0])
def test_a_policy_regressed_without_weights_must_be_certainly_better(
    linear_model: pf.DynamicsModel, monkeypatch: pytest.MonkeyPatch, gain: float
) -> None:
    noise, judged = np.random.default_rng(0).normal(size=(4, 60)), []

    class Named:
        def __init__(self, states: object, actions: object, share: float, *rest: object) -> None:
            self.weighted = len(rest) == 2
            self.worth = 1.0 if share == grid_planning.LEAF_SHARES[1] else 0.0

    def judge(self: object, policy: Named, seed: int) -> np.ndarray:
        judged.append(policy)
        return policy.worth + (np.zeros_like(noise) if policy.weighted else gain + noise)

    monkeypatch.setattr(grid_planning.PolicySearch, "fit", Named)
    monkeypatch.setattr(grid_planning.PolicySearch, "judge", judge)
    monkeypatch.setattr(grid_planning.PolicySearch, "judged_states", lambda self, policy: self.judged)
    found = pf.GridPlanning(DISCOUNT).fit(linear_model)
    assert isinstance(found, Named)
    assert found.weighted == (gain < 1.0)
    assert found.worth == 1.0  # of the leaf sizes, the one that does best in the model
    assert len(judged) == 2 * len(grid_planning.LEAF_SHARES)
