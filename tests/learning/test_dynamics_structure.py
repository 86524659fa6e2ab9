"""What the model finds in the states themselves: sine-cosine pairs, and dimensions that are functions of others."""

import numpy as np
import pytest

import policyforest as pf
from logged_systems import ACTIONS, logged, wheel
from policyforest.learning.dynamics.structure import find_structure


def random_samples(n=400, dims=3, seed=0, **problem):
    rng = np.random.default_rng(seed)
    return pf.Transitions(
        rng.uniform(-1, 1, (n, dims)), rng.uniform(-1, 1, (n, 1)), rng.standard_normal(n),
        rng.uniform(-1, 1, (n, dims)), np.zeros(n, dtype=bool), np.arange(n) // 20, action_space=ACTIONS, **problem,
    )  # fmt: skip


def squared_system():
    """x' = 0.9 x + 0.1 a with its square between it and another number."""

    def state(x, y):
        return np.array([x, x * x, y])

    return logged(
        lambda s, a, rng: state(0.9 * s[0] + 0.1 * a[0], 0.8 * s[2] - 0.1 * a[0]),
        lambda rng: state(*rng.uniform(-1, 1, 2)),
        lambda s, a, ahead: s[0],
    )


@pytest.mark.parametrize("radius", [1.0, 0.5, 20.0])
def test_a_sine_and_a_cosine_are_one_angle(radius):
    structure = find_structure(wheel(radius), seed=0)
    assert [pair[:2] for pair in structure.circles] == [(0, 1)]
    assert structure.circles[0][2] == pytest.approx(radius)
    assert structure.plain == (2,)
    assert structure.relations == ()


def test_a_pair_is_turned_and_stays_on_its_circle():
    data = wheel(2.0)
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert str(model.choices[1].kind) == "linear"  # the turn is 0.2 w
    states, actions = np.array([[2.0 * np.sin(1.0), 2.0 * np.cos(1.0), 0.5]]), np.array([[0.25]])
    ahead, *_ = model.native.step(states, actions, None, False)
    assert ahead[0] == pytest.approx([2 * np.sin(1.1), 2 * np.cos(1.1), 0.7], abs=1e-4)
    drawn = model.sample(200)
    assert np.hypot(drawn.next_states[:, 0], drawn.next_states[:, 1]) == pytest.approx(np.full(200, 2.0))


def test_a_dimension_that_others_tell_is_computed():
    structure = find_structure(squared_system(), seed=0)
    assert [(relation.dimension, relation.sources) for relation in structure.relations] == [(1, (0, 2))]
    assert structure.inputs == structure.plain == (0, 2)
    model = pf.DynamicsForest(n_estimators=3).fit(squared_system())
    ahead = model.sample(100).next_states
    assert ahead[:, 1] == pytest.approx(ahead[:, 0] ** 2, abs=1e-3)
    assert model.state_scores[1] == 1.0


def test_computed_dimensions_may_depend_on_each_other():
    """Two copies of a number, and their sum: one number is left."""

    def state(x):
        return np.array([x, 2 * x, 3 * x])

    data = logged(
        lambda s, a, rng: state(0.9 * s[0] + 0.1 * a[0]), lambda rng: state(rng.uniform(-1, 1)), lambda s, a, ahead: 0.0
    )
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert model.structure.plain == (0,)
    ahead, *_ = model.native.step(np.array([[0.5, 1.0, 1.5]]), np.array([[1.0]]), None, False)
    assert ahead[0] == pytest.approx([0.55, 1.1, 1.65], abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_in_random_numbers(seed):
    structure = find_structure(random_samples(seed=seed), seed)
    assert structure.circles == structure.relations == ()
    assert structure.plain == structure.inputs == (0, 1, 2)


def test_an_angle_is_neither_half_of_a_pair_nor_computed():
    data = wheel()
    told = pf.Transitions(
        data.states, data.actions, data.rewards, data.next_states, data.terminals, data.episodes, action_space=ACTIONS,
        periodic={0: (-2.0, 2.0)},
    )  # fmt: skip
    structure = find_structure(told, seed=0)
    assert structure.circles == ()
    assert 0 in structure.plain


def test_what_is_declared_exogenous_is_not_computed():
    assert find_structure(squared_system(), 0, exogenous=(1,)).plain == (0, 1, 2)
    assert find_structure(wheel(), 0, exogenous=(0,)).circles == ()


def test_constant_dimensions_are_left_alone():
    data = random_samples()
    still = pf.Transitions(
        np.ones((400, 3)), data.actions, data.rewards, np.ones((400, 3)), data.terminals, data.episodes,
        action_space=ACTIONS,
    )  # fmt: skip
    structure = find_structure(still, seed=0)
    assert (structure.plain, structure.circles, structure.relations) == ((0, 1, 2), (), ())
