"""Planning of trajectories in a learned model, and the policy that is learned from them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from policyforest.learning.improvement import trajectories
from policyforest.learning.improvement.simple_policies import constant_policy
from policyforest.learning.improvement.simulation import EXPLORING, Simulation
from policyforest.learning.improvement.trajectories import Trajectories, search_sequence
from policyforest.learning.improvement.trajectory_policy import FINAL, _TrajectoryPlanning, trajectory_policy


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


@pytest.mark.parametrize("novelty", [0.0, 10.0])
@pytest.mark.parametrize("known", [True, False])
def test_pairs_of_moves_earn_what_steps_from_there_earn(known, novelty):
    """The Double Integrator is linear: changes of the next state add up."""
    data = pf.collect(gym.make("policyforest/DoubleIntegrator-v0"), episodes=20, seed=0)
    model = pf.DynamicsForest(reward=cost if known else None).fit(data)
    rivals = (model.member(1), model.member(2))
    simulation = Simulation(model, model.member(0), 0.95, EXPLORING, novelty, rivals)
    states, actions = data.states[:7], data.actions[:7]
    moves = np.concatenate([np.zeros((1, 3)), 0.1 * np.eye(3)])
    pairs = [(1, 2), (1, 3), (2, 3)]
    both = np.array([moves[i] + moves[j] for i, j in pairs])
    exact = simulation.around(states, actions, np.concatenate([moves[:1], both])).rewards[1:]
    near = simulation.around(states, actions, moves)
    found = simulation.rewards_of_pairs(states, actions, moves, pairs, near)
    np.testing.assert_allclose(found, exact, atol=1e-6 * np.abs(exact).max())
    assert np.abs(exact - near.rewards[0]).min() > 1e-6  # pairs differ from the rows themselves


def test_where_most_points_are_pairs_the_curvature_is_computed_once_for_several_rounds(simulation, monkeypatch):
    start, actions = np.array([[0.5, 0.0]]), np.random.default_rng(0).uniform(-1, 1, (1, 30, 1))
    plain = Trajectories.of(simulation, start, actions)
    plain.improve(simulation, 20)
    computed, rounds, of_pairs, back = [], [], Simulation.rewards_of_pairs, Trajectories._backward
    monkeypatch.setattr(trajectories, "_many", lambda _: True)
    monkeypatch.setattr(Simulation, "rewards_of_pairs", lambda *given: computed.append(1) or of_pairs(*given))
    monkeypatch.setattr(Trajectories, "_backward", lambda *given: rounds.append(1) or back(*given))
    reused = Trajectories.of(simulation, start, actions)
    reused.improve(simulation, 20)
    assert len(computed) <= len(rounds) / 2 + 2
    assert reused.worth[0] == pytest.approx(plain.worth[0], rel=1e-3)  # the cost is quadratic


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


def test_trajectories_learn_from_a_policy_that_does_better_and_only_then(simulation):
    starts = np.array([[0.5, 0.0], [0.4, 0.1]])
    made = trajectory_policy(simulation, starts, 30, 0)
    poor = Trajectories.of(simulation, starts, np.ones((2, 30, 1)))
    poor.improve(simulation, 0)
    done = Trajectories.of(simulation, starts, simulation.followed(made.policy, starts, 30))
    poor.learn_from(simulation, made.policy, 4)
    assert (poor.worth >= done.worth).all()
    np.testing.assert_array_equal(poor.states[:, 0], starts)
    before = poor.worth.copy()
    poor.learn_from(simulation, constant_policy(simulation.model.transitions, np.ones(1)), 4)
    np.testing.assert_array_equal(poor.worth, before)


def test_a_followed_policy_acts_without_noise_on_the_states_that_it_comes_to(simulation):
    starts = np.array([[0.5, 0.0]])
    policy = trajectory_policy(simulation, starts, 20, 0).policy
    actions = simulation.followed(policy, starts, 20)
    states = simulation.follow(starts, actions).states[0, :-1]
    np.testing.assert_array_equal(actions[0], np.clip(policy.act_batch(states), *simulation.action_box.T))


def test_the_first_trajectory_is_the_one_that_other_members_agree_to(car, simulation, monkeypatch):
    """What only one member promises is not worth much in the others."""
    planning = _TrajectoryPlanning(simulation, np.array([[0.5, 0.0]]), 20, 0, (Simulation(car, car.member(1), 0.95),))
    found = planning._first(None, None)
    monkeypatch.setattr(Trajectories, "worth_in", lambda made, _: -made.worth)
    assert planning._first(None, None).worth[0] < found.worth[0]


def test_a_policy_that_fails_from_a_single_start_is_not_done(simulation, monkeypatch):
    starts = np.array([[0.5, 0.0], [0.501, 0.0], [0.499, 0.0], [0.502, 0.0]])
    planning = _TrajectoryPlanning(simulation, starts, 30, 0)
    policy = trajectory_policy(simulation, starts, 30, 0, effort=FINAL).policy
    monkeypatch.setattr(planning, "_does", lambda *_: True)
    assert planning._is_done(policy, None, None, 0.01)
    play = Simulation.play

    def falling(self, *arguments):
        made = play(self, *arguments)
        made.worth[1] *= 2.0  # costs
        return made

    monkeypatch.setattr(Simulation, "play", falling)
    assert not planning._is_done(policy, None, None, 0.01)


def test_a_gaussian_process_promises_no_rewards_beyond_those_that_were_seen():
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (80, 2)), rng.uniform(-1, 1, (80, 1))
    rewards = np.exp(-4 * (states[:, 0] - 0.9) ** 2) * np.cos(3 * states[:, 1])
    box = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)
    data = pf.Transitions(states, actions, rewards, states + 0.1, np.zeros(80, bool), np.arange(80), action_space=box)
    model = pf.DynamicsForest(kernels=True).fit(data)
    assert model.reward.choice.kind.base == "kernel"
    far = np.ascontiguousarray(rng.uniform(-3, 3, (500, 2)))
    promised = model.native.step(far, np.zeros((500, 1)), None, False)[1]
    assert promised.max() <= rewards.max()
    assert promised.min() >= rewards.min()


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
