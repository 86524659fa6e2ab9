"""Coefficients by least squares with a small ridge, and by reweighted least squares if noise is not normal."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.linear_systems import solved

RIDGE = 1e-6
# Noise whose kurtosis is at most this is fitted by this power of the residuals; 1.8 is uniform noise, 3 normal noise.
POWERS = ((8.0, 1.95), (4.0, 2.25))
# Residuals count as at most this many standard deviations (uniform noise ends at 1.73); larger ones are errors of the
# model.
LARGEST_RESIDUAL = 1.8
# Reweighted least squares: steps in which the power rises, and steps after that.
STEPS_UP, STEPS_THERE = 13, 20
# The Cauchy loss: its scale, in medians of the residuals, and the steps of its reweighted least squares.
CAUCHY, ROBUST_STEPS = 3.5, 20


def ridge(
    features: Floats, y: Floats, weights: Floats | None = None, shrink: float = RIDGE, n_slopes: int = 0
) -> Floats:
    """Least squares with a ridge that only matters if features are dependent; features after the first `n_slopes` have
    a ridge of their own."""
    if features.shape[1] == 0:
        return np.zeros(0)
    weighted = features if weights is None else features * weights[:, None]
    penalty = np.full(features.shape[1], RIDGE)
    penalty[n_slopes:] = shrink
    penalty[0] = 0.0
    penalty *= len(y) if weights is None else float(weights.sum())
    gram = weighted.T @ features + np.diag(penalty)
    return solved(gram, weighted.T @ y)


def fitted_to_noise(
    features: Floats, y: Floats, weights: Floats | None, shrink: float, n_slopes: int, coefficients: Floats
) -> Floats:
    """Coefficients for noise with bounds, from those of least squares: they minimise the sum of |residual|^p, where p
    follows from the kurtosis of the residuals. The largest values of uniform noise contain more information than its
    squares, so slopes become a third more accurate (pendulum of 6 kg, ten seeds)."""
    missed = y - features @ coefficients
    spread = float(np.mean(missed**2))
    if not spread > 1e-12 * float(np.mean(y**2)):
        return coefficients
    kurtosis = float(np.mean(missed**4)) / spread**2
    power = next((p for p, largest in POWERS if kurtosis <= largest), 2.0)
    given = np.ones(len(y)) if weights is None else weights
    for p in [*np.linspace(2.0, power, STEPS_UP)[1:], *[power] * STEPS_THERE] if power > 2.0 else []:
        missed = np.abs(y - features @ coefficients)
        size = np.minimum(missed / np.sqrt(np.mean(missed**2)) + 1e-3, LARGEST_RESIDUAL)
        step = ridge(features, y, given * size ** (p - 2.0), shrink, n_slopes) - coefficients
        coefficients = coefficients + step / (p - 1.0)
    return coefficients


def fitted_to_most(features: Floats, y: Floats, weights: Floats | None, coefficients: Floats) -> Floats:
    """Coefficients that most samples obey, from those of least squares. Larger residuals count less (the Cauchy loss,
    by reweighted least squares). A stop, a contact or a limit that affects few samples would change the result of least
    squares everywhere; here it changes nothing."""
    given = np.ones(len(y)) if weights is None else weights
    smallest = 1e-9 * float(np.abs(y).mean())
    for _ in range(ROBUST_STEPS):
        missed = np.abs(y - features @ coefficients)
        size = CAUCHY * float(np.median(missed)) + smallest
        if size == 0.0:
            break
        coefficients = ridge(features, y, given / (1.0 + (missed / size) ** 2))
    return coefficients
