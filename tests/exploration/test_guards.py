"""Agents with a history, a delay and a controller that keeps them safe, and runs that keep all of it."""

import json
import sys

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from cli_runs import run
from exploring import Corridor, small_agent
from policyforest.exploration import BaselineExploration
from policyforest.exploration.run_resuming import stored_delay

PENDULUM, LAW = "policyforest/InvertedPendulum6kg-v0", "u = clip(200*theta + 20*omega, -50, 50)"
BOX = np.array([[-0.2, 0.2], [-1.5, 1.5]])


def late_pendulum():
    return pf.DelayedActions(gym.make(PENDULUM), 1)


def guard(law=LAW, noise=8.0, box=BOX):
    spaces = gym.make(PENDULUM)
    names = (("theta", "omega"), ("u",))
    return pf.NoisyBaseline(pf.as_baseline(law, spaces.observation_space, spaces.action_space, *names), (noise,), box)


def function(state):
    return np.clip([200 * state[0] + 20 * state[1]], -50, 50)


AGENTS = (pf.DisagreementExploration, pf.MultiResolutionExploration, BaselineExploration, pf.ModelExploration)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_takes_a_history_and_stays_near_the_controller_of_its_guard(agent):
    made = agent(late_pendulum(), guard=guard(), delay=1, history=2, seed=0, max_steps=20).learn(episodes=2)
    data = made.transitions
    assert data.plant.state_names == ("theta", "omega", "theta_1", "omega_1", "u_1", "u_2")
    own = guard().baseline.act_batch(data.states[:, :2])
    apart, unsafe = np.abs(data.actions - own), (np.abs(data.states[:, :2]) > BOX[:, 1]).any(axis=1)
    assert apart.max() <= 8.0 + 1e-9
    assert apart[~unsafe].max() > 1.0
    assert np.array_equal(data.actions[unsafe], own[unsafe])


def test_an_agent_finds_the_delay_under_its_guard_and_the_run_keeps_both(tmp_path):
    agent = pf.DisagreementExploration(
        late_pendulum(), guard=guard(), delay="auto", run_dir=tmp_path / "run", max_steps=20
    ).learn(episodes=2)
    agent.run.close()
    assert agent.problem.plant.delay == stored_delay(tmp_path / "run") == 1
    kept = json.loads((tmp_path / "run" / "settings.json").read_text())["guard"]
    assert kept["law"] == LAW
    assert kept["safe_box"][:2] == [["-0.2", "0.2"], ["-1.5", "1.5"]]
    again = pf.resume(tmp_path / "run", agent.env)
    assert again.guard is not None
    here = np.array([[0.05, 0.1, 3.0], [0.3, 0.1, 3.0]])
    for row in here:
        wanted = np.array([-50.0])
        assert again.guard.bounded(row, wanted).tolist() == agent.guard.bounded(row, wanted).tolist()
    again.learn(episodes=3)
    again.run.close()


def test_a_run_with_a_guard_is_resumed_with_the_same_one_only(tmp_path):
    for law, name in ((LAW, "formula"), (function, "function"), (None, "none")):
        given = None if law is None else guard(law)
        agent = pf.DisagreementExploration(gym.make(PENDULUM), guard=given, run_dir=tmp_path / name, max_steps=20)
        agent.learn(episodes=1)
        agent.run.close()
    with pytest.raises(
        ValueError, match=r"guard: is .*'noise': \[9.0\].*, but the run was begun with .*'noise': \[8.0\]"
    ):
        pf.resume(tmp_path / "formula", guard=guard(noise=9.0))
    with pytest.raises(ValueError, match="guard: must be given again: the run was begun with function"):
        pf.resume(tmp_path / "function")
    with pytest.raises(ValueError, match="guard: was given, but the run was begun without it"):
        pf.resume(tmp_path / "none", guard=guard())
    resumed = pf.resume(tmp_path / "function", guard=guard(function))
    assert resumed.guard.noise == (8.0,)
    with pytest.raises(ValueError, match="guard: the run directory was created without it"):
        resumed.guard = None
    resumed.run.close()


