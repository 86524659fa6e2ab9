"""Commands that act late: what the model depends on, how its slopes are fitted, and the regulator."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.learning.dynamics.regression import RIDGE, ModelInputs, OutputKind, fit_output
from policyforest.learning.improvement.late_regulator import late_regulator
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.paper.real_system_studies import AngleOnly

PENDULUM = "policyforest/InvertedPendulum6kg-v0"


def late_pendulum(steps, episodes=60, **options):
    return pf.collect(pf.DelayedActions(gym.make(PENDULUM), steps), episodes=episodes, seed=0, **options)


@pytest.fixture(scope="module")
def late():
    return late_pendulum(2, delay="auto")


@pytest.fixture(scope="module")
def model(late):
    return pf.DynamicsForest().fit(late)


def test_the_model_depends_on_the_command_that_acts_alone(late, model):
    assert late.plant.delay == 2
    assert model.structure.sources(4, 1) == [0, 1, 3]  # theta, omega and the command of two steps before
    here = np.tile([0.1, 0.2, 10.0, -20.0], (3, 1))
    steps = model.native.step(here, np.array([[-50.0], [0.0], [50.0]]), None, False)
    assert len(set(steps[0][:, 0])) == len(set(steps[0][:, 1])) == len(set(steps[1])) == 1
    assert steps[0][:, 2].tolist() == [-50.0, 0.0, 50.0]
    assert steps[0][:, 3].tolist() == [10.0, 10.0, 10.0]


def test_the_reward_is_learned_from_the_command_that_is_charged(late, model):
    assert model.reward.sources == (5, 6, 3)  # the next angle and speed, and the command that acted
    assert model.reward_score > 0.999_999


def test_newer_commands_are_inputs_where_held_out_steps_show_that_they_matter():
    rng = np.random.default_rng(0)
    n = 1_000
    pushes, x = rng.uniform(-1, 1, n), np.zeros(n + 1)
    for t in range(2, n):  # a delay of one and a half steps
        x[t + 1] = 0.9 * x[t] + 0.5 * pushes[t - 1] + 0.5 * pushes[t - 2]
    data = pf.Transitions(
        x[:-1, None], pushes[:, None], -(x[1:] ** 2), x[1:, None], np.zeros(n, bool), np.arange(n) // 50,
        action_space=gym.spaces.Box(-1, 1, (1,), np.float64), delay=2,
    )  # fmt: skip
    fitted = pf.DynamicsForest().fit(data)
    assert fitted.structure.sources(3, 1) == [0, 1, 2, 3]
    assert fitted.state_scores[0] > 0.99


def test_slopes_under_bounded_noise_are_fitted_better_than_by_least_squares():
    errors = {}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (400, 2))
        y = 2.0 * x[:, 0] - x[:, 1] + rng.uniform(-0.5, 0.5, 400)
        inputs = ModelInputs(x, {})
        for shrink in (RIDGE, 0.3):
            kind = OutputKind("quadratic", None, shrink)
            fitted = fit_output(kind, inputs, y, np.arange(400), n_estimators=1, seed=0, n_jobs=1)
            slopes = fitted.coefficients[1:3] / x.std(axis=0)
            errors.setdefault(shrink, []).append(np.abs(slopes - [2.0, -1.0]).max())
    assert np.mean(errors[0.3]) < 0.6 * np.mean(errors[RIDGE])


def test_without_late_commands_models_are_as_before():
    data = pf.collect(PENDULUM, episodes=20, seed=0)
    fitted = pf.DynamicsForest().fit(data)
    assert fitted.structure.commands_act
    assert fitted.structure.sources(2, 1) == [0, 1, 2]
    assert all(kind.shrink == RIDGE for choice in fitted.choices for kind in choice.errors)


def test_the_regulator_predicts_what_pending_commands_will_do(late, model):
    """Its gains of the pending commands are those of the state, through the slopes of the model."""
    starts = late.states[np.unique(late.episodes, return_index=True)[1]]
    law = late_regulator(ModelRollouts(model, 0.95, 4), starts, 60, 0)
    theta, omega, newest, oldest, _ = law.forests[0].arrays["coefficients"][0]
    # x(t+2) = A² x + A B u_2 + B u_1, with A and B of the equations at rest (steps of 100 ms)
    a, b = np.array([[1.0908, 0.1030], [1.8626, 1.0908]]), np.array([-0.00116, -0.02376])
    k = np.linalg.solve((a @ a).T, [theta, omega])
    assert np.allclose([k @ b, k @ a @ b], [newest, oldest], rtol=0.1)
    again = late_regulator(ModelRollouts(model, 0.95, 4), starts, 60, 0)
    assert np.array_equal(again.forests[0].arrays["coefficients"], law.forests[0].arrays["coefficients"])


def test_samples_without_a_regulator_have_none_for_late_commands():
    few = late_pendulum(1, episodes=8, delay=1)
    rows = few[:6]
    fitted = pf.DynamicsForest().fit(few)
    rollouts = ModelRollouts(replace(fitted, transitions=rows), 0.95, 4)
    assert late_regulator(rollouts, few.states[:1], 20, 0) is None


@pytest.mark.parametrize("steps", [1, 2])
def test_a_law_for_late_commands_keeps_the_pole_up_where_ignoring_the_delay_drops_it(steps):
    env = pf.DelayedActions(gym.make(PENDULUM), steps)
    data = pf.collect(env, episodes=100, seed=0, delay="auto")
    policy = pf.learn(data, discount=0.95)
    assert pf.evaluate(policy, env, episodes=2, max_steps=500).lengths.min() == 500
    assert policy.info.settings["winner"] in ("linear", "improved")
    assert policy.signals.history_actions == steps


def test_the_angle_alone_is_enough_with_a_history_and_late_commands():
    env = AngleOnly(pf.DelayedActions(gym.make(PENDULUM), 1))
    data = pf.collect(env, episodes=100, seed=0, history=3, delay=1)
    policy = pf.learn(data, discount=0.95)
    assert pf.evaluate(policy, env, episodes=2, max_steps=500).lengths.min() == 500
