"""Agents: what they do in episodes and between them, what they survive, and which policy they choose."""

from __future__ import annotations

import threading
import time

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from exploring import Corridor, corridor_problem, same_behaviour, same_samples, small_agent, small_planner
from policyforest.exploration import EXPLORERS
from policyforest.exploration.policy_selection import policy_value


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_explorer_runs_under_the_same_loop(name):
    seen = []
    agent = small_agent(name=name).learn(episodes=4, callback=seen.append)
    assert [report.episode for report in seen] == [0, 1, 2, 3]
    assert agent.transitions.n_episodes == 4
    assert seen[-1].total_steps == len(agent.transitions)
    assert seen[-1].episode_return == pytest.approx(agent.transitions.rewards[agent.transitions.episodes == 3].sum())
    assert 0.0 < seen[-1].coverage <= 1.0
    expected = {
        "disagreement": ["random"] + ["optimistic"] * 3,
        "mre": ["random"] + ["optimistic"] * 3,
        "random": ["random"] * 4,
    }
    assert [report.kind for report in seen] == expected.get(name, ["random"] + ["plain"] * 3)
    assert (agent.policy is None) == (name == "random")


@pytest.mark.parametrize("name", ["disagreement", "mre", "epsilon-greedy"])
def test_the_same_seed_gives_the_same_run(name):
    first, second, other = (small_agent(name=name, seed=seed).learn(episodes=5) for seed in (3, 3, 4))
    assert same_samples(first.transitions, second.transitions)
    assert same_behaviour(first, second)
    assert not same_samples(first.transitions, other.transitions)


def test_learning_goes_on_to_a_number_of_episodes_or_steps():
    agent = small_agent(Corridor())
    agent.learn(total_timesteps=25)
    assert (agent.total_steps, agent.n_episodes) == (25, 3)
    assert not agent.transitions.terminals.any()
    assert agent.learn(episodes=5).n_episodes == 5
    assert agent.learn(episodes=5).n_episodes == 5
    assert agent.learn(episodes=9, callback=lambda report: False).n_episodes == 6


def test_without_an_environment_the_caller_runs_the_episodes():
    """The same run as `learn`, since random numbers belong to episodes."""
    agent, env = small_agent(corridor_problem()), Corridor()
    twin = small_agent(Corridor()).learn(episodes=3)
    for e in range(3):
        agent.begin_episode()
        state = np.array([twin.episodes[e].states[0]])[0]
        env.reset()
        env.x = state.copy()
        for _ in range(10):
            action = agent.act(state)
            state, reward, terminal, _, _ = env.step(action)
            agent.observe(action, reward, state, terminal)
        agent.end_episode()
    assert same_samples(agent.transitions, twin.transitions)
    with pytest.raises(ValueError, match="env"):
        agent.learn(episodes=4)


def test_planning_behind_the_episodes_never_stops_act():
    agent = small_agent(corridor_problem(), planner=small_planner())
    gate = threading.Event()
    plan = agent.planner.plan
    slow = type(agent.planner)(**vars(agent.planner))
    object.__setattr__(slow, "plan", lambda task: gate.wait(10) and plan(task))
    agent.planner = slow
    agent.begin_episode()
    play(agent, 10)
    agent.end_episode(background=True)
    assert agent.planning
    agent.begin_episode(wait=False)
    assert agent.policy is None
    started = time.perf_counter()
    play(agent, 5)
    assert time.perf_counter() - started < 1.0
    assert agent.planning
    gate.set()
    while agent.policy is None:
        time.sleep(0.001)
    play(agent, 5)  # by the new policy
    agent.end_episode(background=True)
    agent.begin_episode()
    assert not agent.planning


def play(agent, steps):
    state = np.array([0.5])
    for _ in range(steps):
        action = agent.act(state)
        following = np.clip(state + action, -1, 1)
        agent.observe(action, -abs(float(following[0])), following, False)
        state = following


def test_what_fails_in_the_background_is_raised_by_the_next_episode():
    agent = small_agent(corridor_problem())
    failing = type(agent.planner)(**vars(agent.planner))
    object.__setattr__(failing, "plan", lambda task: 1 / 0)
    agent.planner = failing
    agent.begin_episode()
    play(agent, 3)
    agent.end_episode(background=True)
    with pytest.raises(ZeroDivisionError):
        agent.begin_episode()
    assert agent.n_episodes == 1


