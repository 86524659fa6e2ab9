"""The tests behind the verdicts, with numpy alone.

Policies of two methods that learned from the same samples are pairs: Wilcoxon's signed-rank test, exact. Intervals of
differences, medians and ratios come from the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from policyforest.arguments import Floats, finite_array

RESAMPLES = 4_000


def ranks(values: Floats) -> Floats:
    """1, 2, … by size; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Floats = (last - (counts - 1) / 2)[inverse]
    return shared


def wilcoxon(differences: ArrayLike) -> float:
    """The two-sided p-value of the signed-rank test, exact for any number of ties; zeros are left out.

    Under the null hypothesis each rank has either sign with probability 1/2: the distribution of the sum of the
    positive ones is a product of polynomials, (1 + x^r) / 2 for each rank r. Ranks are doubled to be whole."""
    d = finite_array("differences", differences, 1)
    d = d[d != 0.0]
    if not len(d):
        return 1.0
    doubled = np.round(2 * ranks(np.abs(d))).astype(np.int64)
    total = int(doubled.sum())
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for r in doubled:
        shifted = np.zeros_like(chances)
        shifted[r:] = chances[: total + 1 - r]
        chances = (chances + shifted) / 2
    seen = int(doubled[d > 0].sum())
    return float(min(1.0, 2 * min(chances[: seen + 1].sum(), chances[seen:].sum())))


def bootstrap(
    values: ArrayLike, statistic: Callable[[Floats], float] = lambda rows: float(np.mean(rows)), seed: int = 0
) -> tuple[float, float]:
    """The 95% percentile interval of a statistic of the rows of `values`; rows are drawn with replacement."""
    rows = np.asarray(values, dtype=np.float64)
    if len(rows) == 0:
        raise ValueError("values: has no rows, must have at least one")
    generator = np.random.default_rng(seed)
    drawn = [statistic(rows[generator.integers(0, len(rows), len(rows))]) for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)
