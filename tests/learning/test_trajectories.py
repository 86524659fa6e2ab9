"""Planning of trajectories in a learned model, and the policy that is learned from them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.learning.improvement.simulation import EXPLORING, Simulation
from policyforest.learning.improvement.trajectories import Trajectories, search_sequence
from policyforest.learning.improvement.trajectory_policy import _TrajectoryPlanning, trajectory_policy


def cost(states, actions, next_states):
    return -(next_states[:, 0] ** 2) - 0.1 * actions[:, 0] ** 2


@pytest.fixture(scope="module")
def car():
    """The Double Integrator with a quadratic cost of its own: a problem with a known best answer."""
    data = pf.collect(gym.make("policyforest/DoubleIntegrator-v0"), episodes=20, seed=0)
    return pf.DynamicsForest(reward=cost, terminal=lambda s, a, n: np.zeros(len(s))).fit(data)


@pytest.fixture(scope="module")
def simulation(car):
    return Simulation(car, car.member(0), 0.95)


def test_slopes_find_what_the_search_misses(simulation):
    rng = np.random.default_rng(0)
    start = np.array([0.5, 0.0])
    sequence, worth = search_sequence(simulation, start, 30, 3, rng)
    made = Trajectories.of(simulation, start[None], sequence[None])
    assert made.worth[0] == pytest.approx(worth)
    made.improve(simulation, 30)
    assert made.worth[0] > worth
    again = Trajectories.of(simulation, start[None], rng.uniform(-1, 1, (1, 30, 1)))
    again.improve(simulation, 60)
    assert again.worth[0] == pytest.approx(made.worth[0], rel=0.02)  # a convex problem has one optimum


def test_feedback_brings_a_disturbed_trajectory_back(simulation):
    start = np.array([[0.5, 0.0]])
    made = Trajectories.grown(simulation, start, np.zeros((1, 10, 1)), 30, (6, 15))
    moved = start + np.array([[0.1, 0.0]])
    with_feedback, without = moved.copy(), moved.copy()
    for t in range(30):
        apart = simulation.apart(with_feedback, made.states[:, t])
        action = np.clip(made.actions[:, t] + apart @ made.feedback[0, t].T, *simulation.action_box.T)
        with_feedback = simulation.step(with_feedback, action)[0]
        without = simulation.step(without, made.actions[:, t])[0]
    assert abs(with_feedback[0, 0]) < 0.5 * abs(without[0, 0])


def test_leaving_the_data_is_charged_and_novelty_is_paid_for(car, simulation):
    far = np.array([[5.0, 0.0]])
    near, none = car.transitions.states[:1], np.zeros((1, 1))
    curious = Simulation(car, car.member(0), 0.95, EXPLORING, novelty=1000.0)
    assert simulation.step(far, none)[1] < curious.step(far, none)[1]
    assert curious.step(near, none)[1] == pytest.approx(simulation.step(near, none)[1])


def test_a_policy_does_what_its_trajectories_promise(simulation):
    starts = np.array([[0.5, 0.0], [0.4, 0.1]])
    made = trajectory_policy(simulation, starts, 30, 0)
    followed = simulation.play(made.policy, starts, 30, np.random.default_rng(0)).worth
    assert followed.mean() > made.promised - 0.05 * abs(made.promised)


def test_starts_on_both_sides_of_a_turn_are_one_place():
    data = pf.collect(gym.make("policyforest/SwingUp-v0"), episodes=4, seed=0)
    model = pf.DynamicsForest().fit(data)
    pendulum = Simulation(model, model.member(0), 0.95)
    hanging = np.array([[np.pi - 0.01, 0.0], [-np.pi + 0.01, 0.0], [np.pi - 0.02, 0.0]])
    planning = _TrajectoryPlanning(pendulum, hanging, 20, 0)
    assert not planning.varied
    np.testing.assert_array_equal(planning.starts, hanging)
    assert _TrajectoryPlanning(pendulum, np.array([[np.pi - 0.01, 0.0], [0.0, 0.0]]), 20, 0).varied


def test_what_overflows_is_flat(simulation):
    made = Trajectories.of(simulation, np.array([[1e6, 1e6]]), np.zeros((1, 5, 1)))
    made.improve(simulation, 3)
    assert np.isfinite(made.actions).all()


def test_the_same_seed_plans_the_same(simulation):
    starts = np.array([[0.5, 0.0]])
    first, second = (trajectory_policy(simulation, starts, 20, 3).policy for _ in range(2))
    states = simulation.model.transitions.states
    np.testing.assert_array_equal(first.act_batch(states), second.act_batch(states))
