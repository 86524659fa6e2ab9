"""What goes wrong while an agent learns on a robot: time that jumps, old stamps, somebody else who commands."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from loopback import EXAMPLE, Loopback
from policyforest._support.formulas import Formula
from policyforest.exploration import make_agent
from policyforest.ros import network_watch
from policyforest.ros.config import load_config
from policyforest.ros.robot_episode import Robot, RobotLostError
from policyforest.ros.robot_exploration import RobotExploration, robot_problem
from policyforest.ros.simulator import SimulatedPendulum
from policyforest.ros.transport import JointSample, TopicEnd, TopicEnds

EXAMPLE_CONFIG = load_config(EXAMPLE)
CONFIG = replace(EXAMPLE_CONFIG, max_age=0.05, episode=replace(EXAMPLE_CONFIG.episode, reset_timeout=0.2))


def explorer():
    return make_agent("random", robot_problem(CONFIG), discount=0.98, seed=3, max_steps=8)


@pytest.fixture
def network():
    return Loopback()


@pytest.fixture
def pendulum(network):
    robot = SimulatedPendulum(network)
    robot._lock_step = True
    return robot


def test_an_episode_within_which_time_jumps_back_is_played_again(network, pendulum):
    agent, warnings, steps, advance = explorer(), [], [], pendulum._advance

    def advancing():
        steps.append(1)
        advance()
        if len(steps) == 12:
            pendulum._time = 0.0

    pendulum._advance = advancing
    RobotExploration(agent, CONFIG, network, warn=warnings.append).learn(episodes=2)
    assert warnings == ["episode 2 is played again: robot: time: the stamps have jumped back by 1.100 s"]
    assert len(steps) == 8 + 4 + 8
    assert len(agent.transitions) == 16


def test_a_reset_may_set_the_time_back(network, pendulum):
    agent, warnings, place = explorer(), [], pendulum._on_place

    def from_the_start(state):
        pendulum._time = 0.0
        place(state)

    pendulum._on_place = from_the_start
    RobotExploration(agent, CONFIG, network, warn=warnings.append).learn(episodes=3)
    assert warnings == []
    assert len(agent.transitions) == 24


def test_a_state_can_be_too_old_by_its_stamp(network):
    config = replace(CONFIG, age_by="stamp", max_age=0.5)
    robot = Robot(config, replace(config.episode, lock_step=False), network)
    states = network.publisher(config.joint_states, "joints")
    states.send(JointSample(["pivot"], [0.5], [-1.0], stamp=time.time()))
    np.testing.assert_array_equal(robot.state(), [0.5, -1.0])
    states.send(JointSample(["pivot"], [0.5], [-1.0], stamp=time.time() + 10.0))
    with pytest.raises(RobotLostError, match="s ahead of this clock"):
        robot.state()
    robot = Robot(config, replace(config.episode, lock_step=False), network)
    states.send(JointSample(["pivot"], [0.5], [-1.0], stamp=time.time() - 10.0))
    with pytest.raises(RobotLostError, match=r"the state is 10\.\d+ s old, at most 0.5 s are allowed"):
        robot.state()


def test_somebody_else_who_commands_is_named_while_it_learns(network, pendulum, monkeypatch):
    monkeypatch.setattr(network_watch, "GRACE", 0.0)
    ends = tuple(TopicEnd(name, own=name == "/agent") for name in ("/agent", "/joystick"))
    network.ends = lambda topic: TopicEnds(ends, (TopicEnd("/pendulum"),)) if "command" in topic else TopicEnds()
    warnings, told = [], threading.Event()

    def warn(line):
        warnings.append(line)
        told.set()

    learning = RobotExploration(explorer(), CONFIG, network, warn=warn)
    learning.learn(episodes=1, callback=lambda report: told.wait(30.0))
    assert warnings == [
        f"{CONFIG.action[0].topic}: is commanded by /agent and /joystick, the robot obeys the latest command"
    ]


def test_the_time_of_a_recorded_command_is_that_of_the_published_one(network):
    stamped = replace(CONFIG.action[0], type="geometry_msgs/TwistStamped", field="twist.angular.z")
    config = replace(CONFIG, action=(stamped,))
    states = network.publisher(config.joint_states, "joints")
    published, decided = [], []

    def move(content):
        published.append(float(content.fields["header"]["stamp"]))
        states.send(JointSample(["pivot"], [0.5], [-1.0]))

    class Log:
        def decision(self, decision):
            decided.append(decision.stamp)

        def end_episode(self, *ending):
            pass

    network.subscribe(stamped.topic, "geometry_msgs/msg/TwistStamped", move)
    network.serve("/pendulum/reset", lambda: states.send(JointSample(["pivot"], [0.5], [-1.0])))
    RobotExploration(explorer(), config, network, recording=Log()).learn(episodes=1)
    assert len(published) == 8
    assert decided == published


def test_a_formula_that_fails_ends_the_run_and_keeps_the_steps_before_it(network, pendulum):
    RobotExploration(seen := explorer(), CONFIG, network).learn(episodes=2)
    fast = np.abs(seen.transitions.next_states[:, 1])
    last = 8 + int(np.argmax(fast[8:] > fast[:9].max()))  # the first step that is faster than all before it
    assert last > 8
    allowed = (fast[:last].max() + fast[last]) / 2
    reward = Formula(f"1 / max(0, {float(allowed)!r} - abs(next_omega))", ["next_omega"])
    agent, config = explorer(), replace(CONFIG, episode=replace(CONFIG.episode, reward=reward))
    with pytest.raises(ValueError, match=r"^episode\.reward, episode\.terminal: formula .* is (nan|inf)"):
        RobotExploration(agent, config, network).learn(episodes=4)
    assert [report.steps for report in agent.log] == [8, last - 8]
    np.testing.assert_array_equal(agent.transitions.states, seen.transitions.states[:last])
