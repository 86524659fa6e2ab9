"""The paper's tables as settings, and the problems by name."""

from __future__ import annotations

import gymnasium as gym
import pytest

from policyforest.environments.named_problems import DISCOUNT, PROBLEMS, environment_id, named_problem
from policyforest.learning.methods import METHODS, Learner
from policyforest.learning.presets import paper


@pytest.mark.parametrize(
    ("problem", "constant", "linear", "max_leaves", "horizon", "discount"),
    [("inverted-pendulum", 17, 125, 50, 10, 0.95), ("double-integrator", 100, 1500, 40, 10, 0.98)],
)
def test_tables_of_the_paper(
    problem: str, constant: int, linear: int, max_leaves: int, horizon: int, discount: float
) -> None:
    for leaf_model, n_min in (("constant", constant), ("linear", linear)):
        q_learner, learner = paper(problem, leaf_model)  # type: ignore[arg-type]
        assert (learner.n_states, learner.states, learner.max_features) == (10_000, "uniform", 2)
        assert (learner.min_samples_leaf, learner.n_estimators, learner.min_variance) == (n_min, 25, 1e-4)
        assert (q_learner.max_leaves, q_learner.horizon, q_learner.discount) == (max_leaves, horizon, discount)
        assert (q_learner.max_features, q_learner.min_samples_leaf, q_learner.n_estimators) == (3, 1, 25)
        assert learner.q_learner == q_learner


def test_presets_use_nothing_that_is_ours() -> None:
    q_learner, _ = paper("car-on-the-hill", action_search="merged")
    assert q_learner.resample is None
    assert q_learner.score is None
    assert q_learner.action_search == "merged"


def test_both_pendulums_have_the_settings_of_the_pendulum() -> None:
    assert paper("inverted-pendulum-6kg") == paper("policyforest/InvertedPendulum-v0") == paper("inverted-pendulum")


def test_problems_without_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"swing-up.*inverted-pendulum, double-integrator, car-on-the-hill"):
        paper("swing-up")


def test_every_name_is_an_environment() -> None:
    for short, problem in PROBLEMS.items():
        assert environment_id(short) == problem.id
        gym.make(problem.id).close()


def test_unknown_problems_have_the_general_discount() -> None:
    assert named_problem("Pendulum-v1").discount == DISCOUNT
    assert named_problem("policyforest/InvertedPendulum6kg-v0").discount == 0.95


def test_a_learner_takes_its_discount_from_the_problem_unless_told() -> None:
    assert Learner(problem="inverted-pendulum").learners[0].discount == 0.95
    assert Learner(problem="inverted-pendulum", discount=0.5).learners[0].discount == 0.5
    assert Learner(problem="inverted-pendulum", discount=0.5, preset="paper").learners[0].discount == 0.5


def test_a_learner_names_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=f"method: is 'x', must be one of '{METHODS[0]}'"):
        Learner("x")
    with pytest.raises(ValueError, match="preset"):
        Learner("bas", preset="paper")
