"""Linear leaves in plain NumPy: the formulas of `least_squares.hpp`, a leaf at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policyforest.forest.forest import Forest

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

REACH = 10.0
USUAL_SLOPE = 2.0
SMALLEST_DIRECTION = 1e-6
SMALLEST_VARIATION = 1e-100


@dataclass(frozen=True)
class Samples:
    """All samples of a forest, none of them periodic."""

    X: Floats
    y: Floats
    weights: Floats

    @property
    def spreads(self) -> Floats:
        """S: standard deviations of the inputs, 0 where they count as constant."""
        means = np.average(self.X - self.X[0], axis=0, weights=self.weights)
        deviations = _deviation(self.X - self.X[0] - means, self.weights)
        steepest_is_finite = deviations > 1e20 * self.target_spread / np.finfo(float).max
        return np.where(steepest_is_finite & (deviations > 1e-8 * np.abs(self.X[0] + means)), deviations, 0.0)

    @property
    def target_spread(self) -> float:
        return float(_deviation(self.y - np.average(self.y, weights=self.weights), self.weights))


@dataclass(frozen=True)
class Leaf:
    """ybar + w·(x - xbar)."""

    mean: float
    centre: Floats
    slopes: Floats
    doubtful: bool
    """Rounding errors could change the rank, and with it the model"""

    def predict(self, X: Floats) -> Floats:
        return self.mean + (X - self.centre) @ self.slopes

    def bounded(self, box: Floats, y: Floats) -> tuple[Leaf, float]:
        """The leaf with slopes so small that it stays within REACH ranges of y in the box; their part that is left."""
        sides = self.slopes[:, None] * (box - self.centre[:, None])
        up, down = sides.max(axis=1).sum(), -sides.min(axis=1).sum()
        reach = REACH * np.ptp(y)
        share = 1.0
        for way, room in ((up, y.max() - self.mean + reach), (down, self.mean - y.min() + reach)):
            if way > room:
                share = min(share, room / way)
        return Leaf(self.mean, self.centre, share * self.slopes, self.doubtful), share


def fit_linear(samples: Samples, rows: Rows) -> Leaf:
    """The ridge of a leaf that holds these rows of the samples."""
    table, places = np.unique(
        np.column_stack([samples.X, samples.y])[rows], axis=0, return_inverse=True
    )  # repeated samples are one
    X, y = table[:, :-1], table[:, -1]
    weights = np.bincount(places.ravel(), samples.weights[rows])
    weights /= weights.mean()
    centre = X[0] + np.average(X - X[0], axis=0, weights=weights)
    mean = float(y[0] + np.average(y - y[0], weights=weights))
    spreads, spread = samples.spreads, samples.target_spread
    varying = spreads > 0
    slopes = np.zeros(X.shape[1])
    if not varying.any() or spread == 0:
        return Leaf(mean, centre, slopes, False)
    roots = np.sqrt(weights)
    A = roots[:, None] * (X - centre)[:, varying] / spreads[varying]
    b = roots * (y - mean) / spread
    penalty, doubtful = _penalty(A, b)
    if penalty > 0:
        k = A.shape[1]
        stacked = np.vstack([A, np.sqrt(penalty) * np.eye(k)])
        slopes[varying] = np.linalg.lstsq(stacked, np.append(b, np.zeros(k)), rcond=None)[0]
        slopes[varying] *= spread / spreads[varying]
    return Leaf(mean, centre, slopes, doubtful)


def leaves_of(forest: Forest, tree: int, X: Floats) -> Iterator[tuple[Rows, Floats, Floats]]:
    """Of each leaf: the rows of X in it, its part of the data's box, and its (w…, c)."""
    arrays = forest[tree].arrays
    todo = [(0, np.arange(len(X)), np.stack([X.min(axis=0), X.max(axis=0)], axis=1))]
    while todo:
        node, rows, box = todo.pop()
        feature, split, child = (arrays[name][node] for name in ("feature", "split", "child"))
        if feature < 0:
            yield rows, box, arrays["coefficients"][child]
            continue
        lower = X[rows, feature] <= split
        below, above = box.copy(), box.copy()
        below[feature, 1] = above[feature, 0] = split
        todo += [(child, rows[lower], below), (child + 1, rows[~lower], above)]


def _penalty(A: Floats, b: Floats) -> tuple[float, bool]:
    """lambda = sigma² / (2 Y)² in units where all spreads are 1; whether the rank is in doubt."""
    values = np.linalg.svd(A, compute_uv=False)
    if values[0] <= SMALLEST_VARIATION:
        return 0.0, False
    parts = values / values[0]
    rank = int(((parts > SMALLEST_DIRECTION) & (values > SMALLEST_VARIATION)).sum())
    doubtful = bool(((parts > SMALLEST_DIRECTION / 1.01) & (parts < SMALLEST_DIRECTION * 1.01)).any())
    plain = np.linalg.lstsq(A, b, rcond=SMALLEST_DIRECTION)[0]
    m = max(1, len(b) - rank)
    noise = np.sum((b - A @ plain) ** 2) / m + np.mean(b**2) / m**2
    return max(float(noise) / USUAL_SLOPE**2, (SMALLEST_DIRECTION * values[0]) ** 2), doubtful


def _deviation(centred: Floats, weights: Floats) -> Floats:
    unit = np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
    return np.asarray(unit * np.sqrt(np.average((centred / unit) ** 2, axis=0, weights=weights)))
