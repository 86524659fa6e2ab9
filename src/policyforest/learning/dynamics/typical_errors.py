"""Typical errors of a model: those of most samples, which a few exceptions do not change.

Where a few samples break a law, at a stop, a wall or a limit, they dominate the mean of the squared errors: a model
that misses all other samples by a hundredth of what another one does can seem as good.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from policyforest._support.arguments import Floats

# Errors of a model below this fraction of the variance hardly matter; errors of a polynomial above it are noise.
# (Pendulum-v1 and Car on the Hill: 0.0009 at most. Pendulums of 6 and 8 kg with random forces: 0.01 and more; there a
# plan on a grid is no better than a Fitted Policy Forest.)
QUIET = 3e-3
# The standard deviation of a normal distribution, divided by the median size of its numbers.
NORMAL = 1.4826


# An error below this fraction of the numbers themselves is rounding.
ROUNDING = 1e-6


def typical(missed: Floats, judged: Floats | None = None) -> float:
    """The typical error, that of most samples; `judged` is the weight of each sample. A mean error could be dominated
    by one held-out episode far from all others, and hide that a Gaussian process misses the others by only a
    hundredth."""
    sizes = np.abs(missed)
    if judged is None or np.ptp(judged) == 0.0:
        return float(np.median(sizes))
    order = np.argsort(sizes, kind="stable")
    counted = np.cumsum(judged[order])
    return float(sizes[order][np.searchsorted(counted, counted[-1] / 2.0)])


def hardly_noisy(outputs: Iterable[tuple[float, Floats]]) -> bool:
    """Whether typical errors are below `QUIET` of the variance, for outputs of (typical error, true numbers). Noise is
    in every sample and shows in the median of the errors; the errors at a stop, which few samples meet, do not."""
    return all(
        NORMAL * error <= max(np.sqrt(QUIET) * float(y.std()), ROUNDING * float(np.abs(y).max(initial=0.0)))
        for error, y in outputs
    )
