"""The tests and intervals behind the verdicts, computed by scipy (the extra "paper") if scipy has them.

Policies of two methods that learned from the same samples are pairs: Wilcoxon's signed-rank test, exact. Intervals of
differences, medians and ratios come from the bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array
from policyforest._support.extras import import_extra
from policyforest.environments.evaluation import interval_half_width

RESAMPLES = 4_000
CONFIDENCE = 0.95
MOST_DIVISIONS = 200_000
FEWEST = 10
"""With fewer values the bootstrap is too narrow, and nothing is decided"""


def scipy_stats() -> Any:
    """The module scipy.stats, which is imported only when it is used, like all extras."""
    return import_extra("scipy.stats", "paper")


def wilcoxon(differences: ArrayLike) -> float:
    """The two-sided p-value of the signed-rank test, exact for any number of ties; zeros are left out.

    Under the null hypothesis, each rank has either sign with probability 1/2. The distribution of the sum of the
    positive ranks is therefore given by a product of polynomials, (1 + x^r) / 2 for each rank r. Ranks are doubled so
    that they are whole numbers.

    scipy's exact test assumes that there are no ties. For the steps of the car, which are whole numbers and have ties,
    it is off by 8%."""
    d = finite_array("differences", differences, 1)
    d = d[d != 0.0]
    if not len(d):
        return 1.0
    doubled = np.round(2 * scipy_stats().rankdata(np.abs(d))).astype(np.int64)
    total = int(doubled.sum())
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for r in doubled:
        shifted = np.zeros_like(chances)
        shifted[r:] = chances[: total + 1 - r]
        chances = (chances + shifted) / 2
    seen = int(doubled[d > 0].sum())
    return float(min(1.0, 2 * min(chances[: seen + 1].sum(), chances[seen:].sum())))


def rank_direction(differences: ArrayLike) -> float:
    """The effect size of the signed-rank test: the rank-biserial correlation, which scipy does not have.

    It is the sum of the positive ranks minus the sum of the negative ranks, divided by the sum of all of them."""
    d = finite_array("differences", differences, 1)
    d = d[d != 0.0]
    if not len(d):
        return 0.0
    signed = np.sign(d) * scipy_stats().rankdata(np.abs(d))
    return float(signed.sum() / np.abs(signed).sum())


def permutation(a: ArrayLike, b: ArrayLike) -> float:
    """The two-sided p-value of the difference of two means, by an exact permutation test.

    The p-value is the share of all ways to divide the values into groups of these sizes for which the means are at
    least as far apart. The test tries all of these ways, so it is for few values only.

    scipy's test refuses a group of one value."""
    one, other = finite_array("a", a, 1), finite_array("b", b, 1)
    pooled, n = np.concatenate([one, other]), len(one)
    if math.comb(len(pooled), n) > MOST_DIVISIONS:
        raise ValueError(f"a, b: have {n} and {len(other)} values, too many to divide them in all ways")
    sums = np.array([pooled[list(chosen)].sum() for chosen in combinations(range(len(pooled)), n)])
    apart = np.abs(sums / n - (pooled.sum() - sums) / len(other))
    return float(np.mean(apart >= apart[0] - 1e-12 * np.abs(pooled).max()))


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """The 95% interval of a mean.

    It is a bootstrap interval, which follows skewed returns, or Student's t interval for fewer than ten values. For one
    value, both ends are that value."""
    x = finite_array("values", values, 1)
    if len(x) >= FEWEST:
        return bootstrap(x)
    half = interval_half_width(x) if len(x) > 1 else 0.0
    return float(x.mean() - half), float(x.mean() + half)


def share_interval(hits: int, n: int) -> tuple[float, float]:
    """The exact 95% interval of a share (Clopper and Pearson).

    At each end of the interval, one tail of the binomial distribution holds 2.5%."""
    interval = scipy_stats().binomtest(hits, n).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)


def bootstrap(
    values: ArrayLike,
    statistic: Callable[[Floats], float] = lambda rows: float(np.mean(rows)),
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """The percentile interval of a statistic of the rows of `values`; rows are drawn with replacement."""
    rows = np.asarray(values, dtype=np.float64)
    if len(rows) == 0:
        raise ValueError("values: has no rows, must have at least one")
    if len(rows) == 1:
        return statistic(rows), statistic(rows)
    resampled = scipy_stats().bootstrap(
        (np.arange(len(rows)),),
        lambda drawn: statistic(rows[drawn]),
        n_resamples=RESAMPLES,
        vectorized=False,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    interval = resampled.confidence_interval
    return float(interval.low), float(interval.high)
