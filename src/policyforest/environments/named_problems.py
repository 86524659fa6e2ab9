"""The benchmark problems by their short names, each with its discount: the paper's, if the paper has the problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DISCOUNT = 0.98
"""For problems that have no name here."""


@dataclass(frozen=True)
class NamedProblem:
    """A problem that is known by a short name."""

    id: str
    """The id of the Gymnasium environment"""
    discount: float
    sampling: Literal["episodes", "uniform"] = "episodes"
    """Where the paper takes its samples from: episodes of a random policy, or states and actions drawn uniformly"""


PROBLEMS = {
    "inverted-pendulum": NamedProblem("policyforest/InvertedPendulum-v0", 0.95),
    "inverted-pendulum-6kg": NamedProblem("policyforest/InvertedPendulum6kg-v0", 0.95),
    "double-integrator": NamedProblem("policyforest/DoubleIntegrator-v0", 0.98),
    "car-on-the-hill": NamedProblem("policyforest/CarOnTheHill-v0", 0.95, "uniform"),
    "swing-up": NamedProblem("policyforest/SwingUp-v0", 0.98),
    "cart-pole-swing-up": NamedProblem("policyforest/CartPoleSwingUp-v0", 0.98),
    "acrobot": NamedProblem("policyforest/Acrobot-v0", 0.98),
}


def environment_id(problem: str) -> str:
    """Gymnasium's id of a short name; any other text is taken as an id."""
    return PROBLEMS[problem].id if problem in PROBLEMS else problem


def named_problem(problem: str) -> NamedProblem:
    """The problem of a short name or of an id; a problem without a name here has the default discount."""
    id = environment_id(problem)
    known = {named.id: named for named in PROBLEMS.values()}
    return known.get(id, NamedProblem(id, DISCOUNT))
