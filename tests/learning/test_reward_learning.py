"""Rewards that are written in angles and absolute values: found where they are exact, and only there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from test_planned_learning import linear_samples

import policyforest as pf
from policyforest.learning.dynamics.model_parts import Shape

Reward = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def with_reward(data: pf.Transitions, reward: Reward) -> pf.Transitions:
    return replace(data, rewards=reward(data.states, data.actions, data.next_states))


@pytest.fixture(scope="module")
def line() -> pf.Transitions:
    """A linear system of two dimensions and two actions."""
    return linear_samples(600)


def hanging() -> pf.Transitions:
    """Pendulum-v1 near its lower position: no sample is within 45 degrees of the upright one."""
    data = pf.collect("Pendulum-v1", steps=1_200, seed=3)
    return data[np.flatnonzero(np.maximum(data.states[:, 0], data.next_states[:, 0]) < 0.7)]


def test_a_reward_in_angles_is_known_where_no_sample_was() -> None:
    """Pendulum-v1 pays -(angle² + 0.1 speed² + 0.001 torque²); its states hold the cosine and the sine."""
    model = pf.DynamicsForest().fit(hanging())
    assert model.reward_score > 1.0 - 1e-8
    assert Shape(1, 0, size=False) in model.reward.shapes
    angles = np.linspace(-1.0, 1.0, 21)
    states = np.stack([np.cos(angles), np.sin(angles), np.full(21, 0.5)], axis=1)
    rewards = model.native.step(states, np.full((21, 1), 2.0), None, False)[1]
    np.testing.assert_allclose(rewards, -(angles**2 + 0.025 + 0.004), atol=0.01)


def test_a_state_that_holds_the_sine_before_the_cosine_gives_the_same_reward() -> None:
    data = hanging()
    turned = replace(
        data, states=data.states[:, [1, 0, 2]], next_states=data.next_states[:, [1, 0, 2]], observation_space=None
    )
    model = pf.DynamicsForest().fit(turned)
    assert Shape(0, 1, size=False) in model.reward.shapes
    upright = model.native.step(np.array([[0.0, 1.0, 0.0]]), np.zeros((1, 1)), None, False)[1]
    np.testing.assert_allclose(upright, 0.0, atol=0.01)


@pytest.mark.parametrize(
    "reward",
    [
        lambda s, a, n: -np.abs(s[:, 0]) - 2.0 * np.abs(a[:, 1]),
        lambda s, a, n: -np.abs(n[:, 0]) - 0.5 * s[:, 0] ** 0 * a[:, 0] ** 2,
        lambda s, a, n: np.abs(n[:, 0]) * np.abs(n[:, 1]) - n[:, 1],
    ],
)
def test_rewards_in_absolute_values_are_found(line: pf.Transitions, reward: Reward) -> None:
    model = pf.DynamicsForest().fit(with_reward(line, reward))
    assert model.reward.shapes
    assert model.reward_score > 1.0 - 1e-8
    assert not model.is_linear_quadratic  # although the kind is a polynomial


def test_a_known_reward_in_absolute_values_is_not_taken_for_a_quadratic_one(line: pf.Transitions) -> None:
    """The regulator of a quadratic cost would then be chosen, and nothing else tried."""

    def reward(s: np.ndarray, a: np.ndarray, n: np.ndarray) -> np.ndarray:
        return -np.abs(n[:, 0]) - 0.1 * a[:, 0] ** 2

    data = with_reward(line, reward)
    assert not pf.DynamicsForest().fit(data).is_linear_quadratic
    assert not pf.DynamicsForest(reward=reward).fit(data).is_linear_quadratic


def test_an_angle_that_samples_do_not_determine_is_not_used() -> None:
    """Between -80 and 80 degrees, a quadratic function of the angle from the sine's side is as exact as one from the
    cosine's side, but they differ where no sample is."""
    data = pf.collect("Pendulum-v1", steps=1_200, seed=3)
    above = np.minimum(data.states[:, 0], data.next_states[:, 0]) > 0.1
    assert above.sum() > 100
    some = data[np.flatnonzero(above)]
    for columns in ([0, 1, 2], [1, 0, 2]):
        seen = replace(
            some, states=some.states[:, columns], next_states=some.next_states[:, columns], observation_space=None
        )
        assert pf.DynamicsForest().fit(seen).reward.shapes == ()


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 2, 3], [1, 0, 3, 2]])
def test_every_angle_may_have_its_own_order_of_sine_and_cosine(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    angles = rng.uniform(-np.pi, np.pi, (900, 2))
    ahead = angles + rng.uniform(-0.3, 0.3, (900, 2))
    rewards = -(((angles + np.pi) % (2.0 * np.pi) - np.pi) ** 2).sum(axis=1)

    def observed(turned: np.ndarray) -> np.ndarray:
        x, y = turned.T
        return np.stack([np.cos(x), np.sin(x), np.cos(y), np.sin(y)], axis=1)[:, order]

    data = pf.Transitions(
        observed(angles), ahead - angles, rewards, observed(ahead), np.zeros(900, bool), np.arange(900) // 30,
        action_space=gym.spaces.Box(-0.3, 0.3, (2,), np.float64),
    )  # fmt: skip
    found = {(shape.sine, shape.cosine) for shape in pf.DynamicsForest().fit(data).reward.shapes if not shape.size}
    assert found == {(order.index(1), order.index(0)), (order.index(3), order.index(2))}


def test_past_measurements_do_not_hide_a_reward_in_angles() -> None:
    env = pf.SignalTask(gym.make("Pendulum-v1"), history=2)
    model = pf.DynamicsForest().fit(pf.collect(env, steps=1_000, seed=0))
    assert model.reward.shapes
    assert not {source for source, _ in model.structure.copies} & model.reward.read


def test_the_swing_up_knows_its_reward_after_one_episode() -> None:
    data = pf.collect("policyforest/SwingUp-v0", episodes=1, seed=3)
    model = pf.DynamicsForest().fit(data)
    assert model.reward_score > 1.0 - 1e-8
    upright = np.zeros((1, 2))
    np.testing.assert_allclose(model.native.step(upright, np.zeros((1, 1)), None, False)[1], 0.0, atol=0.02)


def test_a_polynomial_of_the_state_needs_no_shapes(line: pf.Transitions) -> None:
    model = pf.DynamicsForest().fit(line)
    assert model.reward.shapes == ()
    assert model.is_linear_quadratic


@pytest.mark.parametrize("size", [1e-3, 0.1])
def test_a_noisy_reward_is_learned_as_before(line: pf.Transitions, size: float) -> None:
    noise = size * np.random.default_rng(1).normal(size=len(line))
    data = with_reward(line, lambda s, a, n: -np.abs(n[:, 0]) + noise)
    assert pf.DynamicsForest().fit(data).reward.shapes == ()


def test_a_reward_that_only_resembles_a_polynomial_is_learned_as_before(line: pf.Transitions) -> None:
    width = 0.3 / np.abs(line.next_states[:, 0]).max()
    data = with_reward(line, lambda s, a, n: np.cos(width * n[:, 0]) * np.abs(a[:, 0]))
    assert pf.DynamicsForest().fit(data).reward.shapes == ()


def test_an_absolute_value_whose_number_has_only_one_sign_is_no_input(line: pf.Transitions) -> None:
    moved = replace(line, states=line.states + 10.0, next_states=line.next_states + 10.0)
    data = with_reward(moved, lambda s, a, n: -np.abs(n[:, 0]) - np.abs(a[:, 0]))
    shapes = pf.DynamicsForest().fit(data).reward.shapes
    assert {shape.sine for shape in shapes} == {2, 3}  # the actions


def test_few_samples_are_not_enough_for_many_coefficients(line: pf.Transitions) -> None:
    data = with_reward(line, lambda s, a, n: np.abs(n[:, 0]) * np.abs(n[:, 1]))
    assert pf.DynamicsForest().fit(data[:100]).reward.shapes == ()  # 45 coefficients


def test_a_model_like_another_keeps_its_shapes_while_they_are_exact(line: pf.Transitions) -> None:
    data = with_reward(line, lambda s, a, n: -np.abs(n[:, 0]))
    first = pf.DynamicsForest().fit(data[:400])
    again = pf.DynamicsForest().fit(data, like=first)
    assert again.reward.shapes == first.reward.shapes != ()
    assert again.reward.choice.kind == first.reward.choice.kind
    changed = data.rewards.copy()
    changed[400:] -= np.maximum(data.next_states[400:, 1], 0.0) ** 3  # not met before
    other = pf.DynamicsForest().fit(replace(data, rewards=changed), like=first)
    assert other.reward.shapes == ()
    assert set(other.reward.sources) >= {0, 1} or set(other.reward.sources) >= {4, 5}


def test_planned_trajectories_follow_the_slopes_of_a_reward_in_angles() -> None:
    """They are computed in the dimensions that a reward reads, also if it reads them through a shape."""
    data = pf.collect("Pendulum-v1", steps=600, seed=1)
    model = pf.DynamicsForest().fit(data)
    assert model.reward.read >= {0, 1, 2} or model.reward.read >= {4, 5, 6}
    start = pf.GridPlanning(0.98).fit(model)
    better = pf.TrajectoryImprovement(0.98, n_rounds=1).fit(model, start)
    before, after = (pf.evaluate(p, gym.make("Pendulum-v1"), episodes=20, seed=3).mean for p in (start, better))
    assert after > before - 5.0
    assert after > -250.0
