"""The directions in which states can move: alone, around a circle, and with the dimensions that follow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policyforest as pf
from logged_systems import line, logged, wheel
from policyforest.learning.improvement.coordinates import Coordinates
from policyforest.learning.improvement.simulation import Simulation
from policyforest.learning.improvement.trajectories import Trajectories, _expanded
from policyforest.learning.improvement.trajectory_policy import trajectory_policy

RADIUS = 2.0


def arm() -> pf.Transitions:
    """An angle as a sine and a cosine of radius 2, its speed, the square of the speed, and a constant number."""

    def state(angle: float, speed: float) -> Any:
        return np.array([RADIUS * np.sin(angle), RADIUS * np.cos(angle), speed, speed**2, 0.5])

    def step(s: Any, a: Any, rng: np.random.Generator) -> Any:
        return state(np.arctan2(s[0], s[1]) + 0.2 * s[2], 0.9 * s[2] + a[0])

    return logged(
        step,
        lambda rng: state(rng.uniform(-3, 3), rng.uniform(-1, 1)),
        lambda s, a, ahead: ahead[1] - 0.1 * ahead[2] ** 2,
        n_episodes=30,
    )


@pytest.fixture(scope="module")
def model() -> Any:
    return pf.DynamicsForest(n_estimators=3).fit(arm())


@pytest.fixture(scope="module")
def coordinates(model: Any) -> Coordinates:
    return Coordinates(model)


def plain_move(state: Any, speed: float, turn: float) -> Any:
    """What moving a state of the arm means, written out."""
    angle = np.arctan2(state[0], state[1]) + turn
    faster = state[2] + speed
    return np.array([RADIUS * np.sin(angle), RADIUS * np.cos(angle), faster, faster**2, 0.5])


def test_pairs_computed_and_constant_dimensions_are_no_directions(coordinates):
    assert coordinates.alone == [2]
    assert coordinates.number == 2
    assert not coordinates.are_dimensions


@given(moves=st.lists(st.tuples(st.floats(-1, 1), st.floats(-2, 2)), min_size=1, max_size=5), row=st.integers(0, 99))
def test_moved_states_are_states_of_the_system_and_their_distance_is_the_move(coordinates, moves, row):
    state = coordinates.model.transitions.states[row]
    found = coordinates.moved(state, np.array(moves))
    np.testing.assert_allclose(found, [plain_move(state, *move) for move in moves], atol=1e-6)
    np.testing.assert_allclose(coordinates.apart(found, np.tile(state, (len(moves), 1))), moves, atol=1e-6)


@given(turn=st.floats(-1e-4, 1e-4), speed=st.floats(-1e-4, 1e-4), row=st.integers(0, 99))
def test_gains_answer_small_moves_as_gains_on_dimensions_do(coordinates, turn, speed, row):
    state, gains, move = coordinates.model.transitions.states[row], np.array([[1.5, -2.0]]), np.array([speed, turn])
    change = coordinates.moved(state, move) - state
    on_dimensions = coordinates.gains(gains[None], state[None])[0]
    np.testing.assert_allclose(on_dimensions @ change, gains @ move, atol=1e-7)


def test_sizes_are_radians_for_angles(coordinates):
    spread = coordinates.model.transitions.states.std(axis=0)
    np.testing.assert_allclose(coordinates.sizes(spread), [spread[2], np.hypot(spread[0], spread[1]) / RADIUS])


def test_where_each_dimension_moves_alone_nothing_is_converted():
    coordinates = Coordinates(pf.DynamicsForest(n_estimators=3).fit(line()))
    states, moves = np.array([[0.1], [0.7]]), np.array([[0.3], [1e-9]])
    assert coordinates.are_dimensions
    np.testing.assert_array_equal(coordinates.moved(states, moves), states + moves)
    np.testing.assert_array_equal(coordinates.gains(moves[None], states), moves[None])


def test_slopes_in_a_direction_are_those_of_the_system(model):
    """The angle moves by 0.2 w and the speed becomes 0.9 w + a."""
    simulation = Simulation(model, model.member(0), 0.95)
    data, size = model.transitions, np.array([0.02, 0.02, 0.02])
    states, actions = data.states[:9], np.clip(data.actions[:9], -0.5, 0.5)
    slopes, gradient, _ = _expanded(simulation, np.ascontiguousarray(states), np.ascontiguousarray(actions), size)
    np.testing.assert_allclose(slopes, np.tile([[0.9, 0.0, 1.0], [0.2, 1.0, 0.0]], (9, 1, 1)), atol=1e-3)
    ahead = simulation.step(states, actions)[0]
    turned = -ahead[:, 0]  # the derivative of the cosine by the angle
    np.testing.assert_allclose(gradient[:, 1], turned, atol=0.05)


@pytest.mark.parametrize("data", [wheel(RADIUS), arm()], ids=["a pair", "a pair, a square and a constant"])
def test_feedback_and_policies_hold_an_angle(data):
    """The best place is the top of the circle, where the cosine is largest."""
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    simulation = Simulation(model, model.member(0), 0.95)
    starts = data.states[:4]
    made = Trajectories.grown(simulation, starts, np.zeros((4, 10, 1)), 30, (6, 15))
    assert made.feedback.shape == (4, 30, 1, 2)
    beside = simulation.coordinates.moved(starts, np.array([0.05, 0.1]))
    with_feedback = simulation.follow(beside, made.actions, made.feedback, made.states)
    assert with_feedback.worth.mean() > simulation.follow(beside, made.actions).worth.mean()
    plan = trajectory_policy(simulation, starts, 30, 0)
    played = simulation.play(plan.policy, starts, 30, np.random.default_rng(0))
    assert played.worth.mean() > plan.promised - 0.1 * abs(plan.promised)
    assert (played.states[:, -1, 1] > 0.9 * RADIUS).all()
