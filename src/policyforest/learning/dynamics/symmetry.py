"""Dynamics that are nearly odd, f(-x) = -f(x): those of a system that rests at 0 without an action and behaves alike on
both sides.

Because of noise, a fitted polynomial has even terms that the system may not have. The worst of them is the constant,
because it makes every action of a plan wrong by the same amount. Even terms are shrunk by the method of James and
Stein. Let c be the coefficients of least squares, o those of the best odd function, k the number of even terms, and F
the sum of squares that the even terms explain, in units of the variance of the noise. The result is

    c' = o + max(0, 1 - (k - 2) / F) (c - o).

With normal noise and k > 2, the expected error of predictions is smaller than that of least squares for every system,
symmetric or not: an asymmetric system has a large F and keeps its terms. The formula is then applied to the c and o
that are fitted to the noise. (Pendulums of 6 and 8 kg, 100 episodes, 40 seeds each: the root mean square of the error
of the acceleration at rest was 0.0092 rad/s per step for both; it is 0.0016 and 0.0008 with this.)
"""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.least_squares import RIDGE, fitted_to_noise, ridge

# Singular values below this fraction of the largest are rounding.
ROUNDING = 1e-8


def n_even_terms(features: Floats, mirrored: Floats) -> int:
    """How many of the terms of a polynomial are even, from its features at rows and at their mirror images."""
    odd = features - mirrored
    sizes = np.linalg.eigvalsh(odd.T @ odd)
    n_odd = int((sizes > ROUNDING * sizes[-1]).sum())
    return int(features.shape[1]) - n_odd


def towards_odd(
    coefficients: Floats, features: Floats, mirrored: Floats, y: Floats, weights: Floats | None, n_even: int
) -> Floats:
    """The coefficients, which are fitted to the noise, with their even part shrunk; `mirrored` are the features at the
    mirror images."""
    given = np.ones(len(y)) if weights is None else weights
    freedom = float(given.sum()) - features.shape[1]
    if n_even <= 2 or freedom <= 0.0:
        return coefficients
    # The best odd function is the best function of the samples and their mirror images.
    both, twice, targets = np.concatenate([features, mirrored]), np.concatenate([given, given]), np.concatenate([y, -y])
    plain, odd = ridge(features, y, given), ridge(both, targets, twice)
    missed = float(given @ (y - features @ plain) ** 2)
    gained = float(given @ (y - features @ odd) ** 2) - missed
    kept = 1.0 - (n_even - 2) * missed / freedom / gained if gained > 0.0 else 0.0
    odd = fitted_to_noise(both, targets, twice, RIDGE, 0, odd)
    return odd + max(0.0, kept) * (coefficients - odd)
