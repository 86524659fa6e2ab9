"""The acrobot with a continuous torque: Gymnasium's own as its oracle, its start, and its limit."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from hypothesis import given
from hypothesis import strategies as st

import policyforest as pf
from policyforest import _core
from policyforest.paper.acrobot_limit import CELL, acrobot_limit, best_torques, energy
from policyforest.problems import Acrobot

ID = "policyforest/Acrobot-v0"
unit = st.floats(-1.0, 1.0)
states = st.tuples(unit, unit, unit, unit).map(lambda s: np.array(s) * [math.pi, math.pi, 4 * math.pi, 9 * math.pi])


def step(state, torque):
    moved, rewards, ends = _core.Acrobot().step_many(np.array([state]), np.array([[torque]]), np.zeros((1, 0)))
    return moved[0], float(rewards[0]), bool(ends[0])


def gymnasium_step(state, torque):
    env = AcrobotEnv()
    env.AVAIL_TORQUE = [torque] * 3
    env.reset(seed=0)
    env.state = np.array(state)
    _, reward, terminated, _, _ = env.step(0)
    return env.state, reward, terminated


@given(states, unit)
def test_a_step_is_that_of_gymnasiums_acrobot(state, torque):
    moved, reward, end = step(state, torque)
    plain, plain_reward, plain_end = gymnasium_step(state, torque)
    apart = moved - plain
    apart[:2] = (apart[:2] + math.pi) % (2 * math.pi) - math.pi
    # Fast links move by several turns in a step, which multiplies rounding errors.
    assert np.abs(apart).max() < 1e-6
    assert (reward, end) == (plain_reward, plain_end)


def test_without_torque_slow_links_keep_their_energy():
    state = np.array([0.3, -0.2, 0.1, 0.2])
    before = energy(state[None])[0]
    for _ in range(20):
        state, _, _ = step(state, 0.0)
    assert energy(state[None])[0] == pytest.approx(before, abs=0.02)


def test_the_goal_is_a_height():
    up, reward, end = step([math.pi - 0.1, 0.0, 0.0, 0.0], 0.0)
    assert end
    assert reward == 0.0
    assert -math.cos(up[0]) - math.cos(up[0] + up[1]) > 1
    assert step([0.0, 0.0, 0.0, 0.0], 1.0)[1:] == (-1.0, False)


def test_starts_are_uniform_and_the_same_for_the_core_and_the_loop():
    env = gym.make(ID)
    starts = np.array([env.reset(seed=seed)[0] for seed in range(300)])
    assert 0.09 < np.abs(starts).max() <= 0.1
    assert starts.std(axis=0) == pytest.approx(np.full(4, 0.2 / math.sqrt(12)), rel=0.15)
    whole = pf.collect(gym.make(ID), episodes=2, seed=5, max_steps=40)
    looped = pf.collect(gym.wrappers.TransformReward(gym.make(ID), lambda r: r), episodes=2, seed=5, max_steps=40)
    np.testing.assert_array_equal(whole.states, looped.states)
    np.testing.assert_array_equal(whole.next_states, looped.next_states)


@pytest.mark.parametrize("range_", [-0.1, math.pi, math.nan])
def test_it_refuses_impossible_starts(range_):
    with pytest.raises(ValueError, match="start_range"):
        Acrobot(start_range=range_)


def test_a_coarse_search_reaches_the_goal_in_little_more_than_the_stored_steps():
    played = acrobot_limit(2 * CELL, 5_000)
    assert played.terminals.all()
    assert 60 <= played.lengths[0] <= 70
    assert played.mean == 1 - played.lengths[0]


def test_a_search_that_does_not_find_the_goal_says_so():
    with pytest.raises(RuntimeError, match="did not find the goal in 10 steps with 100 states kept"):
        best_torques(CELL, 100, most_steps=10)
