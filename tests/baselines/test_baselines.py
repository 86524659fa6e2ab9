"""The baselines learn for real, and refuse what they cannot learn from."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.baselines import (
    LSPI,
    BinaryActionSearch,
    DiscreteFQI,
    ForestBinaryActionSearch,
    PolynomialBasis,
    RadialBasis,
    binary_action_search_for,
    least_squares,
)
from policyforest.baselines.bases import default_basis
from policyforest.baselines.binary_action_search import binary_decisions, path_to, step_sizes
from policyforest.baselines.finite_actions import action_grid, nearest_action
from policyforest.baselines.forest_binary_search import FOREST_SEARCH_KIND
from policyforest.baselines.least_squares import Decisions, lstdq, policy_iteration
from policyforest.policy.policy_parts import Parts

INTEGRATOR = "policyforest/DoubleIntegrator-v0"
PENDULUM, LIGHT_PENDULUM = "policyforest/InvertedPendulum-v0", "policyforest/InvertedPendulum6kg-v0"
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


def test_radial_functions_are_a_constant_and_gaussians_on_a_grid() -> None:
    phi = RadialBasis((3, 2), width=0.5).over(np.array([[0.0, 4.0], [10.0, 20.0]]))
    x = np.array([1.0, 12.0])
    z = (x - [2.0, 15.0]) / [2.0, 5.0]
    centres = itertools.product([-1.0, 0.0, 1.0], [-1.0, 1.0])
    expected = [1.0, *(np.exp(-0.5 * sum(((z - c) / [0.5, 1.0]) ** 2)) for c in centres)]
    np.testing.assert_allclose(phi(x[None]), [expected], rtol=1e-14)
    assert phi.n_features == 7


def test_polynomials_are_all_monomials_up_to_the_degree() -> None:
    phi = PolynomialBasis(2).over(np.array([[-2.0, 2.0], [3.0, 3.0]]))
    u, v = 0.5, 4.0  # the second dimension has no width and is only shifted
    np.testing.assert_allclose(phi(np.array([[1.0, 7.0]])), [[1, u, v, u * u, u * v, v * v]])


@pytest.mark.parametrize("n_inputs", range(1, 18))
def test_the_default_basis_stays_small(n_inputs: int) -> None:
    assert default_basis(n_inputs).over(np.tile([0.0, 1.0], (n_inputs, 1))).n_features <= 257


def random_decisions(n: int = 40) -> Decisions:
    rng = np.random.default_rng(0)
    return Decisions(
        inputs=rng.standard_normal((n, 2)),
        blocks=rng.integers(4, size=n),
        rewards=rng.standard_normal(n),
        next_inputs=rng.standard_normal((n, 2)),
        discounts=rng.choice([0.0, 0.7, 1.0], n),
        residual=rng.choice([0.0, 0.3, 1.0], n),
        menus=np.array([[0, 1], [2, 3]]),
        next_menu=rng.integers(2, size=n),
    )


def test_lstdq_solves_the_equations_of_its_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample by sample, in plain loops; the blocks of rows do not divide the samples evenly."""
    monkeypatch.setattr(least_squares, "BLOCK_ROWS", 7)
    d = random_decisions()
    phi = PolynomialBasis(1).over(np.array([[-1.0, 1.0], [-1.0, 1.0]]))
    policy = np.random.default_rng(1).dirichlet(np.ones(4), len(d.inputs))
    A, y = np.zeros((12, 12)), np.zeros(12)
    for i in range(len(d.inputs)):
        now, then = np.zeros((4, 3)), np.zeros((4, 3))
        now[d.blocks[i]] = phi(d.inputs[i : i + 1])[0]
        for c in range(4):
            then[c] = d.discounts[i] * policy[i, c] * phi(d.next_inputs[i : i + 1])[0]
        psi = (now - d.residual[i] * then).ravel()
        A += np.outer(psi, (now - then).ravel())
        y += psi * d.rewards[i]
    np.testing.assert_allclose(lstdq(phi, d, policy, 0.0).ravel(), np.linalg.solve(A, y), rtol=1e-9)


@pytest.mark.parametrize("residual", [0.0, 1.0])
def test_policy_iteration_solves_a_small_chain(residual: float) -> None:
    """States -1, 0, 1; left or right; leaving on the right pays 1, on the left nothing. Discount 0.5."""
    x, right = (a.ravel() for a in np.meshgrid([-1.0, 0.0, 1.0], [0, 1]))
    ahead = x + np.where(right, 1.0, -1.0)
    decisions = Decisions(
        inputs=x[:, None],
        blocks=right.astype(np.int64),
        rewards=(ahead == 2).astype(float),
        next_inputs=ahead[:, None],
        discounts=np.where(np.abs(ahead) > 1, 0.0, 0.5),
        residual=np.full(6, residual),
        menus=np.array([[0, 1]]),
        next_menu=np.zeros(6, dtype=np.int64),
    )
    phi = PolynomialBasis(2).over(np.array([[-1.0, 1.0]]))
    weights, progress = policy_iteration(phi, decisions, max_iterations=20, ridge=0.0)
    assert progress.converged
    np.testing.assert_allclose(
        phi(np.array([[-1.0], [0.0], [1.0]])) @ weights.T, [[0.0, 0.25], [0.125, 0.5], [0.25, 1.0]], atol=1e-9
    )


