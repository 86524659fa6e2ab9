"""The benchmark problems as environments: registration, Gymnasium's rules, resets, seeds and drawing."""

import copy
import math
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from oracles import dynamics
from policyforest.environments import problems

IDS = {
    "policyforest/InvertedPendulum-v0": 3000,
    "policyforest/InvertedPendulum6kg-v0": 3000,
    "policyforest/DoubleIntegrator-v0": 200,
    "policyforest/CarOnTheHill-v0": 100,
    "policyforest/SwingUp-v0": 100,
    "policyforest/CartPoleSwingUp-v0": 60,
    "policyforest/Acrobot-v0": 500,
}
# Chance decides what happens in them: the force of the wind, or the start.
RANDOM = (
    "policyforest/InvertedPendulum-v0",
    "policyforest/InvertedPendulum6kg-v0",
    "policyforest/CartPoleSwingUp-v0",
    "policyforest/Acrobot-v0",
)


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def bare(id):
    return gym.make(id).unwrapped


@pytest.mark.parametrize("id", IDS)
def test_a_step_from_within_the_limits_stays_in_the_observation_space(id):
    problem = bare(id)
    generator = np.random.default_rng(0)
    points = np.concatenate(
        [generator.uniform(-1, 1, (20_000, 6)), generator.choice([-1.0, 1.0], (500, 6))]  # and the corners
    )
    n = problem.system.n_state
    states = points[:, :n] * np.minimum(problem.state_limits[:, 1], 50.0)
    noise = problem.noise * points[:, 5 : 5 + problem.system.n_noise]
    next_states, _, terminals = problem.system.step_many(
        states, points[:, 4:5] * problem.action_space.high, np.ascontiguousarray(noise)
    )
    assert all(problem.observation_space.contains(state) for state in next_states)
    low, high = problem.state_limits.T
    outside = ~((next_states >= low) & (next_states <= high)).all(axis=1)
    # The goal of the acrobot is a height, and its speeds are clipped: its terminal states lie within its limits.
    assert not outside.any() if "Acrobot" in id else np.array_equal(terminals, outside)


@pytest.mark.parametrize(("id", "max_episode_steps"), IDS.items())
def test_registered_with_its_time_limit(id, max_episode_steps):
    assert gym.spec(id).max_episode_steps == max_episode_steps


def test_registered_pendulums_have_the_masses_of_the_paper_and_of_its_figures():
    paper = gym.make("policyforest/InvertedPendulum-v0").unwrapped
    figures = gym.make("policyforest/InvertedPendulum6kg-v0").unwrapped
    assert (paper.cart_mass, paper.max_speed, paper.noise) == (8.0, math.inf, 10.0)
    assert (figures.cart_mass, figures.max_speed, figures.noise) == (6.0, 2.0, 10.0)
    light = gym.make("policyforest/InvertedPendulum-v0", cart_mass=1.5, max_speed=3.0, noise=0.0).unwrapped
    assert (light.system.cart_mass, light.system.max_speed, light.noise) == (1.5, 3.0, 0.0)


@pytest.mark.parametrize("id", IDS)
def test_passes_gymnasiums_checker(id):
    pytest.importorskip("pygame")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gym.make(id, render_mode="rgb_array").unwrapped)
    # Physical units are not normalised, and a speed without a limit is unbounded: no other remark.
    allowed = ["symmetric and normalized"]
    if id == "policyforest/InvertedPendulum-v0":
        allowed += ["minimum value is -infinity", "maximum value is infinity"]
    remarks = [str(w.message) for w in caught if not any(text in str(w.message) for text in allowed)]
    assert remarks == []


@pytest.mark.parametrize("id", IDS)
def test_same_seed_same_episode(id):
    def play(seed):
        env = gym.make(id)
        env.action_space.seed(7)
        observations = [env.reset(seed=seed)[0]]
        for _ in range(30):
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            observations.append(observation)
            if terminated or truncated:
                break
        return np.array(observations)

    assert np.array_equal(play(3), play(3))
    if id in RANDOM:
        assert not np.array_equal(play(3), play(4))


@pytest.mark.parametrize("id", IDS)
def test_noise_is_the_same_drawn_at_once_or_one_by_one(id):
    problem = bare(id)
    at_once = problem.draw_noise(np.random.default_rng(5), 20)
    generator = np.random.default_rng(5)
    assert np.array_equal(at_once, np.concatenate([problem.draw_noise(generator, 1) for _ in range(20)]))


