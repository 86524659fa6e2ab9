"""What the dimensions of well-known problems are called, with their units."""

from __future__ import annotations

from dataclasses import dataclass


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
    "Pendulum": Labels(("cos θ", "sin θ", "speed ω (rad/s)"), ("torque τ (Nm)",)),
    "MountainCarContinuous": Labels(("position", "velocity"), ("force",)),
}


def labels_for(problem: str, n_states: int, n_actions: int) -> Labels:
    """The labels of an environment's id in any version; numbered names where it is unknown or has other dimensions."""
    known = KNOWN.get(problem.rpartition("-v")[0])
    if known is not None and (len(known.states), len(known.actions)) == (n_states, n_actions):
        return known
    return Labels(tuple(f"state {d}" for d in range(n_states)), tuple(f"action {d}" for d in range(n_actions)))
