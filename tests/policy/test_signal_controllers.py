"""Policies on signals: their controllers, which are given measurements, and their files."""

import math
import warnings

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from policyforest._support.signals import Actuators, Signals
from policyforest.environments.limited_actuators import DelayedActions
from signal_samples import ACTIONS, PENDULUM, run_of, some_policy


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(0, 3), st.sampled_from([None, 0.5]), st.integers(0, 99))
def test_a_controller_acts_on_the_state_that_the_samples_have(history, past, rate, seed):
    limits = {} if rate is None else {"max_rate": rate}
    data = run_of(15, seed).with_signals(
        history=history, history_actions=past, derive=["v = diff(x, dt)", "f = ema(v, 0.3)"], period=0.1,
        before="idle", **limits,
    )  # fmt: skip
    signals = data.plant.signals
    policy = some_policy(signals, seed)
    controller = policy.controller()
    controller.reset()
    measured, actions = run_of(15, seed).states, []
    for row in measured:
        actions.append(controller.step(row))
        if controller.state is not None and len(actions) > signals.warm_up:
            newest = controller.state[: len(signals.channel_names)]
            assert np.array_equal(newest[:2], row)
    assert all((a == 0).all() for a in actions[: signals.warm_up])
    if rate is not None:
        assert np.abs(np.diff([0.0, *np.concatenate(actions)])).max() <= rate * (1 + 1e-12)
    # The same run as samples: the policy's actions at their states are the controller's.
    told = pf.Transitions(
        measured[:-1], np.array(actions[:-1]), np.zeros(14), measured[1:], np.zeros(14, bool), action_space=ACTIONS,
        plant=pf.Plant(("x", "y"), ("u",)),
    ).with_signals(
        history=history, history_actions=past, derive=["v = diff(x, dt)", "f = ema(v, 0.3)"], period=0.1,
        before="idle", **limits,
    )  # fmt: skip
    commands = policy.act_batch(told.states)
    last = (
        told.states[:, [len(signals.channel_names) * history]] if signals.history_actions else np.zeros_like(commands)
    )
    taken = signals.actuators.applied(commands, last, np.array([[-2.0, 2.0]]))
    assert np.array_equal(taken, np.array(actions[signals.warm_up : -1]))


def test_a_policy_without_signals_has_a_controller_too():
    policy = some_policy(Signals(("x", "y"), ("u",))).with_signals(None)
    controller = policy.controller()
    controller.reset()
    assert np.array_equal(controller.step([0.3, 0.1]), policy.act([0.3, 0.1]))


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        ([1.0], ValueError, r"observation: has shape \(1,\), must have shape \(2,\): x, y"),
        ([1.0, math.nan], ValueError, "observation: is .*nan.*must be finite"),
        (["a", "b"], TypeError, "observation: holds"),
    ],
)
def test_a_controller_refuses_what_is_no_measurement(observation, error, message):
    controller = some_policy(Signals(("x", "y"), ("u",))).controller()
    with pytest.raises(RuntimeError, match="step: reset was not called"):
        controller.step([0.0, 0.0])
    controller.reset()
    with pytest.raises(error, match=message):
        controller.step(observation)


@pytest.mark.parametrize("bad", [[1.0, 0.0], [math.nan, 1.0], [1.0]])
def test_a_measurement_that_is_refused_breaks_the_history_and_counts_as_an_idle_step(bad):
    signals = Signals(
        ("x", "y"), ("u",), derived=(("q", "clip(x / y, -3, 3)"), ("w", "diff(x, 1)")), history=2, history_actions=1,
        actuators=Actuators(max_rate=(0.5,)), idle=(0.25,),
    )  # fmt: skip
    controller = some_policy(signals).controller()
    controller.reset()
    for row in ([0.1, 1.0], [0.2, 1.0], [0.3, 1.0]):
        before = controller.step(row)
    assert controller.state is not None
    with pytest.raises(ValueError, match="observation: "):
        controller.step(bad)
    assert controller.state is None
    expected = np.clip(0.25, before - 0.5, before + 0.5)
    assert np.array_equal(controller.last_action, expected)
    for row in ([0.4, 1.0], [0.5, 1.0]):  # the difference and the second row are not known again
        assert np.array_equal(controller.step(row), np.clip(0.25, expected - 0.5, expected + 0.5))
        expected = controller.last_action
        assert controller.state is None
    controller.step([0.6, 1.0])
    assert controller.state is not None
    assert np.allclose(controller.state[[0, 4]], [0.6, 0.5])


