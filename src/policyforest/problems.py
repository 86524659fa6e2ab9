"""The benchmark problems as Gymnasium environments (see `policyforest.environments.problems`)."""

from policyforest.environments.problems import (
    CarOnTheHill,
    CartPoleSwingUp,
    DoubleIntegrator,
    InvertedPendulum,
    NativeProblem,
    SwingUp,
    cart_pole_balanced,
    cart_pole_reward,
)

__all__ = [
    "CarOnTheHill",
    "CartPoleSwingUp",
    "DoubleIntegrator",
    "InvertedPendulum",
    "NativeProblem",
    "SwingUp",
    "cart_pole_balanced",
    "cart_pole_reward",
]
