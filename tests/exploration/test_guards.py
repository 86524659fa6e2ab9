"""Agents with a history, a delay and a controller that keeps them safe, and runs that keep all of it."""

import json

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from cli_runs import run
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
    with pytest.raises(TypeError, match="history: the system is tuple, must be an environment"):
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
