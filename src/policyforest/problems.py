"""The benchmark problems as Gymnasium environments (see `policyforest.environments.problems`)."""

from policyforest.environments.problems import CarOnTheHill, DoubleIntegrator, InvertedPendulum, NativeProblem, SwingUp

__all__ = ["CarOnTheHill", "DoubleIntegrator", "InvertedPendulum", "NativeProblem", "SwingUp"]