def test_an_environment_that_raises_leaves_the_finished_episodes():
    agent = small_agent(Corridor(breaks_at=(2, 4)))
    with pytest.raises(OSError, match="the cable came off"):
        agent.learn(episodes=5)
    assert agent.n_episodes == 2
    assert agent.learn(episodes=5).n_episodes == 5


def test_a_reward_above_r_max_is_refused():
    agent = small_agent(Corridor(), r_max=-0.9)
    with pytest.raises(ValueError, match=r"r_max: is -0.9, must be at least the reward"):
        agent.learn(episodes=3)
    assert small_agent(Corridor(), r_max=None).learn(episodes=3).estimated_r_max > -0.9


def test_states_outside_of_their_box_do_not_stop_a_run():
    agent = small_agent(corridor_problem())

    def play(episodes):
        for _ in range(episodes):
            agent.begin_episode()
            for state, after in (([0.5], [1.5]), ([1.5], [0.2])):
                agent.observe(agent.act(state), 0.0, after, False)
            agent.end_episode()

    with pytest.warns(pf.ObservationWarning, match="lie outside") as told:
        play(3)
    assert len(told) == 1
    assert agent.transitions.n_outside == 6
    assert agent.transitions.state_box().tolist() == [[-1.0, 1.5]]
    assert len(agent.known) == 6


def test_episodes_that_always_end_at_the_same_step_are_reported_once():
    class Timed(Corridor):
        def step(self, action):
            seen, reward, _, limit, info = super().step(action)
            return seen, reward, limit, False, info

    with pytest.warns(pf.ObservationWarning, match="all 3 terminal episodes end after 10 steps") as told:
        small_agent(Timed()).learn(episodes=5)
    assert len(told) == 1


def test_a_run_notes_that_an_environment_ignores_seeds():
    class Unseeded(Corridor):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=None, options=options)

    with pytest.warns(pf.ObservationWarning, match="ignores seeds") as told:
        small_agent(Unseeded()).learn(episodes=2)
    assert len(told) == 1


def test_calls_out_of_order_are_refused():
    agent = small_agent(corridor_problem())
    with pytest.raises(RuntimeError, match="begin_episode"):
        agent.act([0.0])
    agent.begin_episode()
    with pytest.raises(RuntimeError, match="act"):
        agent.observe([0.0], 0.0, [0.0], False)
    with pytest.raises(RuntimeError, match="nothing was observed"):
        agent.end_episode()
    with pytest.raises(RuntimeError, match="running"):
        agent.begin_episode()
    agent.act([0.0])
    with pytest.raises(ValueError, match="action"):
        agent.observe([3.0], 0.0, [0.0], False)
    agent.observe([0.1], 0.0, [0.1], True)
    with pytest.raises(RuntimeError, match="no episode is running"):
        agent.act([0.1])
    agent.end_episode()
    assert agent.transitions.terminals.tolist() == [True]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"terminal": "False"}, TypeError, "terminal: is 'False', must be True or False"),
        ({"terminal": None}, TypeError, "terminal: is None, must be True or False"),
        ({"terminal": 2}, TypeError, "terminal: is 2, must be True or False"),
        ({"terminal": np.array([True, False])}, TypeError, r"terminal: is array\(.*\), must be True or False"),
        ({"action": "x"}, TypeError, "action: is 'x', must hold real numbers"),
        ({"action": None}, ValueError, r"action: is None, must lie within \[\[-0\.2, 0\.2\]\]"),
        ({"action": [np.nan]}, ValueError, r"action: is \[nan\], must lie within \[\[-0\.2, 0\.2\]\]"),
        ({"action": np.zeros(2)}, ValueError, r"action: is \[0\.0, 0\.0\], must lie within \[\[-0\.2, 0\.2\]\]"),
    ],
)
def test_a_step_with_a_wrong_argument_is_refused_by_name_and_can_be_told_again(wrong, error, message):
    agent = small_agent(corridor_problem())
    agent.begin_episode()
    agent.act([0.0])
    step = {"action": [0.1], "reward": 0.0, "next_state": [0.1], "terminal": np.True_}
    with pytest.raises(error, match=f"^{message}$"):
        agent.observe(**step | wrong)
    agent.observe(**step)
    agent.end_episode()
    assert agent.transitions.terminals.tolist() == [True]


