"""Gaussian processes in the learned model: their mean in the core, their shape, and where they are chosen."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.learning.dynamics import kernel
from policyforest.learning.dynamics.choice import HeldOut, choose
from policyforest.learning.dynamics.kernel import FittedKernel, KernelShape, covariance, fit_kernel, kernel_shape
from policyforest.learning.dynamics.regression import FittedOutput, ModelInputs, OutputKind, fit_output, predict


def smooth(rows):
    return np.sin(2.0 * rows[:, 0]) * rows[:, 1] ** 2


def inputs(n, seed=0):
    return ModelInputs(np.random.default_rng(seed).uniform(-1, 1, (n, 3)), {})


def test_the_core_sums_up_the_kernel_as_numpy_does():
    rng = np.random.default_rng(0)
    given = inputs(50)
    made = FittedKernel(np.array([0.3, 2.0, 40.0]), rng.normal(size=(17, 3)), rng.normal(size=17))
    z = given.linear[:, 1:]
    apart = ((z[:, None] - made.centres[None]) / made.lengths) ** 2
    expected = np.exp(-0.5 * apart.sum(axis=2)) @ made.weights + given.linear @ np.ones(4)
    found = predict(FittedOutput(np.ones(4), None, made), given, given.rows)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_far_from_all_centres_nothing_is_left():
    given = inputs(10)
    made = FittedKernel(np.full(3, 1e-3), np.full((2, 3), 50.0), np.ones(2))
    np.testing.assert_array_equal(predict(FittedOutput(np.zeros(0), None, made), given, given.rows), 0.0)


def test_the_core_follows_kernels_near_a_point_by_their_derivatives():
    """The change of state by its slopes, the reward also by its curvature: small moves are missed by their square."""
    rng = np.random.default_rng(1)
    data = pf.collect(gym.make("policyforest/CartPoleSwingUp-v0"), episodes=3, seed=0)
    model = pf.DynamicsForest(kernels=True).fit(data)
    assert model.has_kernels
    native, n = model.native, 40
    missed = []
    for size in (1e-2, 1e-3):
        moves = size * data.states.std(axis=0) * rng.choice([-1.0, 1.0], size=(2, n, 4))
        states = np.concatenate([data.states[None, :n], data.states[:n] + moves]).reshape(-1, 4)
        actions = np.tile(data.actions[:n], (3, 1))
        exact, near = native.step(states, actions, None, False), native.step_around(states, actions, n)
        for part in range(2):
            np.testing.assert_allclose(near[part][:n], exact[part][:n], rtol=0, atol=1e-9)
        for part, same in zip(native.earn_around(states, actions, near[0], n), near[1:], strict=True):
            np.testing.assert_array_equal(part, same)
        missed.append([np.abs(near[part] - exact[part])[n:].mean() for part in range(2)])
    assert missed[1][0] < missed[0][0] / 30  # by the square of the move
    assert missed[1][1] < missed[0][1] / 30


@pytest.mark.parametrize("wrong", ["columns", "weights", "length", "no output"])
def test_the_core_refuses_kernels_that_do_not_fit(wrong):
    group = inputs(10).group()
    if wrong != "no output":
        group.add(np.zeros(0), None)
    lengths, centres, weights = np.ones(3), np.zeros((2, 3)), np.ones(2)
    if wrong == "columns":
        centres = np.zeros((2, 2))
    if wrong == "weights":
        weights = np.ones(3)
    if wrong == "length":
        lengths = np.array([1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"centres|lengths|kernel"):
        group.set_kernel(lengths, centres, weights)


def test_an_input_that_does_not_matter_gets_a_long_length():
    given = inputs(120)
    shape = kernel_shape(given.linear[:, 1:], smooth(given.rows), 0)
    assert shape.lengths[2] > 10 * max(shape.lengths[:2])


def test_few_samples_of_a_smooth_function_are_enough():
    train, test = inputs(80), inputs(200, seed=1)
    y = smooth(train.rows)
    fitted = fit_output(OutputKind("kernel"), train, y, np.arange(80), n_estimators=1, seed=0, n_jobs=1)
    missed = predict(fitted, train, test.rows) - smooth(test.rows)
    assert np.mean(missed**2) < 1e-3 * np.var(smooth(test.rows))


def test_centres_in_place_of_all_samples_lose_little(monkeypatch):
    monkeypatch.setattr(kernel, "CENTRES", 60)
    given = inputs(300)
    y, z = smooth(given.rows), given.linear[:, 1:]
    shape = KernelShape(np.array([1.0, 1.5, 30.0]), 1.0, 1e-3)
    made = fit_kernel(shape, z, y, np.arange(300))
    assert made.centres.shape == (60, 3)
    found = covariance(KernelShape(shape.lengths, 1.0, 0.0), z, made.centres) @ made.weights
    assert np.mean((found - y) ** 2) < 1e-4 * y.var()


def test_a_sample_that_occurs_twice_counts_twice():
    given = inputs(30)
    noisy = smooth(given.rows) + np.random.default_rng(3).normal(0.0, 0.5, 30)
    shape, z = KernelShape(np.ones(3), 1.0, 0.5), given.linear[:, 1:]
    rows = np.concatenate([np.arange(30), np.arange(30)])
    twice = fit_kernel(shape, z, noisy, rows)
    surer = fit_kernel(shape._replace(noise=0.5 / np.sqrt(2.0)), z, noisy, np.arange(30))
    np.testing.assert_allclose(twice.weights, surer.weights, rtol=1e-6)


def test_it_is_chosen_where_samples_are_few_and_nothing_else_explains_them():
    given = inputs(100)
    held_out = HeldOut.of(np.arange(100) // 10, 0)
    assert choose(given, smooth(given.rows), held_out, 0, 1, kernels=True).kind == OutputKind("kernel")
    linear = choose(given, given.rows @ [1.0, 2.0, 3.0], held_out, 0, 1, kernels=True)
    assert linear.kind == OutputKind("linear")
    assert OutputKind("kernel") not in linear.errors
    assert OutputKind("kernel") not in choose(given, smooth(given.rows), held_out, 0, 1).errors


def test_three_random_episodes_of_a_cart_pole_teach_its_dynamics():
    data = pf.collect(gym.make("policyforest/CartPoleSwingUp-v0"), episodes=3, seed=0)
    model = pf.DynamicsForest(kernels=True).fit(data)
    assert min(model.state_scores) > 0.9


def test_the_shape_of_a_kernel_is_found_once_for_the_model_and_all_members(monkeypatch):
    found = []
    monkeypatch.setattr(
        "policyforest.learning.dynamics.regression.kernel_shape",
        lambda *given: found.append(given[1].tobytes()) or kernel_shape(*given),
    )
    data = pf.collect(gym.make("policyforest/CartPoleSwingUp-v0"), episodes=3, seed=0)
    model = pf.DynamicsForest(kernels=True).fit(data)
    assert "kernel" in {model.reward.choice.kind.base, model.reward.choice.alternative.base}
    number = len(found)
    assert model.native is not model.member(0) is not model.member(1)
    assert len(found) == number == len(set(found))
