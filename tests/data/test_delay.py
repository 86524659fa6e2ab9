"""Late commands and limited actuators: how a delay is found, and what the model knows of both."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from oracles import signals as oracle
from policyforest._support.signals import Actuators
from policyforest.environments.limited_actuators import DelayedActions, LimitedActuators
from signal_samples import PENDULUM, run_of


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_delay_of_commands_is_found_with_evidence(delay):
    env = DelayedActions(gym.make(PENDULUM), delay)
    found = pf.find_delay(pf.collect(env, episodes=60, seed=5), before="idle")
    assert found.delay == delay
    assert found.certain
    assert [row.delay for row in found.table] == [0, 1, 2, 3, 4, 5]
    assert f"commands act {delay} step{'' if delay == 1 else 's'} late (certain)" in str(found)
    data = pf.collect(env, episodes=60, seed=5, delay="auto")
    expected = pf.collect(env, episodes=60, seed=5, delay=delay)
    assert data.plant == expected.plant


@pytest.mark.parametrize("delay", [0, 1, 2, 3])
@pytest.mark.parametrize("history", [2, 3])
def test_a_history_that_is_not_needed_does_not_shorten_the_delay(delay, history):
    data = pf.collect(DelayedActions(gym.make(PENDULUM), delay), episodes=60, seed=1)
    found = pf.find_delay(data, history=history, before="idle")
    assert found.delay == delay
    assert found.certain


def test_an_episode_that_is_hard_to_predict_does_not_hide_the_delay():
    """One of these six episodes begins where the others never were, and its errors are larger than all others."""
    data = pf.collect(DelayedActions(gym.make("Pendulum-v1"), 2), episodes=6, seed=1)
    assert pf.find_delay(data, before="idle").delay == 2


def test_commands_without_effect_are_not_late():
    data = pf.collect(gym.make(PENDULUM), episodes=40, seed=3)
    others = np.random.default_rng(0).uniform(-50.0, 50.0, data.actions.shape)
    found = pf.find_delay(replace(data, actions=others), history=2, before="idle")
    assert (found.delay, found.certain) == (0, False)


def test_a_delay_is_found_where_speeds_are_not_measured():
    class Angle(gym.ObservationWrapper):
        observation_space = Box(-np.inf, np.inf, (1,), np.float64)

        def observation(self, observation):
            return observation[:1]

    env = Angle(DelayedActions(gym.make(PENDULUM), 2))
    data = pf.collect(env, episodes=80, seed=2, history=2, delay="auto")
    assert (data.plant.signals.history, data.plant.signals.history_actions) == (2, 3)


def test_a_delay_cannot_be_found_in_too_few_rows():
    with pytest.raises(ValueError, match="delay: only 10 rows have 5 past actions, must be at least 30"):
        pf.find_delay(run_of(15))


def test_the_model_knows_history_and_actuators_exactly():
    env = DelayedActions(gym.make(PENDULUM), 1)
    data = pf.collect(env, episodes=60, seed=0, delay=1, max_rate=20.0, quantum=0.5, dead_zone=2.0)
    assert np.abs(data.actions - data.states[:, [2]]).max() <= 20.0
    assert np.array_equal(np.round(data.actions / 0.5) * 0.5, data.actions)
    model = pf.DynamicsForest().fit(data)
    assert model.structure.copies == ((2, 3),)
    states, commands = data.states[:200], np.linspace(-50, 50, 200)[:, None]
    ahead = model.native.step(np.ascontiguousarray(states), commands, None, False)[0]
    expected = [
        oracle.actuated(c, b, -50, 50, 20.0, 2.0, 0.5) for c, b in zip(commands[:, 0], states[:, 2], strict=True)
    ]
    assert ahead[:, 2].tolist() == expected
    drawn = model.sample(300, 1)
    assert np.array_equal(drawn.next_states[:, 2], drawn.actions[:, 0])


def test_samples_and_policies_go_through_limited_actuators():
    env = LimitedActuators(gym.make(PENDULUM), Actuators(max_rate=(5.0,)))
    data = pf.collect(env, episodes=5, seed=0)
    first = np.unique(data.episodes, return_index=True)[1]
    assert np.abs(data.actions[first]).max() <= 5.0
    inside = np.diff(data.episodes) == 0
    assert np.abs(np.diff(data.actions[:, 0]))[inside].max() <= 5.0 * (1 + 1e-12)


def test_a_signal_task_finds_the_delay_itself_and_says_how():
    env = pf.SignalTask(pf.DelayedActions(gym.make(PENDULUM), 2), delay="auto")
    assert env.plant.delay == 2
    assert env.plant.state_names == ("theta", "omega", "u_1", "u_2")
    assert env.evidence is not None
    assert "commands act 2 steps late (certain)" in str(env.evidence)
    assert pf.SignalTask(gym.make(PENDULUM), delay=1).evidence is None
