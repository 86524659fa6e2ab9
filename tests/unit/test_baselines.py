"""The baselines learn for real, and refuse what they cannot learn from."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import policyforest as pf
from policyforest.baselines import LSPI, BinaryActionSearch, DiscreteFQI, PolynomialBasis, RadialBasis
from policyforest.baselines.binary_action_search import binary_decisions, path_to, step_sizes
from policyforest.baselines.finite_actions import action_grid, nearest_action

INTEGRATOR = "policyforest/DoubleIntegrator-v0"
LEARNERS = [LSPI(), BinaryActionSearch(), DiscreteFQI(horizon=5, n_estimators=5)]


@pytest.fixture(scope="module")
def integrator_data() -> pf.Transitions:
    return pf.collect(INTEGRATOR, episodes=300, seed=0)


@pytest.mark.parametrize("resolution", [1, 3, 6])
def test_binary_paths_reach_every_action_of_the_resolution(resolution: int) -> None:
    box = np.array([[-2.0, 6.0]])
    outcomes = np.linspace(-2.0, 6.0, 2**resolution)
    paths = path_to(outcomes[:, None], box, resolution)[:, 0]
    reached = 2.0 + np.where(paths, 1.0, -1.0) @ step_sizes(box, resolution)[0]
    np.testing.assert_allclose(reached, outcomes, atol=1e-12)


def test_a_sample_becomes_a_path_that_pays_at_its_end(integrator_data: pf.Transitions) -> None:
    decisions = binary_decisions(integrator_data, 4, 0.9, 0.0)
    assert len(decisions.inputs) == 4 * len(integrator_data)
    rewards = decisions.rewards.reshape(-1, 4)
    assert (rewards[:, :-1] == 0).all()
    np.testing.assert_array_equal(rewards[:, -1], integrator_data.rewards)
    discounts = decisions.discounts.reshape(-1, 4)
    assert (discounts[:, :-1] == 1).all()
    np.testing.assert_array_equal(discounts[:, -1], np.where(integrator_data.terminals, 0.0, 0.9))


def test_grids_of_actions_hold_all_combinations() -> None:
    grid = action_grid(np.array([[-1.0, 1.0], [0.0, 2.0]]), 3)
    assert grid.tolist() == [list(pair) for pair in itertools.product([-1, 0, 1], [0, 1, 2])]
    assert nearest_action(np.array([[0.9, 0.2]]), np.array([[-1.0, 1.0], [0.0, 2.0]]), 3).tolist() == [6]


def test_binary_action_search_controls_the_double_integrator(integrator_data: pf.Transitions) -> None:
    learner = BinaryActionSearch(discount=0.98, basis=PolynomialBasis(2))
    judged = pf.evaluate(learner.fit(integrator_data), INTEGRATOR, episodes=1)
    assert not judged.terminals.any()
    assert judged.mean > -6.0  # the limit is -3.43; a random policy ends at -50


def test_a_few_actions_control_the_double_integrator(integrator_data: pf.Transitions) -> None:
    policy = DiscreteFQI(discount=0.98, horizon=20).fit(integrator_data)
    judged = pf.evaluate(policy, INTEGRATOR, episodes=1)
    assert not judged.terminals.any()  # a random policy breaks a limit within a few steps
    states = integrator_data.states[:50]
    assert np.isin(policy.act_batch(states), policy.actions).all()


def test_discrete_targets_are_maxima_over_the_set(integrator_data: pf.Transitions) -> None:
    """Two iterations against the formula, with the same forests."""
    data = integrator_data[:200]
    learner = DiscreteFQI(discount=0.9, horizon=2, n_actions=3, n_estimators=3)
    X = np.concatenate([data.states, data.actions], axis=1)
    box = np.concatenate([data.state_box(), [[-1.0, 1.0]]])
    first = pf.grow_forest(X, data.rewards, n_estimators=3, min_samples_leaf=1, box=box, random_state=1)
    y = data.rewards.copy()
    for i in np.flatnonzero(~data.terminals):
        y[i] += 0.9 * max(first.predict_one(np.append(data.next_states[i], a)) for a in (-1.0, 0.0, 1.0))
    second = pf.grow_forest(X, y, n_estimators=3, min_samples_leaf=1, box=box, random_state=2)
    np.testing.assert_array_equal(learner.fit(data).forest.arrays["split"], second.arrays["split"])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_policies_are_saved_and_loaded(learner: LSPI, integrator_data: pf.Transitions, tmp_path: Path) -> None:
    policy = learner.fit(integrator_data[:300])
    policy.save(tmp_path / "p.pforest")
    loaded = pf.load(tmp_path / "p.pforest")
    states = integrator_data.states[:100]
    np.testing.assert_array_equal(policy.act_batch(states), loaded.act_batch(states))
    action, state = loaded.predict(states[0], state="kept")
    np.testing.assert_array_equal(action, policy.act(states[0]))
    assert state == "kept"


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_nan_states_and_wrong_samples_are_refused(learner: LSPI, integrator_data: pf.Transitions) -> None:
    policy = learner.fit(integrator_data[:100])
    with pytest.raises(ValueError, match="state"):
        policy.act(np.array([np.nan, 0.0]))
    with pytest.raises(TypeError, match="transitions"):
        learner.fit([1, 2, 3])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LSPI(discount=1.0), "discount"),
        (lambda: LSPI(n_actions=1), "n_actions"),
        (lambda: BinaryActionSearch(resolution=0), "resolution"),
        (lambda: DiscreteFQI(horizon=0), "horizon"),
        (lambda: RadialBasis(n_centres=0).over(np.array([[0.0, 1.0]])), "n_centres"),
    ],
)
def test_bad_settings_are_refused_by_name(make: object, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        make()  # type: ignore[operator]
