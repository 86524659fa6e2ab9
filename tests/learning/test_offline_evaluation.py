"""Fitted Q Evaluation: values near the true ones, intervals over episodes, and a warning where samples end."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf

UNIT = Box(-1.0, 1.0, (1,), np.float64)


@dataclass(frozen=True)
class Constant:
    """Always the same action."""

    action: float

    def act_batch(self, states: np.ndarray) -> np.ndarray:
        return np.full((len(states), 1), self.action)


def chain(n_episodes: int = 60, most: float = 1.0, seed: int = 0, noise: float = 0.0) -> pf.Transitions:
    """x' = x / 2, reward a, ten steps: an action a is worth a (1 + gamma + …) everywhere."""
    rng = np.random.default_rng(seed)
    starts = rng.uniform(-1, 1, n_episodes)
    states = np.array([s * 0.5 ** np.arange(11) for s in starts])
    actions = rng.uniform(-most, most, (n_episodes, 10))
    return pf.Transitions(
        states[:, :-1].reshape(-1, 1),
        actions.reshape(-1, 1),
        actions.ravel() + noise * rng.standard_normal(actions.size),
        states[:, 1:].reshape(-1, 1),
        np.zeros(n_episodes * 10, dtype=bool),
        np.repeat(np.arange(n_episodes), 10),
        action_space=UNIT,
    )


@pytest.mark.parametrize("action", [-0.5, 0.0, 0.5])
def test_the_value_is_near_the_true_one_and_inside_its_interval(action: float) -> None:
    judged = pf.evaluate_offline(Constant(action), chain(noise=0.2), discount=0.5, bootstrap=8, n_estimators=10)
    true = action / (1 - 0.5)
    assert judged.value == pytest.approx(true, abs=0.15)
    assert judged.interval[0] <= true <= judged.interval[1]
    assert 0.05 < judged.interval[1] - judged.interval[0] < 0.6


def test_samples_of_a_model_make_the_value_exact_where_it_is_right() -> None:
    drawn = pf.evaluate_offline(Constant(-0.5), chain(20), discount=0.5, bootstrap=0, n_estimators=10)
    plain = pf.evaluate_offline(Constant(-0.5), chain(20), discount=0.5, bootstrap=0, n_estimators=10, resample=None)
    assert drawn.value == pytest.approx(-1.0, abs=5e-3)
    assert abs(plain.value + 1.0) > 2 * abs(drawn.value + 1.0)


def test_a_model_that_is_given_takes_the_place_of_the_one_that_would_be_learned() -> None:
    samples = chain(20)
    given: dict[str, Any] = {"discount": 0.5, "bootstrap": 2, "n_estimators": 5}
    model = pf.DynamicsForest().fit(samples)
    judged = pf.evaluate_offline(Constant(0.5), samples, resample=model, **given)
    assert judged == pf.evaluate_offline(Constant(0.5), samples, **given)


def test_a_number_of_numpy_is_a_number_and_a_model_of_other_samples_is_refused():
    samples = chain(20)
    given = {"discount": 0.5, "bootstrap": 0, "n_estimators": 5, "iterations": 3}
    values = [pf.evaluate_offline(Constant(0.5), samples, resample=n, **given).value for n in (np.int64(50), 50, 200)]
    assert values[0] == values[1] != values[2]
    model = pf.DynamicsForest().fit(chain(10))
    with pytest.raises(ValueError, match="resample: is a model of other samples"):
        pf.evaluate_offline(Constant(0.5), samples, resample=model, **given)


def test_a_model_s_samples_have_the_law_s_actions_in_half_of_them() -> None:
    model = pf.DynamicsForest(n_estimators=5).fit(chain(20))
    actions = model.sample(100, 0, Constant(0.25).act_batch).actions[:, 0]
    assert (actions[:50] == 0.25).all()
    assert len(np.unique(actions[50:])) == 50
    assert np.array_equal(model.sample(100, 0).actions[50:, 0], actions[50:])


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads() -> None:
    one = pf.evaluate_offline(Constant(0.2), chain(20), discount=0.5, bootstrap=2, n_estimators=5)
    two = pf.evaluate_offline(Constant(0.2), chain(20), discount=0.5, bootstrap=2, n_estimators=5, n_jobs=2)
    assert one == two


def test_actions_beyond_the_samples_are_warned_about() -> None:
    narrow = chain(most=0.2)
    with pytest.warns(pf.CoverageWarning, match="record more samples"):
        outside = pf.evaluate_offline(Constant(0.9), narrow, discount=0.5, bootstrap=0, n_estimators=5)
    assert outside.unknown > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inside = pf.evaluate_offline(Constant(0.1), narrow, discount=0.5, bootstrap=0, n_estimators=5)
    assert inside.unknown < 0.2
    assert "needs" not in str(inside)
    assert inside.as_dict()["interval"] is None


def test_a_terminal_step_is_worth_its_reward_alone() -> None:
    data = pf.Transitions(
        np.zeros((20, 1)), np.zeros((20, 1)), np.full(20, -3.0), np.ones((20, 1)), np.ones(20, dtype=bool),
        np.arange(20), action_space=UNIT,
    )  # fmt: skip
    assert pf.evaluate_offline(Constant(0.0), data, discount=0.9, bootstrap=0).value == pytest.approx(-3.0)


def test_the_discount_is_the_policy_s_own_unless_given() -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=10, seed=0)
    q = pf.FittedQIteration(discount=0.7, horizon=2, resample=None).fit(data)
    for policy in (pf.FittedPolicyForest(n_states=200).fit(q), q.policy()):
        assert pf.evaluate_offline(policy, data, bootstrap=0, iterations=2, n_estimators=3).discount == 0.7


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policy": 3}, TypeError, "policy: is 3"),
        ({"transitions": [1]}, TypeError, "transitions: is list"),
        ({"discount": 1.0}, ValueError, "discount"),
        ({"bootstrap": -1}, ValueError, "bootstrap"),
        ({"iterations": 0}, ValueError, "iterations"),
        ({"starts": [[np.nan]]}, ValueError, "starts"),
        ({"starts": [[0.0, 1.0]]}, ValueError, "starts: has shape"),
        ({"starts": np.empty((0, 1))}, ValueError, "starts"),
        ({"resample": 0}, ValueError, "resample"),
        ({"resample": "always"}, TypeError, "resample"),
    ],
)
def test_what_cannot_be_judged_is_refused(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    given: dict[str, object] = {"policy": Constant(0.0), "transitions": chain(5), "discount": 0.5} | arguments
    with pytest.raises(error, match=message):
        pf.evaluate_offline(given.pop("policy"), given.pop("transitions"), **given)  # type: ignore[arg-type]
