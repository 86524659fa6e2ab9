"""`pf.learn`: near a known optimum, never silently worse than a constant action or the given controller."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.learning.comparison import pays
from policyforest.learning.improvement.linear_quadratic import linear_quadratic_policy

A = np.array([[1.0, 0.1], [0.0, 1.0]])
B = np.array([[0.0, 0.02], [0.1, 0.0]])
DISCOUNT = 0.95


def linear_samples(n: int = 600, seed: int = 0, reward_noise: float = 0.0) -> pf.Transitions:
    """A double integrator with two actions and a quadratic cost, in episodes of 20 random steps."""
    rng = np.random.default_rng(seed)
    states, ahead = np.empty((n, 2)), np.empty((n, 2))
    actions = rng.uniform(-2, 2, (n, 2))
    for i in range(n):
        states[i] = rng.uniform(-1, 1, 2) if i % 20 == 0 else ahead[i - 1]
        ahead[i] = A @ states[i] + B @ actions[i]
    rewards = -(states**2).sum(axis=1) - 0.1 * (actions**2).sum(axis=1) + reward_noise * rng.standard_normal(n)
    box = Box(-2.0, 2.0, (2,), np.float64)
    return pf.Transitions(states, actions, rewards, ahead, np.zeros(n, bool), np.arange(n) // 20, action_space=box)


def cost(policy, n_starts: int = 30) -> float:
    states = np.random.default_rng(9).uniform(-1, 1, (n_starts, 2))
    total = 0.0
    for t in range(100):
        actions = np.asarray(policy.act_batch(states))
        total += DISCOUNT**t * float(((states**2).sum(axis=1) + 0.1 * (actions**2).sum(axis=1)).mean())
        states = states @ A.T + actions @ B.T
    return total


def regulator_gain() -> np.ndarray:
    """The optimal gain by plain iteration of the Riccati equation."""
    q, r, p = np.eye(2), 0.1 * np.eye(2), np.eye(2)
    gain = np.zeros((2, 2))
    for _ in range(2000):
        gain = np.linalg.solve(r + DISCOUNT * B.T @ p @ B, DISCOUNT * B.T @ p @ A)
        p = q + DISCOUNT * A.T @ p @ (A - B @ gain)
    return gain


@dataclass(frozen=True)
class Linear:
    gain: np.ndarray

    def act_batch(self, states: np.ndarray) -> np.ndarray:
        return np.clip(-states @ self.gain.T, -2.0, 2.0)


@pytest.fixture(scope="module")
def planned() -> pf.PlannedPolicy:
    return pf.PlannedLearning(DISCOUNT).fit(linear_samples())


def test_a_linear_system_with_two_actions_is_controlled_near_the_optimum(planned: pf.PlannedPolicy) -> None:
    optimum = cost(Linear(regulator_gain()))
    assert cost(planned.policy) < 1.02 * optimum
    assert cost(Linear(np.zeros((2, 2)))) > 2 * optimum


def test_the_report_ranks_the_candidates_and_names_the_winner(planned: pf.PlannedPolicy) -> None:
    names = [candidate.name for candidate in planned.candidates]
    values = [candidate.value for candidate in planned.candidates]
    assert values == sorted(values, reverse=True)
    assert planned.winner in names
    assert names[-1] == "constant"
    assert planned.candidates[-1].gain == 0.0
    assert planned.policy.info.settings["winner"] == planned.winner
    assert not planned.note


def test_the_policy_is_saved_and_exported_like_any_other(planned: pf.PlannedPolicy, tmp_path) -> None:
    planned.policy.save(tmp_path / "planned.pforest")
    loaded = pf.load(tmp_path / "planned.pforest")
    states = linear_samples().states
    assert np.array_equal(loaded.act_batch(states), planned.policy.act_batch(states))
    assert loaded.info.software == f"policyforest {pf.__version__}"
    assert loaded.info.created
    assert loaded.info.settings["candidates"] == [asdict(candidate) for candidate in planned.candidates]
    planned.policy.export_c(tmp_path / "c")
    assert (tmp_path / "c" / "policy.h").exists()


def test_the_regulator_of_the_samples_is_the_optimal_one() -> None:
    policy = linear_quadratic_policy(linear_samples(), DISCOUNT)
    assert policy is not None
    assert cost(policy) == pytest.approx(cost(Linear(regulator_gain())), rel=1e-3)


def test_samples_that_all_end_have_no_regulator() -> None:
    data = linear_samples(100)
    assert linear_quadratic_policy(replace(data, terminals=np.ones(100, bool)), DISCOUNT) is None


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads() -> None:
    data = linear_samples(300)
    one, two = (pf.learn(data, discount=0.8, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.act_batch(data.states), two.act_batch(data.states))


def samples_with_random_rewards() -> pf.Transitions:
    data = linear_samples(200)
    return pf.Transitions(
        data.states, data.actions, np.random.default_rng(1).standard_normal(200), data.next_states, data.terminals,
        data.episodes, action_space=data.action_space,
    )  # fmt: skip


def test_rewards_that_no_model_explains_are_learned_without_planning_and_with_a_warning() -> None:
    noise = samples_with_random_rewards()
    with pytest.warns(pf.PlanningWarning, match="planning was not used"):
        planned = pf.PlannedLearning(0.5).fit(noise)
    assert planned.improvement is None
    assert np.isfinite(planned.policy.act_batch(noise.states)).all()


@pytest.mark.parametrize("learn", [lambda x: pf.learn(x, discount=0.5), lambda x: pf.PlannedLearning(0.5).fit(x)])
def test_a_warning_points_at_the_line_that_called_the_library(learn: Callable[[pf.Transitions], Any]) -> None:
    with pytest.warns(pf.PlanningWarning, match="planning was not used") as told:
        learn(samples_with_random_rewards())
    assert told[0].filename == __file__
    assert told[0].lineno == learn.__code__.co_firstlineno


def test_actions_without_effect_leave_the_constant_action_and_say_so() -> None:
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (300, 1))
    data = pf.Transitions(
        states, rng.uniform(-1, 1, (300, 1)), states[:, 0], states / 2, np.zeros(300, bool), np.arange(300) // 10,
        action_space=Box(-1.0, 1.0, (1,), np.float64),
    )  # fmt: skip
    with pytest.warns(pf.PlanningWarning, match="constant action"):
        planned = pf.PlannedLearning(0.8).fit(data)
    assert np.isfinite(planned.policy.act_batch(states)).all()


def test_a_good_controller_that_is_given_is_kept_or_beaten() -> None:
    given = Linear(regulator_gain())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.PlanningWarning)
        planned = pf.PlannedLearning(DISCOUNT, baseline=given).fit(linear_samples(400))
    assert cost(planned.policy) < 1.02 * cost(given)


def test_what_has_no_act_batch_is_no_baseline() -> None:
    with pytest.raises(TypeError, match="baseline: is 3, must be a policy, a function, a formula or None"):
        pf.PlannedLearning(baseline=3)
    with pytest.raises(ValueError, match=r"discount: is 1\.0, must be"):
        pf.learn(linear_samples(40), discount=1.0)


def test_an_improvement_by_a_hair_s_breadth_is_not_taken() -> None:
    noise = 1e-3 * np.random.default_rng(0).standard_normal((4, 50))
    assert not pays(0.01 + noise, 90.0)
    assert pays(1.0 + noise, 90.0)
    one_member_loses = np.array([[2.0], [2.0], [2.0], [-0.1]]) + noise
    assert not pays(one_member_loses, 90.0)


def test_the_policy_of_q_itself_is_compared_in_few_dimensions() -> None:
    data = pf.collect("policyforest/InvertedPendulum6kg-v0", episodes=30, seed=0)  # noise matters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.PlanningWarning)
        found = pf.PlannedLearning(0.8).fit(data)
    assert {"q-greedy", "fpf-pwl", "grid", "constant"} <= {candidate.name for candidate in found.candidates}


def test_a_regulator_that_is_the_best_by_its_formula_has_no_rivals() -> None:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=30, seed=0)
    found = pf.PlannedLearning(0.98).fit(data)
    assert {candidate.name for candidate in found.candidates} == {"linear-quadratic", "constant"}
    assert found.winner == "linear-quadratic"
    assert found.improvement is not None
    assert not found.improvement.improved
    policy = pf.evaluate(found.policy, "policyforest/DoubleIntegrator-v0", episodes=1, seed=1)
    assert policy.mean > -3.45  # the limit is -3.42


def test_where_noise_hardly_matters_a_grid_makes_fitted_q_iteration_needless() -> None:
    found = pf.PlannedLearning(0.98).fit(pf.collect("Pendulum-v1", steps=2_000, seed=0))
    names = {candidate.name for candidate in found.candidates}
    assert "grid" in names
    assert "fpf-pwl" not in names
    assert found.winner == "grid"


def test_a_known_reward_that_is_quadratic_is_solved_by_the_formula_too() -> None:
    data = linear_samples()

    def known(states, actions, next_states):
        return -(states**2).sum(axis=1) - 0.1 * (actions**2).sum(axis=1)

    def other(states, actions, next_states):
        return -np.abs(states).sum(axis=1)

    learned = pf.PlannedLearning(DISCOUNT).fit(data)
    told = pf.PlannedLearning(DISCOUNT, reward=known).fit(data)
    assert learned.winner == told.winner == "linear-quadratic"
    assert pf.DynamicsForest(reward=known).fit(data).is_linear_quadratic
    assert not pf.DynamicsForest(reward=other).fit(data).is_linear_quadratic  # the samples have another reward
