"""Pendulum-v1 by its angle: the environment, its equations and its limit."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest

from policyforest.environments.collection import collect
from policyforest.paper.angle_pendulum import EPISODE_STEPS, PERIODIC, AngleGrid, AnglePendulum, limit, step


def test_the_state_is_the_angle_and_the_speed_of_the_pendulum() -> None:
    env = AnglePendulum()
    state, _ = env.reset(seed=3)
    inside = env.unwrapped.state  # type: ignore[attr-defined]
    assert state == pytest.approx(inside, abs=1e-6)
    assert state in env.observation_space
    for _ in range(30):
        state, *_ = env.step(np.array([2.0], np.float32))
        angle, speed = env.unwrapped.state  # type: ignore[attr-defined]
        assert math.cos(state[0]) == pytest.approx(math.cos(angle), abs=1e-6)
        assert math.sin(state[0]) == pytest.approx(math.sin(angle), abs=1e-6)
        assert state[1] == pytest.approx(speed, abs=1e-6)


def test_the_equations_are_those_of_the_environment() -> None:
    data = collect(AnglePendulum(), steps=400, seed=0, periodic=PERIODIC)
    angles, speeds, costs = step(data.states[:, 0], data.states[:, 1], data.actions[:, 0])
    turns = (angles - data.next_states[:, 0] + math.pi) % (2 * math.pi) - math.pi
    assert np.abs(turns).max() < 1e-5
    assert np.abs(speeds - data.next_states[:, 1]).max() < 1e-5
    assert np.allclose(costs, -data.rewards, atol=1e-4)
    assert data.periodic == PERIODIC
    assert gym.spec("Pendulum-v1").max_episode_steps == EPISODE_STEPS


def test_value_iteration_is_that_of_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policyforest.paper.angle_pendulum.EPISODE_STEPS", 2)
    grid = AngleGrid(7, 5, 3)
    angles, speeds, torques = np.linspace(-math.pi, math.pi, 7), np.linspace(-8, 8, 5), np.linspace(-2, 2, 3)
    values = np.zeros((7, 5))
    for _ in range(2):
        new = np.empty_like(values)
        for i, angle in enumerate(angles):
            for j, speed in enumerate(speeds):
                worth = []
                for torque in torques:
                    there, fast, cost = (float(x) for x in step(*(np.array(x) for x in (angle, speed, torque))))
                    at_angles = [np.interp(there, angles, values[:, k]) for k in range(5)]
                    worth.append(cost + np.interp(fast, speeds, at_angles))
                new[i, j] = min(worth)
        values = new
    assert np.allclose(grid.costs.reshape(7, 5), values)


def test_even_a_coarse_grid_swings_up_and_predicts_what_it_reaches() -> None:
    coarse = AngleGrid(101, 101, 11)
    rng = np.random.default_rng(0)
    starts = np.stack([rng.uniform(-math.pi, math.pi, 40), rng.uniform(-1, 1, 40)], axis=1)
    states, total = starts, np.zeros(40)
    for _ in range(EPISODE_STEPS):
        torques = coarse.act_batch(states)
        assert np.abs(torques).max() <= 2
        angles, speeds, costs = step(*states.T, torques[:, 0])
        states, total = np.stack([angles, speeds], axis=1), total + costs
    assert -total.mean() == pytest.approx(coarse.predicted(starts).mean(), rel=0.02)
    assert np.abs(states[:, 0]).max() < 0.1


def test_the_limit_is_played_in_the_environment() -> None:
    played = limit(5, 1, AngleGrid(101, 101, 11))
    assert (played.lengths == EPISODE_STEPS).all()
    assert played.worst > -400
    assert limit(5, 2, AngleGrid(51, 51, 5)).returns.tolist() != played.returns.tolist()
