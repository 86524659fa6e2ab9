"""Agents that explore a robot: what they record, survive, are told of the reward, and resume."""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import numpy as np
import pytest

from loopback import EXAMPLE, Loopback
from policyforest._support.formulas import Formula
from policyforest.exploration import make_agent
from policyforest.exploration.known_formulas import known_function
from policyforest.exploration.run_resuming import resume
from policyforest.ros.config import load_config
from policyforest.ros.recording import Recording
from policyforest.ros.recording_reader import read_recording
from policyforest.ros.reward import Judge, known_formulas
from policyforest.ros.robot_agent import robot_agent
from policyforest.ros.robot_episode import RobotLostError
from policyforest.ros.robot_exploration import RobotExploration, robot_problem
from policyforest.ros.simulator import SimulatedPendulum

pytest.importorskip("rosbags")
CONFIG = load_config(EXAMPLE)
LOCK_STEP = replace(CONFIG, max_age=0.05, episode=replace(CONFIG.episode, reset_timeout=0.2))


def pendulum():
    network = Loopback()
    robot = SimulatedPendulum(network)
    robot._lock_step = True
    return network, robot


def explorer(run_dir, name="random"):
    return make_agent(name, robot_problem(LOCK_STEP), discount=0.98, seed=3, max_steps=8, run_dir=run_dir)


def test_exploring_a_robot_records_what_the_agent_has_learned_from(tmp_path):
    network, _ = pendulum()
    agent, recording = explorer(tmp_path / "run"), Recording(tmp_path / "run.mcap", LOCK_STEP)
    RobotExploration(agent, LOCK_STEP, network, recording=recording).learn(episodes=3)
    recording.close()
    read, known = read_recording(tmp_path / "run.mcap"), agent.transitions
    assert len(known) == 24
    for name in ("states", "actions", "rewards", "next_states", "terminals", "episodes"):
        np.testing.assert_array_equal(getattr(read, name), getattr(known, name))


def test_a_robot_that_is_lost_costs_its_episode_alone_and_the_run_goes_on(tmp_path):
    network, robot = pendulum()
    agent, warnings = explorer(tmp_path / "run"), []
    advance, calls = robot._advance, []

    def failing():
        calls.append(1)
        if len(calls) == 12:
            network.whole = False
            robot._publish = lambda: None
        advance()

    publish, robot._advance = robot._publish, failing
    learning = RobotExploration(agent, LOCK_STEP, network, warn=warnings.append, patience=1)
    with pytest.raises(RobotLostError, match="no state has arrived within"):
        learning.learn(episodes=3)
    assert agent.n_episodes == 1
    assert len(warnings) == 1
    agent.run.close()
    network.whole, robot._publish = True, publish
    agent = resume(tmp_path / "run", expected=explorer(None).settings())
    RobotExploration(agent, LOCK_STEP, network).learn(episodes=3)
    whole = explorer(None)
    RobotExploration(whole, LOCK_STEP, pendulum()[0]).learn(episodes=3)
    np.testing.assert_array_equal(agent.transitions.states, whole.transitions.states)


def test_a_lifecycle_node_explores_while_it_is_active():
    network, robot = pendulum()
    agent, warnings, told, steps, seen = explorer(None), [], [], [], []
    network.on_activity = lambda callback: bool(told.append(callback))
    advance = robot._advance

    def activate_soon():
        threading.Timer(0.2, lambda: (seen.append(len(steps)), told[0](True))).start()

    def advancing():
        steps.append(1)
        advance()
        if len(steps) == 12:
            told[0](False)
            activate_soon()

    robot._advance = advancing
    learning = RobotExploration(agent, LOCK_STEP, network, warn=warnings.append)
    activate_soon()
    learning.learn(episodes=2)
    assert seen == [0, 12]
    assert warnings == ["episode 2 is played again: robot: the node is not active"]
    assert len(steps) == 12 + 8
    assert len(agent.transitions) == 16


def test_it_plans_between_episodes(tmp_path):
    agent = explorer(None, "mre")
    seen = []
    RobotExploration(agent, LOCK_STEP, pendulum()[0]).learn(2, callback=lambda report: seen.append(report.kind))
    assert seen == ["random", "optimistic"]
    assert agent.policy is not None


def test_nobody_who_listens_is_an_error():
    with pytest.raises(RobotLostError, match="no node listens to /pendulum/pivot_controller/command"):
        RobotExploration(explorer(None), LOCK_STEP, Loopback()).learn(episodes=1)


def test_states_outside_of_their_limits_are_terminal():
    judge = Judge(CONFIG, replace(CONFIG.episode, terminal=None, terminal_reward=None))
    here, action = np.array([0.1, 0.0]), np.array([0.0])
    assert judge(here, action, np.array([0.0, 10.5]))[1]
    assert not judge(here, action, np.array([0.0, 9.5]))[1]


def test_formulas_of_a_configuration_are_known_to_the_agent_that_plans():
    rng, judge = np.random.default_rng(0), Judge(CONFIG, CONFIG.episode)
    known = known_formulas(CONFIG, CONFIG.episode)
    problem = robot_problem(CONFIG)
    reward, terminal = (known_function(name, known[name], problem) for name in ("reward", "terminal"))
    states, after = rng.uniform(-3, 3, (40, 2)), rng.uniform([-3, -12], [3, 12], (40, 2))
    actions = rng.uniform(-15, 15, (40, 1))
    judged = [judge(*step) for step in zip(states, actions, after, strict=True)]
    np.testing.assert_array_equal(terminal(states, actions, after) != 0, [end for _, end in judged])
    np.testing.assert_allclose(reward(states, actions, after), [paid for paid, _ in judged], rtol=1e-15)
    assert 0 < sum(end for _, end in judged) < 40
    free = replace(CONFIG, state=(replace(CONFIG.state[1], low=-math.inf, high=math.inf),))
    endless = replace(CONFIG.episode, terminal=None, reward=Formula("-next_omega**2", ["next_omega"]))
    assert known_formulas(free, endless) == {"reward": "-next_s0**2", "terminal": "0"}


def test_the_agent_that_plans_learns_on_a_robot_and_resumes_with_what_it_knows(tmp_path):
    network, _ = pendulum()
    how = (LOCK_STEP, tmp_path / "run", 3, 1)
    agent = robot_agent("plan", *how)
    assert agent.settings()["reward"].startswith("-50.0 if ")
    RobotExploration(agent, LOCK_STEP, network).learn(episodes=4)
    assert len(agent.plans) >= 1
    agent.run.close()
    again = robot_agent("plan", *how)
    assert again.n_episodes == 4
    np.testing.assert_array_equal(again.transitions.states, agent.transitions.states)
    again.run.close()
    with pytest.raises(ValueError, match="seed is 3 there and 4 here"):
        robot_agent("plan", LOCK_STEP, tmp_path / "run", 4, 1)


def test_a_run_that_was_begun_without_the_formulas_is_resumed_without_them(tmp_path):
    old = make_agent("plan", robot_problem(LOCK_STEP), discount=0.98, seed=3, max_steps=100, run_dir=tmp_path / "run")
    RobotExploration(old, LOCK_STEP, pendulum()[0]).learn(episodes=1)
    old.run.close()
    found = robot_agent("plan", LOCK_STEP, tmp_path / "run", 3, 1)
    assert found.settings()["reward"] is None
    assert found.n_episodes == 1
    found.run.close()