def test_a_guard_that_does_not_fit_and_options_without_an_environment_are_refused():
    with pytest.raises(ValueError, match="controller observes 2 numbers, must observe the 3 numbers of the state"):
        pf.DisagreementExploration(gym.make("Pendulum-v1"), guard=guard())
    with pytest.raises(ValueError, match="guard: its controller observes omega, which must be among the channels"):
        pf.DisagreementExploration(gym.make(PENDULUM), guard=guard(), channels=["theta"], history=2)
    spaces = (gym.make(PENDULUM).observation_space, gym.make(PENDULUM).action_space)
    with pytest.raises(
        TypeError, match=r"history: the system is tuple, must be an environment .*; for a robot without one"
    ):
        pf.DisagreementExploration(spaces, history=2)


def test_explore_takes_history_and_a_guard_and_resumes_with_them(tmp_path):
    arguments = ["explore", "inverted-pendulum-6kg", "--history-actions", "1", "--max-rate", "20", "--baseline", LAW,
                 "--noise", "5", "--safe", "theta=-0.2:0.2", "--max-steps", "15", "--policies", "1",
                 "--validation-episodes", "1", "--run-dir", str(tmp_path / "run"),
                 "--output", str(tmp_path / "p.pforest"), "--json"]  # fmt: skip
    first = json.loads(run(*arguments, "--episodes", "2").stdout)
    second = json.loads(run(*arguments, "--episodes", "3").stdout)
    assert (first["episodes"], second["episodes"]) == (2, 3)
    policy = pf.load(tmp_path / "p.pforest")
    assert policy.signals.state_names == ("theta", "omega", "u_1")
    assert policy.signals.actuators.max_rate == (20.0,)
    kept = json.loads((tmp_path / "run" / "settings.json").read_text())["guard"]
    assert kept["noise"] == [5.0]


class Interrupted(Corridor):
    """Ends some episodes after two steps, by chance."""

    def reset(self, *, seed=None, options=None):
        first, info = super().reset(seed=seed)
        self.short = bool(self.np_random.random() < 0.5)
        return first, info

    def step(self, action):
        row, reward, terminal, truncated, info = super().step(action)
        return row, reward, terminal, truncated or (self.short and self.t >= 2), info


def test_an_episode_that_ends_while_its_history_fills_is_counted_and_the_run_goes_on():
    with pytest.warns(pf.ObservationWarning, match="an episode ended before its state was complete, which takes 3 st"):
        agent = small_agent(Interrupted(), history=4, seed=3).learn(episodes=8)
    task = agent.env
    assert agent.n_episodes == 8
    assert {len(episode.rewards) for episode in agent.episodes} == {7}  # 10 steps, 3 of which fill the history
    assert task.n_short_episodes >= 2
    assert task.n_filling == 3 * 9 + 2 * task.n_short_episodes  # the ninth: the check that seeds are respected
    with pytest.warns(pf.ObservationWarning):
        again = small_agent(Interrupted(), history=4, seed=3).learn(episodes=8)
    assert np.array_equal(again.transitions.states, agent.transitions.states)


def test_a_history_that_no_episode_is_long_enough_for_is_refused():
    with (
        pytest.warns(pf.ObservationWarning),
        pytest.raises(
            ValueError, match=r"history: is 12, must be smaller: 100 episodes in a row ended .* takes 11 steps"
        ),
    ):
        small_agent(Corridor(), history=12).learn(episodes=1)


SMALL = np.array([[-0.01, 0.01], [-0.1, 0.1]])  # the controller itself leaves it


class Watched(gym.Wrapper):
    """Remembers every state and the action taken in it."""

    def __init__(self, env):
        super().__init__(env)
        self.states, self.actions = [], []

    def reset(self, **how):
        self.state, info = super().reset(**how)
        return self.state, info

    def step(self, action):
        self.states.append(np.array(self.state, dtype=np.float64))
        self.actions.append(np.array(action, dtype=np.float64))
        self.state, *rest = super().step(action)
        return self.state, *rest