def test_files_of_policies_keep_signals_and_old_files_have_none(tmp_path):
    signals = run_of(9).with_signals(
        history=2, derive=["v = diff(x, dt)"], period=0.1, max_rate=0.5, dead_zone=0.1, quantum=0.05
    ).plant.signals  # fmt: skip
    policy = some_policy(signals)
    policy.save(tmp_path / "p.pforest")
    loaded = pf.load(tmp_path / "p.pforest")
    assert loaded.signals == signals
    plain = policy.with_signals(None)
    plain.save(tmp_path / "plain.pforest")
    assert b'\\"version\\": 1,' in (tmp_path / "plain.pforest").read_bytes()
    assert pf.load(tmp_path / "plain.pforest").signals is None
    ours, theirs = policy.controller(), loaded.controller()
    ours.reset()
    theirs.reset()
    for row in run_of(9).states:
        assert np.array_equal(ours.step(row), theirs.step(row))


@pytest.mark.parametrize(
    "change",
    [
        {"history": 0},
        {"history": 10**9},
        {"history": "2"},
        {"measured": []},
        {"measured": ["x", 3]},
        {"derived": [["v", "__import__('os')"]]},
        {"derived": [["v"]]},
        {"actuators": {}},
        {"actuators": {"max_rate": [-1.0], "dead_zone": [], "quantum": []}},
        {"actuators": {"max_rate": ["a"], "dead_zone": [], "quantum": []}},
        {"idle": [1.0, 2.0]},
        {"period": -1.0},
        {"periodic": [["x", 1.0]]},
        {"more": 1},
        {"measured": ["x"]},
    ],
)
def test_hostile_signals_in_a_file_are_refused(change, tmp_path):
    from policyforest._support.tensor_files import read_arrays, read_header, write_tensors

    policy = some_policy(Signals(("x", "y"), ("u",), history=2, history_actions=1))
    policy.save(tmp_path / "p.pforest")
    with (tmp_path / "p.pforest").open("rb") as file:
        content, entries = read_header(file)
        arrays = read_arrays(file, entries)
    content["signals"] = content["signals"] | change
    write_tensors(tmp_path / "bad.pforest", arrays, content)
    with pytest.raises(ValueError, match=r"bad.pforest: is not a policy that can be loaded"):
        pf.load(tmp_path / "bad.pforest")


def test_a_learned_policy_keeps_its_signals_and_is_evaluated_on_measurements():
    env = DelayedActions(gym.make("policyforest/DoubleIntegrator-v0"), 1)  # without noise, planning takes seconds
    data = pf.collect(env, episodes=30, seed=0, delay="auto", max_rate=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.PlanningWarning)
        policy = pf.learn(data, discount=0.9)
    assert policy.signals == data.plant.signals
    assert policy.signals.history_actions == 1
    assert pf.evaluate(policy, env, episodes=2, max_steps=50).lengths.min() == 50  # random actions: 7 steps
    with pytest.raises(ValueError, match="policy: it measures p, v; must measure 3 numbers"):
        pf.evaluate(policy, "Pendulum-v1", episodes=1)


def test_an_agent_explores_on_stacked_states_and_its_policy_runs_on_measurements(tmp_path):
    from exploring import small_agent

    options = {"history": 2, "history_actions": 1, "max_rate": 10.0}
    env = pf.SignalTask(gym.make(PENDULUM), **options)
    agent = small_agent(env, run_dir=tmp_path / "run").learn(episodes=3)
    data = agent.transitions
    assert data.plant.state_names == ("theta", "omega", "theta_1", "omega_1", "u_1")
    assert np.abs(data.actions - data.states[:, [4]]).max() <= 10.0 * (1 + 1e-12)
    assert env.n_filling >= 3
    policy = agent.policies(1)[0]
    assert policy.signals == env.plant.signals
    inside = pf.evaluate(policy, env, episodes=1, max_steps=5)
    outside = pf.evaluate(policy, gym.make(PENDULUM), episodes=1, max_steps=6)
    assert outside.lengths[0] == inside.lengths[0] + 1  # the step while the history fills
    agent.run.close()