def bandit(n: int = 2_000) -> pf.Transitions:
    """One step with two actions, best at (s/2, -1/2) for the state s in [-1, 1]."""
    rng = np.random.default_rng(3)
    s, a = rng.uniform(-1, 1, (n, 1)), rng.uniform(-1, 1, (n, 2))
    rewards = -((a[:, 0] - s[:, 0] / 2) ** 2) - (a[:, 1] + 0.5) ** 2
    space = Box(-1.0, 1.0, (2,), np.float64)
    return pf.Transitions(s, a, rewards, s, np.ones(n, dtype=bool), action_space=space)


@pytest.mark.parametrize(
    ("learner", "most"),
    [
        # One smooth function for all decisions of a path is off by 0.11 to 0.15 with a single action dimension, too.
        (BinaryActionSearch(basis=PolynomialBasis(4)), 0.25),
        (ForestBinaryActionSearch(resolution=6, horizon=1), 0.1),
    ],
    ids=["BinaryActionSearch", "ForestBinaryActionSearch"],
)
def test_several_action_dimensions_are_searched_one_after_the_other(learner: BinaryActionSearch, most: float) -> None:
    states = np.linspace(-0.9, 0.9, 25)[:, None]
    actions = learner.fit(bandit()).act_batch(states)
    best = np.column_stack([states[:, 0] / 2, np.full(25, -0.5)])
    assert np.abs(actions - best).mean() < most  # a random action is 0.6 away


def test_binary_action_search_controls_the_double_integrator(integrator_data: pf.Transitions) -> None:
    policy = binary_action_search_for("double-integrator").fit(integrator_data)
    judged = pf.evaluate(policy, INTEGRATOR, episodes=1)
    assert not judged.terminals.any()
    assert judged.mean > -6.0  # the limit is -3.43; a random policy ends at -50


def test_binary_action_search_balances_the_light_pendulum() -> None:
    data = pf.collect(LIGHT_PENDULUM, episodes=300, seed=100)
    policy = binary_action_search_for("inverted-pendulum-6kg").fit(data)
    judged = pf.evaluate(policy, LIGHT_PENDULUM, episodes=2, max_steps=1000)
    assert not judged.terminals.any()
    assert judged.mean > -100.0


def test_forests_search_for_the_heavy_pendulum() -> None:
    data = pf.collect(PENDULUM, episodes=300, seed=200)
    policy = binary_action_search_for("inverted-pendulum").fit(data)
    judged = pf.evaluate(policy, PENDULUM, episodes=1, max_steps=300)
    assert not judged.terminals.any()


def test_lspi_controls_the_double_integrator_with_three_actions(integrator_data: pf.Transitions) -> None:
    policy = LSPI(discount=0.98, basis=PolynomialBasis(2), residual=0.3).fit(integrator_data)
    assert pf.evaluate(policy, INTEGRATOR, episodes=1).mean > -6.0


def test_forest_search_does_not_depend_on_the_threads() -> None:
    data = bandit(300)
    one, two = (ForestBinaryActionSearch(horizon=2, n_estimators=3, n_jobs=jobs).fit(data) for jobs in (1, 2))
    for a, b in zip(one.forests, two.forests, strict=True):
        np.testing.assert_array_equal(a.arrays["split"], b.arrays["split"])


def test_a_forest_search_is_put_together_from_its_parts() -> None:
    data = bandit(300)
    policy = ForestBinaryActionSearch(resolution=2, horizon=2, n_estimators=3).fit(data)
    arrays, settings = FOREST_SEARCH_KIND.pack(policy)
    parts = Parts(arrays, settings, policy.observation_space, policy.action_space, policy.info)
    again = FOREST_SEARCH_KIND.unpack(parts)
    parts.finish()
    np.testing.assert_array_equal(again.act_batch(data.states), policy.act_batch(data.states))


def test_settings_follow_the_problem() -> None:
    assert isinstance(binary_action_search_for("car-on-the-hill"), ForestBinaryActionSearch)
    assert binary_action_search_for("policyforest/CarOnTheHill-v0", 0.9).discount == 0.9
    assert binary_action_search_for("Pendulum-v1") == BinaryActionSearch(discount=0.98)


def test_angles_are_refused_by_linear_bases() -> None:
    data = bandit(50)
    turning = pf.Transitions(
        data.states,
        data.actions,
        data.rewards,
        data.states,
        data.terminals,
        action_space=data.action_space,
        periodic={0: (-1.0, 1.0)},
    )
    for learner in (LSPI(), BinaryActionSearch()):
        with pytest.raises(ValueError, match="angles"):
            learner.fit(turning)


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
        (lambda: LSPI(residual=1.5), "residual"),
        (lambda: BinaryActionSearch(resolution=0), "resolution"),
        (lambda: BinaryActionSearch(ridge=np.nan), "ridge"),
        (lambda: ForestBinaryActionSearch(horizon=0), "horizon"),
        (lambda: RadialBasis(20).over(np.tile([0.0, 1.0], (4, 1))), "basis"),
        (lambda: RadialBasis((2, 2)).over(np.array([[0.0, 1.0]])), "n_centres"),
        (lambda: PolynomialBasis(2).over(np.array([[0.0, np.inf]])), "box"),
        (lambda: action_grid(np.tile([0.0, 1.0], (6, 1)), 5), "n_actions"),
        (lambda: DiscreteFQI(horizon=0), "horizon"),
        (lambda: RadialBasis(n_centres=0).over(np.array([[0.0, 1.0]])), "n_centres"),
    ],
)
def test_bad_settings_are_refused_by_name(make: object, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        make()  # type: ignore[operator]
