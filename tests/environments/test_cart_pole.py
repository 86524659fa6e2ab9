"""The cart-pole swing-up: its equations against an ODE solver, what physics demands, its start, reward and success."""

from __future__ import annotations

import math
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from oracles import dynamics
from policyforest import _core
from policyforest.problems import CartPoleSwingUp, cart_pole_balanced, cart_pole_reward

ID = "policyforest/CartPoleSwingUp-v0"
HANGING = [0.0, 0.0, -math.pi, 0.0]
unit = st.floats(-1.0, 1.0)
states = st.tuples(unit, unit, unit, unit).map(lambda s: np.array(s) * [2.0, 3.0, 3.0, 12.0])
forces = st.floats(-10.0, 10.0)


def step(state, force, track=6.0, friction=0.1):
    system = _core.CartPole(track, friction)
    moved, rewards, terminals = system.step_many(np.array([state]), np.array([[force]]), np.zeros((1, 0)))
    return moved[0], float(rewards[0]), bool(terminals[0])


@settings(max_examples=50)
@given(states, forces)
def test_a_step_is_that_of_an_ode_solver(state, force):
    moved, reward, terminal = step(state, force)
    plain, plain_reward, plain_terminal = dynamics.cart_pole(*state, force)
    apart = moved - plain
    apart[2] = (apart[2] + math.pi) % (2 * math.pi) - math.pi
    assert np.abs(apart).max() < 1e-6
    assert reward == pytest.approx(plain_reward, abs=1e-6)
    assert terminal == plain_terminal


@given(states, forces)
def test_left_and_right_are_mirror_images(state, force):
    moved, reward, _ = step(state, force)
    mirrored, mirrored_reward, _ = step(-state, -force)
    np.testing.assert_allclose(np.abs(mirrored), np.abs(moved), atol=1e-12)
    assert mirrored_reward == reward


@given(states, forces, st.floats(-3.0, 3.0))
def test_the_place_on_the_track_does_not_matter(state, force, shift):
    moved, _, _ = step(state, force, track=9.0)
    shifted, _, _ = step(state + [shift, 0, 0, 0], force, track=9.0)
    np.testing.assert_allclose(shifted - [shift, 0, 0, 0], moved, atol=1e-9)


@given(states)
def test_without_friction_and_force_energy_is_kept(state):
    energy = dynamics.energy_of_the_cart_pole(*state)
    for _ in range(20):
        state, _, _ = step(state, 0.0, friction=0.0)
        assert dynamics.energy_of_the_cart_pole(*state) == pytest.approx(energy, abs=1e-5)


@given(states, forces)
def test_the_force_does_the_work_that_it_should(state, force):
    """Energy rises by (u - b v) v, integrated over the step by Simpson's rule."""
    moved, _, _ = step(state, force)
    risen = dynamics.energy_of_the_cart_pole(*moved) - dynamics.energy_of_the_cart_pole(*state)
    speeds = cart_speeds(state, force)
    power = (force - 0.1 * speeds) * speeds
    weights = np.ones(len(power))
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    assert risen == pytest.approx(0.05 / (len(power) - 1) / 3 * float(weights @ power), abs=1e-4)


def cart_speeds(state, force, pieces=40):
    from scipy.integrate import solve_ivp

    m = length = 0.5

    def derivative(t, y):
        _, v, q, w = y
        u, s, c = force - 0.1 * v, math.sin(q), math.cos(q)
        # Lagrange's equations as a linear system, not the published quotients.
        mass = [[2 * m, m * length / 2 * c], [m * length / 2 * c, m * length**2 / 3]]
        push = [u + m * length / 2 * w**2 * s, m * 9.81 * length / 2 * s]
        cart, pole = np.linalg.solve(mass, push)
        return [v, cart, w, pole]

    times = np.linspace(0, 0.05, pieces + 1)
    return solve_ivp(derivative, (0, 0.05), state, t_eval=times, rtol=1e-10, atol=1e-10).y[1]