def require_guarded(watched, noise):
    states, actions = np.array(watched.states), np.array(watched.actions)
    own = guard().baseline.act_batch(states)
    unsafe = (np.abs(states) > SMALL[:, 1]).any(axis=1)
    assert 0 < unsafe.sum() < len(unsafe)
    assert np.abs(actions - own).max() <= noise * (1 + 1e-6)
    assert np.allclose(actions[unsafe], own[unsafe], rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("agent", [small_agent, pf.ModelExploration])
def test_validation_episodes_are_played_under_the_guard(agent):
    env = Watched(gym.make(PENDULUM, max_episode_steps=30))
    made = agent(env, guard=guard(noise=0.5, box=SMALL), seed=0, max_steps=20).learn(episodes=2)
    env.states, env.actions = [], []
    made.best_policy(2, 4)
    require_guarded(env, 0.5)


def test_every_action_of_the_explore_command_is_under_the_guard(tmp_path, monkeypatch):
    env = Watched(gym.make(PENDULUM, max_episode_steps=30))
    monkeypatch.setattr(sys.modules["policyforest.cli.explore"], "open_environment", lambda problem: env)
    arguments = ["explore", "inverted-pendulum-6kg", "--baseline", LAW, "--noise", "2", "--safe", "theta=-0.01:0.01",
                 "--safe", "omega=-0.1:0.1", "--max-steps", "20", "--policies", "2", "--validation-episodes", "2",
                 "--episodes", "2", "--history", "2", "--agent", "greedy", "--output",
                 str(tmp_path / "p.pforest"), "--json"]  # fmt: skip
    report = json.loads(run(*arguments).stdout)
    require_guarded(env, 2.0)
    assert report["guard"]["steps"] == sum(report["evaluation"]["lengths"])
    assert 0 < report["guard"]["changed"] <= report["guard"]["steps"]
    assert (report["lost"], report["short_episodes"]) == (3, 0)  # two episodes, and the check that seeds are respected


def first_actions(env):
    """The states that episodes begin with, and the actions taken in them."""
    rows = [i for i in range(len(env.states)) if i in env.begun]
    return np.array(env.states)[rows], np.array(env.actions)[rows]


class WatchedStarts(Watched):
    def __init__(self, env):
        super().__init__(env)
        self.begun = set()

    def reset(self, **how):
        self.begun.add(len(self.states))
        return super().reset(**how)


@pytest.mark.parametrize(("law", "acts"), [
    ("u = 5 + 20*theta", True), (lambda state: 5 + 20 * state[0], True), ("u = 5 + 20*s0", True),
    ("u = 5 + 20*theta + 0*rate", False), ("u = 5 + 20*theta + 0*theta_1", False),
])  # fmt: skip
def test_the_controller_of_the_guard_acts_while_the_history_fills_if_one_measurement_is_enough(law, acts, tmp_path):
    env = WatchedStarts(gym.make(PENDULUM))
    options = {"history": 2, "derive": ["rate = diff(theta, dt)"], "period": 0.1}
    run_dir = tmp_path / "run"
    if acts:
        agent = small_agent(env, guard=guard(law), run_dir=run_dir, **options)
    else:
        task = pf.SignalTask(env, **options)
        spaces = (task.observation_space, task.action_space, task.plant.state_names, task.plant.action_names)
        agent = small_agent(task, guard=pf.NoisyBaseline(pf.as_baseline(law, *spaces), (8.0,)), run_dir=run_dir)
    agent.learn(episodes=3).run.close()
    states, actions = first_actions(env)
    own = 5.0 + 20.0 * states[:, :1]
    assert len(own) >= 3
    assert np.allclose(actions, own if acts else 0.0, rtol=1e-6, atol=1e-6)
    if callable(law):
        return
    again = pf.SignalTask(WatchedStarts(gym.make(PENDULUM)), **options)
    resumed = pf.resume(run_dir, again)  # the same controller is made again of what the run stores
    assert (resumed.env.filling is not None) == acts
    if acts:
        assert resumed.env.filling.act(states[0]).tolist() == agent.env.filling.act(states[0]).tolist()
    resumed.run.close()


def test_a_run_with_a_function_as_guard_is_resumed_with_the_same_actions_while_the_history_fills(tmp_path):
    env = gym.make(PENDULUM)

    def pushing(state):
        return 5.0 + 20.0 * state[0]

    whole = small_agent(env, guard=guard(pushing), history=2).learn(episodes=3)
    small_agent(env, guard=guard(pushing), history=2, run_dir=tmp_path / "run").learn(episodes=2).run.close()
    resumed = pf.resume(tmp_path / "run", guard=guard(pushing)).learn(episodes=3)
    resumed.run.close()
    assert np.array_equal(resumed.transitions.states, whole.transitions.states)
