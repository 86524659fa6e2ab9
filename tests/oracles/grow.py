"""The rules of the improved Extra-Trees, checked on a finished tree by walking its samples down again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.linear_leaves import Samples, fit_linear
from policyforest.forest.forest import Forest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """What a tree was grown with."""

    min_samples_leaf: int
    min_variance: float = 0.0
    linear: bool = False
    grid: dict[int, tuple[float, float, int]] | None = None  # input: (lo, hi, steps)


def thresholds_allowed(x: Floats, n_min: int) -> tuple[float, float]:
    """[n_min-th smallest, n_min-th largest): where a threshold may be drawn; empty when lo >= hi."""
    ordered = np.sort(x)
    return float(ordered[n_min - 1]), float(ordered[len(x) - n_min])


def can_split(X: Floats, rules: Rules) -> bool:
    """Whether any input has room for a threshold."""
    for d in range(X.shape[1]):
        lo, hi = thresholds_allowed(X[:, d], rules.min_samples_leaf)
        if rules.grid and d in rules.grid:
            low, high, steps = rules.grid[d]
            values = low + (high - low) * (np.arange(1, steps) / steps)
            if ((values >= lo) & (values < hi)).any():
                return True
        elif lo < hi:
            return True
    return False


def residual_variance(X: Floats, y: Floats, linear: bool) -> float:
    """The variance that the mean, or plain least squares, leaves."""
    if not linear:
        return float(y.var())
    moved = X - X[0]  # exact where values differ in their last bits only
    moved = moved - moved.mean(axis=0)
    spread = np.abs(moved).max(axis=0)
    scale = np.where(spread > 1e-8 * np.abs(X.mean(axis=0)), spread, np.inf)  # else constant, as in the core
    slopes = np.linalg.lstsq(moved / scale, y - y.mean(), rcond=None)[0]
    return float(np.mean((y - y.mean() - (moved / scale) @ slopes) ** 2))


def check_tree(forest: Forest, tree: int, X: Floats, y: Floats, rules: Rules) -> None:
    """Every node of the tree follows the rules, given the samples it was grown on."""
    arrays = forest[tree].arrays
    n_min = rules.min_samples_leaf
    todo = [(0, np.arange(len(y)), np.stack([X.min(axis=0), X.max(axis=0)], axis=1))]
    while todo:
        node, rows, box = todo.pop()
        Xn, yn = X[rows], y[rows]
        feature, split, child = (arrays[name][node] for name in ("feature", "split", "child"))
        variance = residual_variance(Xn, yn, rules.linear)
        scale = max(1.0, float(np.abs(yn).max()))
        settled = np.ptp(yn) == 0 or variance < rules.min_variance or (rules.linear and variance < 1e-12 * yn.var())
        near = abs(variance - rules.min_variance) < 1e-9 * scale**2 or (rules.linear and variance < 1e-10 * scale**2)
        if rules.linear:
            share = fit_linear(Samples(X, y, np.ones(len(y))), rows).bounded(box, y)[1]
            settled = settled and share == 1  # a model that leads too far is no reason to stop
        assert len(rows) >= n_min or node == 0
        if feature < 0:
            assert len(rows) < 2 * n_min or settled or near or not can_split(Xn, rules)
            if not rules.linear:
                np.testing.assert_allclose(split, yn.mean(), rtol=1e-12, atol=1e-12 * scale)
            continue
        lo, hi = thresholds_allowed(Xn[:, feature], n_min)
        assert len(rows) >= 2 * n_min
        assert not settled or near
        assert lo <= split < hi
        lower = Xn[:, feature] <= split
        below, above = box.copy(), box.copy()
        below[feature, 1] = above[feature, 0] = split
        todo += [(child, rows[lower], below), (child + 1, rows[~lower], above)]


def variance_gain(x: Floats, split: float, y: Floats) -> float:
    """How much the variance falls when y is described by one mean on either side of the split."""
    lower = x <= split
    if lower.all() or not lower.any():
        return -np.inf
    within = sum(part.var() * len(part) for part in (y[lower], y[~lower]))
    return float(y.var() - within / len(y))
