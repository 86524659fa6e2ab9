"""The equations of the benchmark problems as formulas, so that they can be certified, read and stored."""

from __future__ import annotations

import math

from policyforest.certification.equations import Equations
from policyforest.environments.problems.acrobot import Acrobot
from policyforest.environments.problems.car_on_the_hill import CarOnTheHill
from policyforest.environments.problems.cart_pole import CartPoleSwingUp
from policyforest.environments.problems.double_integrator import DoubleIntegrator
from policyforest.environments.problems.inverted_pendulum import InvertedPendulum
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.swing_up import SwingUp
from policyforest.environments.problems.systems import EngineSystem

TURN = (-math.pi, math.pi)


def problem_equations(problem: NativeProblem) -> Equations:
    """The equations of a problem; a ValueError for a problem without equations here, or one that a rigid-body engine
    integrates."""
    if isinstance(problem.system, EngineSystem):
        raise ValueError(f"model: {type(problem).__name__} is integrated by an engine, must have equations")
    match problem:
        case DoubleIntegrator():
            return Equations({"p": "v", "v": "a"}, ("a",), (), "euler", 0.05, 10)
        case InvertedPendulum():
            return _pendulum(problem)
        case CarOnTheHill():
            return _car()
        case SwingUp():
            return _swing_up()
        case CartPoleSwingUp():
            return _cart_pole(problem)
        case Acrobot():
            return _acrobot()
    raise ValueError(f"model: is {type(problem).__name__}, whose equations are not available as formulas")


def _pendulum(problem: InvertedPendulum) -> Equations:
    alpha = 1.0 / (2.0 + problem.cart_mass)
    speed_up = (
        "(g*sin(theta) - alpha_m_l*omega**2*sin(theta)*cos(theta) - alpha*(u + noise)*cos(theta))"
        "/(inertia - alpha_m_l*cos(theta)**2)"
    )
    parameters = {"g": 9.8, "alpha": alpha, "alpha_m_l": alpha * 2.0 * 0.5, "inertia": 4.0 * 0.5 / 3.0}
    return Equations(
        {"theta": "omega", "omega": speed_up}, ("u",), ("noise",), "euler", 1e-3, 100, parameters=parameters
    )


def _car() -> Equations:
    slope = "(2*p + 1 if p < 0 else (1 + 5*p**2)**-1.5)"
    curvature = "(2 if p < 0 else -15*p*(1 + 5*p**2)**-2.5)"
    speed_up = f"(u - 9.81*{slope} - s**2*{slope}*{curvature})/(1 + {slope}**2)"
    return Equations({"p": "s", "s": speed_up}, ("u",), (), "euler", 1e-3, 100)


def _swing_up() -> Equations:
    inertia = 5.0 / 3.0
    damped = inertia + 1e-3 * 0.1
    free = "((inertia*omega + h*(torque + weight*sin(theta)))/damped)"
    after = f"({free} - clip({free}, -rubbed, rubbed))"
    parameters = {"inertia": inertia, "damped": damped, "h": 1e-3, "weight": 5.0 * 9.81 / 2, "rubbed": 1e-4 / damped}
    return Equations(
        {"theta": f"theta + h*{after}", "omega": after},
        ("torque",),
        substeps=100,
        angles={"theta": TURN},
        parameters=parameters,
    )


def _cart_pole(problem: CartPoleSwingUp) -> Equations:
    push, swing, inertia = "(u - b*v)", "(m_l*omega**2*sin(theta))", "(4*mass - 3*m*cos(theta)**2)"
    formulas = {
        "x": "v",
        "v": f"(2*{swing} - 3*m*g*sin(theta)*cos(theta) + 4*{push})/{inertia}",
        "theta": "omega",
        "omega": f"(6*mass*g*sin(theta) - 3*{swing}*cos(theta) - 6*{push}*cos(theta))/(l*{inertia})",
    }
    parameters = {"m": 0.5, "mass": 1.0, "l": 0.5, "m_l": 0.25, "g": 9.81, "b": float(problem.friction)}
    return Equations(formulas, ("u",), (), "runge-kutta", 2.5e-3, 20, angles={"theta": TURN}, parameters=parameters)


def _acrobot() -> Equations:
    """The equations without the clipping of speeds: a state that would be clipped has left all boxes."""
    d1, d2, phi2 = "(3.5 + cos(theta2))", "(1.25 + 0.5*cos(theta2))", "(0.5*g*sin(theta1 + theta2))"
    phi1 = f"(1.5*g*sin(theta1) + {phi2} - 0.5*(omega2**2 + 2*omega1*omega2)*sin(theta2))"
    lower = f"((tau + {d2}/{d1}*{phi1} - 0.5*omega1**2*sin(theta2) - {phi2})/(1.25 - {d2}**2/{d1}))"
    formulas = {"theta1": "omega1", "theta2": "omega2", "omega1": f"-({d2}*{lower} + {phi1})/{d1}", "omega2": lower}
    angles = {"theta1": TURN, "theta2": TURN}
    return Equations(formulas, ("tau",), (), "runge-kutta", 0.2, angles=angles, parameters={"g": 9.8})
