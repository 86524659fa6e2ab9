"""The benchmark problems as Gymnasium environments (see `policyforest.environments.problems`)."""

from policyforest.environments.problems import (
    Acrobot,
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
    "Acrobot",
    "CarOnTheHill",
    "CartPoleSwingUp",
    "DoubleIntegrator",
    "InvertedPendulum",
    "NativeProblem",
    "SwingUp",
    "cart_pole_balanced",
    "cart_pole_reward",
]
