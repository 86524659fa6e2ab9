"""What a robot is told, and when it is the safe action: no network, a clock that the test moves."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box

from loopback import EXAMPLE, Loopback
from policyforest.ros.config import load_config
from policyforest.ros.control import Controller, acting, require_fit
from policyforest.ros.node import Node
from policyforest.ros.simulator import SimulatedPendulum
from policyforest.ros.transport import JointSample

CONFIG = replace(load_config(EXAMPLE), action=(replace(load_config(EXAMPLE).action[0], safe=0.25),))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def sample(position=0.5, velocity=-1.0, arrived=100.0, **other):
    fields = {"names": ["other", "pivot"], "position": [9.0, position], "velocity": [9.0, velocity]}
    return JointSample(**(fields | other), arrived=arrived)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def controller(clock, warnings):
    act = lambda state: np.array([state[0] + 10 * state[1]])  # noqa: E731
    return Controller(act, CONFIG, clock=clock, wall=clock, warn=warnings.append)


def test_the_state_is_read_by_joint_and_field(controller):
    controller.receive(sample(position=0.5 + 4 * math.pi))
    decision = controller.decide()
    assert decision.fault == ""
    np.testing.assert_allclose(decision.state, [0.5, -1.0])
    np.testing.assert_allclose(decision.action, [-9.5])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "no state has arrived"),
        (sample(arrived=99.4), "0.600 s old"),
        (sample(position=math.nan), "position of joint 'pivot' is nan"),
        (sample(velocity=-math.inf), "velocity of joint 'pivot' is -inf"),
        (sample(names=["other", "elbow"]), "joint 'pivot' is missing"),
        (sample(names=[]), "joint 'pivot' is missing"),
        (sample(position=[], velocity=0.0, names=["pivot"]), "not used"),
    ],
)
def test_what_cannot_be_acted_on_gets_the_safe_action(controller, warnings, message, reason):
    if message is not None and reason == "not used":
        message, reason = JointSample(["pivot"], [], [0.0], arrived=100.0), "has no position"
    if message is not None:
        controller.receive(message)
    decision = controller.decide()
    assert decision.action.tolist() == [0.25]
    assert decision.state is None
    assert reason in decision.fault
    assert len(warnings) == 1


def test_a_lost_master_gets_the_safe_action_although_states_come(controller):
    controller.receive(sample())
    assert controller.decide(connected=False).action.tolist() == [0.25]
    assert controller.decide(connected=True).fault == ""


def test_it_recovers_and_says_each_once(controller, clock, warnings):
    controller.receive(sample())
    controller.decide()
    for clock.now in (101.0, 101.1, 101.2):
        assert controller.decide().action.tolist() == [0.25]
    controller.receive(sample(position=math.nan, arrived=101.2))
    controller.decide()
    controller.receive(sample(arrived=101.2))
    assert controller.decide().fault == ""
    assert [line.partition(":")[0] for line in warnings] == [
        "safe action, old",
        "safe action, bad",
        "states are back, the policy acts",
    ]


@pytest.mark.parametrize(("dimension", "position", "velocity"), [(0, 1e308, 0.0), (1, 0.0, 1e308), (0, -1e308, 0.0)])
def test_a_number_that_is_too_large_to_be_scaled_gets_the_safe_action(clock, dimension, position, velocity):
    states = list(CONFIG.state)
    states[dimension] = replace(states[dimension], scale=10.0)
    config = replace(CONFIG, state=tuple(states))
    controller = Controller(lambda s: [1.0], config, clock=clock, wall=clock, warn=lambda line: None)
    controller.receive(sample(position, velocity))
    decision = controller.decide()
    assert decision.action.tolist() == [0.25]
    assert "too large to be scaled" in decision.fault


def test_age_can_be_measured_by_the_robot_s_stamps(clock):
    config = replace(CONFIG, age_by="stamp")
    controller = Controller(lambda s: [1.0], config, clock=clock, wall=clock, warn=lambda line: None)
    controller.receive(sample(stamp=99.0))
    assert "1.000 s old" in controller.decide().fault
    controller.receive(sample(stamp=99.9))
    assert controller.decide().fault == ""


def test_a_robot_whose_clock_is_ahead_is_not_trusted_for_ever(clock):
    config = replace(CONFIG, age_by="stamp")
    controller = Controller(lambda s: [1.0], config, clock=clock, wall=clock, warn=lambda line: None)
    controller.receive(sample(stamp=100.2))
    assert controller.decide().fault == ""
    clock.now = 100.6  # by its stamp 0.4 s old, but nothing has arrived for 0.6 s
    assert "0.600 s old" in controller.decide().fault
    controller.receive(sample(stamp=1e6, arrived=100.6))
    assert "ahead of this clock" in controller.decide().fault


def test_a_simulation_that_begins_again_at_zero_gets_one_safe_action(clock):
    controller = Controller(lambda s: [1.0], CONFIG, clock=clock, wall=clock, warn=lambda line: None)
    faults = []
    for stamp in (7.0, 0.0, 0.1):
        controller.receive(sample(stamp=stamp))
        faults.append(controller.decide().fault)
    assert faults == ["", "time: the stamps have jumped back by 7.000 s", ""]


def test_between_states_the_node_looks_at_their_stamps_too():
    network, commands = Loopback(), []
    network.subscribe(CONFIG.action[0].topic, "number", commands.append)
    node = Node(policy(), replace(CONFIG, max_age=1.0, age_by="stamp"), network)
    network.publisher(CONFIG.joint_states, "joints").send(sample(stamp=time.time() - 0.9, arrived=time.monotonic()))
    assert commands == [2.0]
    assert node.run(seconds=0.6).safe > 0  # nothing has come for less than max_age, but it was written before
    assert commands[-1] == 0.25


@pytest.mark.parametrize("act", [lambda s: 1 / 0, lambda s: [math.nan], lambda s: [1.0, 2.0], lambda s: None])
def test_a_policy_that_fails_gets_the_safe_action(clock, act):
    controller = Controller(act, CONFIG, clock=clock, wall=clock, warn=lambda line: None)
    controller.receive(sample())
    decision = controller.decide()
    assert decision.action.tolist() == [0.25]
    assert decision.fault.startswith("policy:")


def policy(n_state=2, low=-15.0, high=15.0):
    spaces = {"observation_space": Box(-9, 9, (n_state,)), "action_space": Box(low, high, (1,))}
    return SimpleNamespace(act=lambda state: np.array([2.0]), **spaces)


def test_a_policy_that_does_not_fit_is_refused():
    require_fit(policy(), CONFIG)
    with pytest.raises(ValueError, match="has 2 dimensions, but the policy has 3"):
        require_fit(policy(n_state=3), CONFIG)
    with pytest.raises(ValueError, match="configuration allows"):
        require_fit(policy(high=16.0), CONFIG)


def test_the_node_answers_each_state_and_ends_with_the_safe_action():
    network, commands = Loopback(), []
    network.subscribe(CONFIG.action[0].topic, "number", commands.append)
    node = Node(policy(), replace(CONFIG, max_age=0.05), network)
    running = threading.Thread(target=node.run)
    running.start()
    states = network.publisher(CONFIG.joint_states, "joints")
    for _ in range(3):
        states.send(sample(arrived=time.monotonic()))
    assert commands[-3:] == [2.0] * 3
    time.sleep(0.2)
    assert commands[-1] == 0.25  # no node publishes any more
    states.send(sample(arrived=time.monotonic()))
    assert commands[-1] == 2.0
    network.whole = False
    states.send(sample(arrived=time.monotonic()))
    assert commands[-1] == 0.25
    network.whole = True
    states.send(sample(arrived=time.monotonic()))
    node.stop()
    running.join()
    assert commands[-1] == 0.25
    sent = len(commands)
    states.send(sample(arrived=time.monotonic()))
    assert len(commands) == sent


def test_the_node_keeps_a_fixed_rate():
    network, commands = Loopback(), []
    network.subscribe(CONFIG.action[0].topic, "number", commands.append)
    node = Node(policy(), replace(CONFIG, rate=50.0), network)
    network.publisher(CONFIG.joint_states, "joints").send(sample(arrived=time.monotonic()))
    report = node.run(seconds=0.3)
    assert 5 <= report.decisions + report.late <= 17
    assert commands[0] == 2.0
    assert len(commands) == report.decisions + 1


def test_the_simulated_pendulum_closes_the_loop_in_lock_step():
    network = Loopback()
    states: list[JointSample] = []
    network.subscribe(CONFIG.joint_states, "joints", states.append)
    pendulum, stop = SimulatedPendulum(network), threading.Event()
    stop.set()
    pendulum.run_in_lock_step(stop)
    network.publisher(CONFIG.action[0].topic, "number").send(15.0)
    network.publisher(CONFIG.action[0].topic, "number").send(math.nan)
    assert [s.effort for s in states] == [[0.0], [15.0]]
    assert states[1].position[0] != states[0].position[0]
    network.call("/pendulum/reset", 1.0)
    assert states[2].position == [-math.pi]
    for place in ([], [1.0], [math.nan, 0.0]):
        with pytest.raises(ValueError, match="must be \\[angle, speed\\]"):
            network.publisher("/pendulum/place", "numbers").send(place)
    network.publisher(CONFIG.action[0].topic, "number").send(1.0)
    assert states[3].effort == [1.0]


def history_policy(**options):
    """A policy on the last two measurements of the example robot, with a rate limit."""
    import policyforest as pf

    n = 2 * 2 + 1
    forest = pf.Forest.from_arrays(
        feature=[0, -1, -1], split=[0.0, 5.0, -5.0], child=[1, 0, 1], node_offsets=[0, 3], box=[[-np.inf, np.inf]] * n
    )
    states = Box(-np.inf, np.inf, (n,), np.float64)
    signals = pf.Signals(
        ("theta", "omega"), ("torque",), history=2, history_actions=1, actuators=pf.Actuators(max_rate=(2.0,))
    )
    return pf.Policy((forest,), states, Box(-15.0, 15.0, (1,), np.float64), signals=signals)


def test_a_policy_with_history_gets_the_safe_action_while_it_fills(clock, warnings):
    config = load_config(EXAMPLE)
    policy = history_policy()
    require_fit(policy, config)
    decide = Controller(acting(policy, config), config, clock=clock, wall=clock, warn=warnings.append)
    safe = list(config.safe_action)
    decide.receive(sample())
    first = decide.decide()
    assert first.fault == "filling: the history has 1 of 2 rows"
    assert first.action.tolist() == safe
    decide.receive(sample())
    assert decide.decide().action.tolist() == [safe[0] - 2.0]  # towards -5, by the largest change
    assert decide.decide().action.tolist() == [safe[0] - 4.0]
    decide.decide(connected=False)  # a fault breaks the history
    assert decide.decide().fault.startswith("filling")
    assert decide.decide().action.tolist() == [safe[0] - 2.0]