def test_starts():
    starts = [gym.make(id).unwrapped.start.tolist() for id in IDS]
    assert starts == [[0, 0], [0, 0], [1, 0], [-0.5, 0], [-math.pi, 0], [0, 0, -math.pi, 0], [0, 0, 0, 0]]
    for id, start in zip(IDS, starts, strict=True):
        spread = {"start_spread": 0.0} if "CartPole" in id else {"start_range": 0.0} if "Acrobot" in id else {}
        assert gym.make(id, **spread).reset(seed=0)[0].tolist() == start


def test_reset_puts_the_system_into_a_state():
    env = gym.make("policyforest/CarOnTheHill-v0")
    observation, _ = env.reset(options={"state": [0.25, -1.5]})
    assert observation.tolist() == [0.25, -1.5]
    observation, _, _, _, _ = env.step(np.array([2.0]))
    assert observation == pytest.approx(dynamics.car_on_the_hill(0.25, -1.5, 2.0)[0])
    assert env.reset()[0].tolist() == [-0.5, 0.0]


@pytest.mark.parametrize(
    "state", [[0.0], [0.0, 0.0, 0.0], [np.nan, 0.0], [np.inf, 0.0], [1.01, 0.0], [0.0, -3.01], "ab"]
)
def test_reset_refuses_what_is_no_state(state):
    with pytest.raises(ValueError):
        problems.CarOnTheHill().reset(options={"state": state})


def test_reset_refuses_unknown_options():
    with pytest.raises(ValueError, match="options"):
        problems.CarOnTheHill().reset(options={"start": [0, 0]})


@pytest.mark.parametrize("action", [[1.001], [-1.001], [np.nan], [np.inf], [], [0.0, 0.0], 0.5])
def test_step_refuses_actions_outside_the_box(action):
    env = problems.DoubleIntegrator()
    env.reset()
    with pytest.raises(ValueError, match="action"):
        env.step(action)


def test_step_needs_a_reset_before_and_after_an_episode():
    env = problems.DoubleIntegrator()
    with pytest.raises(ResetNeeded):
        env.step([0.0])
    env.reset()
    _, reward, terminated, _, _ = env.step([1.0])
    assert terminated
    assert reward == -50
    with pytest.raises(ResetNeeded):
        env.step([0.0])


@pytest.mark.parametrize(
    "arguments",
    [{"cart_mass": 0.0}, {"cart_mass": math.nan}, {"max_speed": -1.0}, {"noise": -1.0}, {"noise": math.inf}],
)
def test_pendulum_refuses_impossible_parameters(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        problems.InvertedPendulum(**arguments)


def test_swing_up_names_its_backends():
    with pytest.raises(ValueError, match="equation"):
        problems.SwingUp(backend="bullet")


def test_swing_up_tells_its_angle():
    angles = {id: bare(id).periodic for id in IDS}
    assert angles.pop("policyforest/SwingUp-v0") == {0: (-math.pi, math.pi)}
    assert angles.pop("policyforest/Acrobot-v0") == {0: (-math.pi, math.pi), 1: (-math.pi, math.pi)}
    assert angles.pop("policyforest/CartPoleSwingUp-v0") == {2: (-math.pi, math.pi)}
    assert all(periodic == {} for periodic in angles.values())


def test_observations_are_the_callers_to_keep():
    env = problems.SwingUp()
    first, _ = env.reset()
    first[:] = 0.0
    second, *_ = env.step([0.0])
    assert second[0] == pytest.approx(-math.pi)


@pytest.mark.parametrize("id", IDS)
def test_copies_behave_alike(id):
    problem = bare(id)
    for twin in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        observations = []
        for env in (problem, twin):
            env.reset(seed=1)
            observations.append(env.step(0.5 * env.action_space.low)[0])
        assert np.array_equal(*observations)


@pytest.mark.parametrize("id", IDS)
def test_renders_what_it_shows(id):
    pytest.importorskip("pygame")
    env = gym.make(id, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    assert before.shape == (400, 600, 3)
    assert before.dtype == np.uint8
    assert len(np.unique(before.astype(int) @ [65536, 256, 1])) > 3  # more colours than paper and ink
    env.reset(options={"state": np.full(env.unwrapped.system.n_state, 0.4)})
    assert not np.array_equal(before, env.render())
    env.close()
    env.close()


def test_renders_to_a_window():
    pytest.importorskip("pygame")
    env = gym.make("policyforest/SwingUp-v0", render_mode="human")
    env.reset(seed=0)
    env.step(np.array([1.0]))
    env.close()


def test_refuses_unknown_render_modes():
    with pytest.raises(ValueError, match="render_mode"):
        problems.SwingUp(render_mode="ansi")