@pytest.mark.parametrize("agent", [pf.MultiResolutionExploration, pf.DisagreementExploration, pf.ModelExploration])
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"n_jobs": 0}, ValueError, "n_jobs: is 0, must be a positive number"),
        ({"n_jobs": "x"}, TypeError, "n_jobs: is 'x', must be a whole number"),
        ({"guard": 3}, TypeError, "guard: is 3, must be a NoisyBaseline or None$"),
        ({"guard": 3, "history": 2}, TypeError, "guard: is 3, must be a NoisyBaseline or None$"),
    ],
)
def test_wrong_arguments_are_refused_before_the_first_episode(agent, wrong, error, message):
    with pytest.raises(error, match=f"^{message}"):
        agent(Corridor(), **wrong)


def test_a_callback_that_is_no_function_is_refused_before_the_first_episode():
    agent = small_agent(Corridor())
    with pytest.raises(TypeError, match=r"^callback: is 3, must be a function of an EpisodeReport$"):
        agent.learn(episodes=2, callback=3)
    assert agent.n_episodes == 0


def test_a_sample_ends_where_the_next_begins():
    """A robot moves on between the end of a step and the next action."""
    agent = small_agent(corridor_problem())
    agent.begin_episode()
    for seen, reached in ((0.0, 0.1), (0.12, 0.2)):
        agent.act([seen])
        agent.observe([0.1], 0.0, [reached], False)
    agent.end_episode()
    assert agent.transitions.states.ravel().tolist() == [0.0, 0.12]
    assert agent.transitions.next_states.ravel().tolist() == [0.12, 0.2]


def test_policies_differ_and_the_best_is_chosen():
    agent = small_agent(Corridor()).learn(episodes=6)
    found = agent.policies(3)
    assert len({policy.act_batch([[0.37]]).item() for policy in found}) > 1
    best = agent.best_policy(n=3, validation_episodes=5)
    means = [pf.evaluate(p, Corridor(), episodes=5, seed=1_000_003).mean for p in found]
    assert np.array_equal(best.act_batch([[0.37]]), found[int(np.argmax(means))].act_batch([[0.37]]))


def test_without_an_environment_fitted_q_evaluation_chooses():
    data = pf.collect(Corridor(), episodes=30, seed=0)
    learner = pf.FittedQIteration(discount=0.9, horizon=15, resample=None)
    good = pf.FittedPolicyForest(states="visited", n_states=1, q_learner=learner).fit(data)
    shy = pf.FittedPolicyForest(states="visited", n_states=1, q_learner=pf.FittedQIteration(horizon=1, resample=None))
    away = pf.Transitions(
        data.states, data.actions, -data.rewards, data.next_states, data.terminals, data.episodes,
        action_space=data.action_space, observation_space=data.observation_space,
    )  # fmt: skip
    bad = shy.fit(away)
    assert policy_value(good, data, learner) > policy_value(bad, data, learner) + 0.1
    # Its value is near the discounted return that is really earned.
    earned = pf.evaluate(good, gym.wrappers.TimeLimit(Corridor(), 10), episodes=50, discount=0.9).mean
    assert policy_value(good, data, learner) == pytest.approx(earned, abs=1.0)


def test_a_pair_of_spaces_is_a_system():
    agent = pf.MultiResolutionExploration((Corridor.observation_space, Corridor.action_space))
    agent.begin_episode()
    assert agent.act([0.5]).shape == (1,)
    with pytest.raises(TypeError, match="pair of spaces"):
        pf.MultiResolutionExploration("policyforest/SwingUp-v0")


def test_an_unbounded_state_gets_its_box_from_the_data():
    env = gym.make("Pendulum-v1")
    env = gym.wrappers.TransformObservation(
        env, lambda o: np.array([o[2]]), gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    )
    agent = small_agent(env, max_steps=20, r_max=0.0).learn(episodes=3)
    assert len(agent.known) == 60
    np.testing.assert_array_equal(agent.known.box[0], agent.transitions.state_box()[0])
