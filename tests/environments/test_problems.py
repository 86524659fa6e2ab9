"""The benchmark problems: their equations against plain loops, and Gymnasium's rules."""

import copy
import math
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from oracles import dynamics
from policyforest.environments import problems
from policyforest.environments.problems.swing_up_engine import wrapped_angle

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
unit = st.floats(-1.0, 1.0)


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def bare(id):
    return gym.make(id).unwrapped


def native_step(problem, state, action, noise=()):
    next_states, rewards, terminals = problem.system.step_many(
        np.array([state]), np.array([[action]]), np.array([noise], dtype=float)
    )
    return tuple(next_states[0]), rewards[0], bool(terminals[0])


def assert_same_step(native, plain):
    assert native[0] == pytest.approx(plain[0], rel=1e-11, abs=1e-11)
    assert native[1] == pytest.approx(plain[1], rel=1e-11, abs=1e-11)
    assert native[2] == plain[2]


@given(unit, st.floats(-8, 8), st.floats(-50, 50), st.floats(-10, 10))
def test_pendulum_follows_its_equation(x, omega, force, noise):
    theta = x * math.pi / 2
    plain = dynamics.inverted_pendulum(theta, omega, force, noise)
    assert_same_step(native_step(problems.InvertedPendulum(), (theta, omega), force, (noise,)), plain)
    plain = dynamics.inverted_pendulum(theta, omega, force, noise, 6.0, 2.0)
    assert_same_step(
        native_step(problems.InvertedPendulum(cart_mass=6.0, max_speed=2.0), (theta, omega), force, (noise,)),
        plain,
    )


@given(unit, unit, unit)
def test_double_integrator_follows_its_equation(p, v, a):
    assert_same_step(native_step(problems.DoubleIntegrator(), (p, v), a), dynamics.double_integrator(p, v, a))


@given(unit, st.floats(-3, 3), st.floats(-4, 4))
def test_car_follows_its_equation(p, s, u):
    assert_same_step(native_step(problems.CarOnTheHill(), (p, s), u), dynamics.car_on_the_hill(p, s, u))


@given(unit, st.floats(-10, 10), st.floats(-15, 15))
def test_rod_follows_its_equation(x, omega, torque):
    assert_same_step(native_step(problems.SwingUp(), (3 * x, omega), torque), dynamics.swing_up(3 * x, omega, torque))


def test_rod_agrees_with_mujoco_over_ten_seconds_of_random_torque():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep="0.001" integrator="Euler" gravity="0 0 -9.81"/><worldbody><body>
        <joint name="pivot" type="hinge" axis="0 1 0" damping="0.1" frictionloss="0.1"
               solreffriction="0.002 1" solimpfriction="0.99 0.999 0.001"/>
        <inertial pos="0 0 0.5" mass="5" diaginertia="0.4166666666666667 0.4166666666666667 0.001"/>
        </body></worldbody><actuator><motor joint="pivot"/></actuator></mujoco>"""
    )
    for seed in range(3):
        torques = np.random.default_rng(seed).uniform(-15, 15, 100)
        data = mujoco.MjData(model)
        data.qpos[0] = -math.pi
        state = np.array([-math.pi, 0.0])
        for torque in torques:
            data.ctrl[0] = torque
            mujoco.mj_step(model, data, nstep=100)
            state, _, _ = native_step(problems.SwingUp(), state, torque)
            apart = (state[0] - data.qpos[0] + math.pi) % (2 * math.pi) - math.pi
            assert abs(apart) < 1e-4
            assert abs(state[1] - data.qvel[0]) < 1e-3


def test_rod_loses_energy_when_left_alone():
    state, energy = (1.0, 0.0), dynamics.energy_of_the_rod(1.0, 0.0)
    for _ in range(100):
        state, _, _ = native_step(problems.SwingUp(), state, 0.0)
        # The integrator lets the energy ripple by its step times the speed; what counts is that it goes down.
        assert dynamics.energy_of_the_rod(*state) < energy + 0.1
        energy = min(energy, dynamics.energy_of_the_rod(*state))
    assert energy < 0.0 < dynamics.energy_of_the_rod(1.0, 0.0)


def test_hill_is_drawn_as_it_is_driven():
    from policyforest.environments.problems.car_on_the_hill import hill

    assert all(hill(p) == pytest.approx(dynamics.road(p)) for p in np.linspace(-1.5, 1.5, 61))


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


@pytest.mark.parametrize("turns", [-3, -1, 0, 1, 2])
def test_the_upper_end_of_a_turn_is_its_lower_end(turns):
    """The same rule as the core's swing-up: an angle of the engines lies in [-pi, pi) however it was rounded."""
    upper = math.pi + 2 * math.pi * turns
    assert wrapped_angle(upper) == -math.pi
    for angle in (math.nextafter(upper, -math.inf), upper, math.nextafter(upper, math.inf)):
        assert -math.pi <= wrapped_angle(angle) < math.pi
    assert wrapped_angle(0.5 + 2 * math.pi * turns) == pytest.approx(0.5, abs=1e-14)


@pytest.mark.parametrize("angle", [math.nan, math.inf])
def test_an_angle_that_is_not_finite_is_an_error_and_no_angle(angle):
    with pytest.raises((ValueError, OverflowError)):
        wrapped_angle(angle)
