"""The benchmark problems: their equations against plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import dynamics
from policyforest.environments import problems
from policyforest.environments.problems.swing_up_engine import wrapped_angle

unit = st.floats(-1.0, 1.0)


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