def test_the_hanging_pole_stays_and_the_upright_one_falls():
    state = np.array(HANGING)
    for _ in range(100):
        state, reward, terminal = step(state, 0.0)
    assert np.abs(state - HANGING).max() < 1e-9
    assert reward == pytest.approx(math.exp(-((math.pi / 3) ** 2)))
    assert not terminal
    assert step([0.0, 0.0, 0.0, 0.0], 0.0)[:2] == (pytest.approx([0.0] * 4), 1.0)
    state = np.array([0.0, 0.0, 0.01, 0.0])
    for _ in range(20):
        state, _, _ = step(state, 0.0)
    assert state[2] > 0.5


def test_pushing_the_cart_to_the_right_leaves_the_pole_behind():
    state, _, _ = step([0.0, 0.0, 0.0, 0.0], 10.0)
    assert state[0] > 0
    assert state[1] > 0
    assert state[2] < 0
    assert state[3] < 0


@pytest.mark.parametrize(
    ("state", "ends"),
    [([5.99, 9.0, 1.0, 0.0], True), ([0.0, 9.9, 1.5, 24.0], True), ([0.0, 0.0, -3.0, 24.9], False), (HANGING, False)],
)
def test_an_episode_ends_past_the_limits(state, ends):
    moved, reward, terminal = step(state, 10.0)
    assert terminal == ends == bool((np.abs(moved) > [6.0, 10.0, 4.0, 25.0]).any())
    assert 0 < reward <= 1


def test_a_short_track_ends_earlier():
    env = gym.make(ID, track=0.5).unwrapped
    assert env.state_limits[0].tolist() == [-0.5, 0.5]
    assert step([0.49, 1.0, 1.0, 0.0], 10.0, track=0.5)[2]
    assert not step([0.49, 1.0, 1.0, 0.0], 10.0)[2]


@pytest.mark.parametrize(
    "arguments",
    [{"track": 0.0}, {"track": math.inf}, {"friction": -0.1}, {"friction": math.nan}, {"start_spread": -0.1}],
)
def test_it_refuses_impossible_parameters(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        CartPoleSwingUp(**arguments)


def test_starts_spread_about_the_hanging_pole():
    env = gym.make(ID)
    starts = np.array([env.reset(seed=seed)[0] for seed in range(400)])
    assert (np.abs(starts[:, 2]) > 3.0).all()  # on both sides of the seam
    assert 100 < (starts[:, 2] > 0).sum() < 300
    apart = starts - HANGING
    apart[:, 2] = (apart[:, 2] + math.pi) % (2 * math.pi) - math.pi
    assert apart.std(axis=0) == pytest.approx(np.full(4, 0.01), rel=0.15)
    assert env.unwrapped.observation_space.contains(starts.min(axis=0))


def test_the_core_and_gymnasiums_loop_start_and_play_alike():
    """A wrapper that is not known makes the loop play."""
    whole = pf.collect(gym.make(ID), episodes=3, seed=5)
    looped = pf.collect(gym.wrappers.TransformReward(gym.make(ID), lambda r: r), episodes=3, seed=5)
    for name in ("states", "actions", "rewards", "next_states"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(looped, name))


def test_the_known_reward_is_that_of_the_system():
    data = pf.collect(gym.make(ID), episodes=5, seed=0)
    known = cart_pole_reward(data.states, data.actions, data.next_states)
    np.testing.assert_allclose(known, data.rewards, rtol=1e-14)
    model = pf.DynamicsForest(n_estimators=2, reward=cart_pole_reward).fit(data)
    assert model.known_reward is cart_pole_reward


def test_balance_is_judged_by_the_last_states_of_an_episode():
    upright = np.zeros((20, 4))
    assert cart_pole_balanced(upright)
    assert not cart_pole_balanced(upright[:9])
    fallen, late = upright.copy(), upright.copy()
    fallen[-1, 2] = math.radians(12.1)
    late[:10, 2] = -math.pi
    assert not cart_pole_balanced(fallen)
    assert cart_pole_balanced(late)
    assert not cart_pole_balanced(late, steps=11)
    far = upright + [0.2, 0, 0, 0]
    assert cart_pole_balanced(far)
    assert not cart_pole_balanced(far, position=0.1)
    assert cart_pole_balanced(upright + [0, 0, 2 * math.pi, 0])
    with pytest.raises(ValueError, match="states"):
        cart_pole_balanced(np.zeros((20, 2)))


def test_longer_episodes_can_be_asked_for():
    data = pf.collect(gym.make(ID, max_episode_steps=100), lambda state: np.zeros(1), episodes=1)
    assert len(data) == 100
    assert not cart_pole_balanced(data.next_states)


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.5])
def test_mujoco_moves_it_alike_over_three_seconds_of_random_force(friction):
    """MuJoCo knows the two bodies and their joints, not our equations, and integrates by the same method."""
    pytest.importorskip("mujoco")
    systems = [gym.make(ID, backend=b, friction=friction).unwrapped.system for b in ("equation", "mujoco")]
    for seed in range(3):
        pushes = np.random.default_rng(seed).uniform(-10, 10, (60, 1))
        ours, theirs = (system.replay(pushes, np.array(HANGING), np.zeros((60, 0))) for system in systems)
        apart = ours[0] - theirs[0]
        apart[:, 2] = (apart[:, 2] + math.pi) % (2 * math.pi) - math.pi
        assert np.abs(apart).max() < 1e-9
        np.testing.assert_allclose(ours[2], theirs[2], atol=1e-9)
        assert ours[3] == theirs[3]


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized:UserWarning")
def test_mujoco_follows_gymnasiums_rules_and_ends_past_the_track():
    pytest.importorskip("mujoco")
    env = gym.make(ID, backend="mujoco", track=0.5)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(options={"state": [0.49, 1.0, 1.0, 0.0]})
    assert env.step(np.array([10.0]))[2]


