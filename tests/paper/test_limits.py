"""Limits: value iteration against plain loops, and what is known of the problems."""

import math

import gymnasium as gym
import numpy as np
import pytest

from policyforest import _core
from policyforest.paper.limit_studies import GRIDS, Grid, GridPolicy, limit


def points(row):
    lo, hi, n, power, _ = row
    u = np.linspace(-1, 1, int(n))
    return (lo + hi) / 2 + (hi - lo) / 2 * np.sign(u) * np.abs(u) ** power


def interpolated(values, axes, state):
    """Bilinear between the grid's points: linear in the place, which is no linear function of x for a power above 1."""
    places = []
    for row, x in zip(axes, state, strict=True):
        lo, hi, n, power, _ = row
        v = np.clip((x - (lo + hi) / 2) / ((hi - lo) / 2), -1, 1)
        places.append((np.sign(v) * abs(v) ** (1 / power) + 1) / 2 * (n - 1))
    (i, j), (n, m) = (int(min(math.floor(p), row[2] - 2)) for p, row in zip(places, axes, strict=True)), values.shape
    x, y = places[0] - i, places[1] - j
    assert 0 <= i < n - 1
    assert 0 <= j < m - 1
    return (1 - x) * ((1 - y) * values[i, j] + y * values[i, j + 1]) + x * (
        (1 - y) * values[i + 1, j] + y * values[i + 1, j + 1]
    )


def plain_sweep(system, axes, actions, noises, values, discount):
    new = np.empty_like(values)
    for i, x in enumerate(points(axes[0])):
        for j, y in enumerate(points(axes[1])):
            worth = []
            for action in actions:
                noise = np.array(noises)[:, None] if system.n_noise else np.zeros((1, 0))
                n = len(noise)
                next_states, rewards, ends = system.step_many(np.tile([x, y], (n, 1)), np.full((n, 1), action), noise)
                ahead = [
                    0.0 if end else interpolated(values, axes, s) for s, end in zip(next_states, ends, strict=True)
                ]
                worth.append(np.mean(rewards + discount * np.array(ahead)))
            new[i, j] = max(worth)
    if axes[0][4]:
        new[[0, -1]] = new[[0, -1]].max(axis=0)
    return new


@pytest.mark.parametrize(
    ("system", "axes", "noises"),
    [
        (_core.InvertedPendulum(6.0, 2.0), [[-1.5, 1.5, 7, 2.0, 0], [-2.0, 2.0, 5, 1.0, 0]], [-5.0, 0.0, 5.0]),
        (_core.DoubleIntegrator(), [[-1.0, 1.0, 6, 1.0, 0], [-1.0, 1.0, 7, 1.5, 0]], [0.0]),
        (_core.SwingUp(), [[-math.pi, math.pi, 9, 1.0, 1], [-10.0, 10.0, 5, 1.0, 0]], [0.0]),
    ],
)
def test_sweeps_are_those_of_plain_loops(system, axes, noises):
    actions = [-1.0, 0.0, 1.0]
    planner = _core.GridPlanner(system, axes, actions, noises)
    values = np.zeros((axes[0][2], axes[1][2]))
    for _ in range(3):
        new = plain_sweep(system, axes, actions, noises, values, 0.9)
        assert planner.sweep(0.9, n_threads=2) == pytest.approx(np.abs(new - values).max(), rel=1e-4)
        values = new
    found = [[planner.value(np.array([x, y])) for y in points(axes[1])] for x in points(axes[0])]
    assert np.allclose(found, values, rtol=1e-4, atol=1e-3)  # rewards and places are single precision


def test_the_double_integrator_has_its_limit():
    assert limit("double-integrator").mean == pytest.approx(-3.43, rel=0.03)


def test_the_car_reaches_the_top_in_19_or_20_steps():
    played = limit("car-on-the-hill")
    assert played.terminals.all()
    assert played.lengths[0] in (19, 20)


@pytest.mark.parametrize(("problem", "least"), [("inverted-pendulum-6kg", -150), ("swing-up", -30)])
def test_even_coarse_grids_control_the_others(problem, least):
    (a, b), grid = GRIDS[problem].rows, GRIDS[problem]
    coarse = Grid(((*a[:2], 61, a[3]), (*b[:2], 41, b[3])), grid.discount, n_actions=11, n_finer=3, episodes=1)
    assert limit(problem, grid=coarse).mean > least


def test_a_grid_policy_stays_within_the_actions():
    env = gym.make("policyforest/DoubleIntegrator-v0").unwrapped
    policy = GridPolicy(env, Grid(((-1.0, 1.0, 21, 1.0), (-1.0, 1.0, 21, 1.0)), 0.98, n_actions=5))
    actions = policy.act_batch(np.random.default_rng(0).uniform(-1, 1, (50, 2)))
    assert actions.shape == (50, 1)
    assert env.action_space.contains(actions.min(axis=0))
    assert env.action_space.contains(actions.max(axis=0))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"axes": [[0.0, 1.0, 5, 1.0, 0]]}, "axes"),
        ({"axes": [[1.0, 0.0, 5, 1.0, 0], [0.0, 1.0, 5, 1.0, 0]]}, "axes"),
        ({"axes": [[0.0, 1.0, 1, 1.0, 0], [0.0, 1.0, 5, 1.0, 0]]}, "axes"),
        ({"axes": [[0.0, math.nan, 5, 1.0, 0], [0.0, 1.0, 5, 1.0, 0]]}, "axes"),
        ({"axes": [[0.0, 1.0, 5, 0.5, 0], [0.0, 1.0, 5, 1.0, 0]]}, "axes"),
        ({"actions": []}, "actions"),
        ({"noises": []}, "noises"),
        ({"noises": [0.0, 1.0]}, "noises"),
    ],
)
def test_grids_that_are_none_are_refused(change, name):
    good = {"axes": [[-1.0, 1.0, 5, 1.0, 0]] * 2, "actions": [0.0], "noises": [0.0]}
    with pytest.raises(ValueError, match=name):
        _core.GridPlanner(_core.DoubleIntegrator(), **(good | change))


def test_problems_without_a_limit_are_refused():
    with pytest.raises(ValueError, match="problem"):
        limit("Pendulum-v1")
