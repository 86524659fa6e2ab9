"""The names of the dimensions of well-known problems, with their units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Labels:
    """A name for each dimension of the states and of the actions."""

    states: tuple[str, ...]
    actions: tuple[str, ...]


_PENDULUM = Labels(("angle θ (rad)", "speed ω (rad/s)"), ("force f (N)",))

KNOWN = {
    "policyforest/InvertedPendulum": _PENDULUM,
    "policyforest/InvertedPendulum6kg": _PENDULUM,
    "policyforest/DoubleIntegrator": Labels(("position p (m)", "velocity v (m/s)"), ("acceleration a (m/s²)",)),
    "policyforest/CarOnTheHill": Labels(("position p (m)", "speed s (m/s)"), ("force u (N)",)),
    "policyforest/SwingUp": Labels(("angle θ (rad)", "speed ω (rad/s)"), ("torque τ (Nm)",)),
    "policyforest/CartPoleSwingUp": Labels(
        ("position x (m)", "velocity v (m/s)", "angle θ (rad)", "speed ω (rad/s)"), ("force u (N)",)
    ),
    "policyforest/Acrobot": Labels(
        ("angle θ₁ (rad)", "angle θ₂ (rad)", "speed ω₁ (rad/s)", "speed ω₂ (rad/s)"), ("torque τ (Nm)",)
    ),
    "Pendulum": Labels(("cos θ", "sin θ", "speed ω (rad/s)"), ("torque τ (Nm)",)),
    "MountainCarContinuous": Labels(("position", "velocity"), ("force",)),
}


_FORMULA_NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "policyforest/InvertedPendulum": (("theta", "omega"), ("u",)),
    "policyforest/InvertedPendulum6kg": (("theta", "omega"), ("u",)),
    "policyforest/DoubleIntegrator": (("p", "v"), ("u",)),
    "policyforest/CarOnTheHill": (("p", "s"), ("u",)),
    "policyforest/SwingUp": (("theta", "omega"), ("u",)),
    "policyforest/CartPoleSwingUp": (("x", "v", "theta", "omega"), ("u",)),
    "policyforest/Acrobot": (("theta1", "theta2", "omega1", "omega2"), ("u",)),
    "Pendulum": (("cos_theta", "sin_theta", "omega"), ("u",)),
    "MountainCarContinuous": (("p", "v"), ("u",)),
}
"""The names of the dimensions of well-known problems in formulas"""


def formula_names(problem: str, n_states: int, n_actions: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names in formulas of the dimensions of an environment, by its id in any version; empty if the id is
    unknown."""
    states, actions = _FORMULA_NAMES.get(problem.rpartition("-v")[0], ((), ()))
    return (states if len(states) == n_states else ()), (actions if len(actions) == n_actions else ())


STATE_NAMES, ACTION_NAMES = "state_names", "action_names"
"""The keys of a policy's info for the names of the columns that it was learned from"""
LONGEST = 80
# Characters that pages and pictures would read as markup.
MARKUP = frozenset("<>&$")


def labels_of(policy: Any) -> Labels:
    """The labels of a policy: those of its problem, else the columns it was learned from, else numbers."""
    return labels_told(
        policy.info.problem, policy.info.settings, policy.observation_space.shape[0], policy.action_space.shape[0]
    )


def labels_told(problem: str, settings: Mapping[str, Any], n_states: int, n_actions: int) -> Labels:
    """The same from the info of a policy."""
    found = labels_for(problem, n_states, n_actions)
    if found in KNOWN.values():
        return found
    states, actions = _names(settings.get(STATE_NAMES), n_states), _names(settings.get(ACTION_NAMES), n_actions)
    return Labels(states or found.states, actions or found.actions)


def _names(told: object, number: int) -> tuple[str, ...] | None:
    """Names from a file, which may hold anything; None unless all can be shown."""
    if not isinstance(told, list | tuple) or len(told) != number or not all(isinstance(name, str) for name in told):
        return None
    fit = all(0 < len(name) <= LONGEST and name.isprintable() and not MARKUP & set(name) for name in told)
    return tuple(told) if fit else None


def labels_for(problem: str, n_states: int, n_actions: int) -> Labels:
    """The labels of an environment's id in any version; numbered names where it is unknown or has other dimensions."""
    known = KNOWN.get(problem.rpartition("-v")[0])
    if known is not None and (len(known.states), len(known.actions)) == (n_states, n_actions):
        return known
    return Labels(tuple(f"state {d}" for d in range(n_states)), tuple(f"action {d}" for d in range(n_actions)))