FRAMES = """
import gymnasium as gym, numpy as np, policyforest
env = gym.make("policyforest/CartPoleSwingUp-v0", backend="mujoco", render_mode="rgb_array")
for x, theta in ((-0.5, -1.5), (0.5, 1.5), (3.0, 1.5)):
    env.reset(options={"state": [x, 0.0, theta, 0.0]})
    frame = env.render().astype(int)
    blue = frame[..., 2] - frame[..., 0] > 60
    dark = frame.sum(axis=-1) < 200
    print(*frame.shape, np.argwhere(blue)[:, 1].mean(), np.argwhere(dark)[:, 1].mean())
env.close()
"""


def test_mujocos_frames_show_the_cart_and_its_pole_where_they_are():
    """In a process of its own: MuJoCo chooses how to render when it is first imported."""
    pytest.importorskip("mujoco")
    done = subprocess.run([sys.executable, "-c", FRAMES], capture_output=True, text=True)
    if done.returncode and "GL" in done.stderr:
        pytest.skip("no off-screen rendering on this machine")
    left, right, far = ([float(number) for number in line.split()] for line in done.stdout.splitlines()[-3:])
    assert left[:3] == [400, 600, 3]
    assert left[4] < left[3] < 250 < 350 < right[3] < right[4]
    assert 300 < far[3] < 600  # the picture follows the cart


def test_a_picture_shows_the_cart_and_follows_it():
    pytest.importorskip("pygame")
    env = gym.make(ID, render_mode="rgb_array")

    def cart(x):
        env.reset(options={"state": [x, 0.0, -3.0, 0.0]})
        frame = env.render().astype(int)
        return np.argwhere((np.abs(frame - [46, 110, 168]) < 3).all(axis=-1))[:, 1].mean()

    assert cart(0.0) == pytest.approx(300, abs=5)
    assert cart(0.4) == pytest.approx(400, abs=5)
    assert cart(-4.0) == cart(-5.0) == pytest.approx(100, abs=5)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend: is 'dart'"):
        gym.make(ID, backend="dart")
