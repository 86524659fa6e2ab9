"""Growing forests: improved Extra-Trees (§ Improving Extra-trees) on rows and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import policyforest._core as _core
from policyforest._support.arguments import Floats, box_array, finite_array, moderate, threads
from policyforest.forest.forest import Forest
from policyforest.forest.growth_rules import (
    LeafModel,
    Score,
    check_inside_box,
    growth_rules,
    period_rows,
    score_values,
    weighted,
)

# Inputs, targets and weights.
Samples = tuple[Floats, Floats, Floats | None]


def grow_forest(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_estimators: int = 25,
    max_features: int | None = None,
    min_samples_leaf: int | None = None,
    min_variance: float = 0.0,
    leaf_model: LeafModel = "constant",
    sample_weight: ArrayLike | None = None,
    score: Score = None,
    grid: Mapping[int, int] | None = None,
    periodic: Mapping[int, tuple[float, float]] | None = None,
    box: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = 1,
    first_tree: int = 0,
) -> Forest:
    """Grows improved Extra-Trees (§ Improving Extra-trees) on rows X and targets y.

    Args:
        n_estimators: M, the number of trees.
        max_features: k, the distinct inputs tried at a node; None: all of them.
        min_samples_leaf: n_min, the fewest samples in a leaf; None: ln N for constant leaves, D ln N for linear ones.
        min_variance: V_min; a node is not split if the residual variance of its model is below this.
        leaf_model: "constant" (PWC, the mean) or "linear" (PWL, least squares with a penalty on steep slopes).
        sample_weight: One weight >= 0 per sample; samples of weight 0 count as absent.
        score: Splits are chosen by the variance of y, of "asinh" of y (robust to outliers), or of a function of y.
        grid: {input: number of steps} for inputs whose thresholds lie on a grid (see `Forest.best_action`).
        periodic: {input: (lo, hi)} for angles: both ends are the same point, and each tree cuts the circle elsewhere.
        box: Rows (lo, hi), the domain of the forest, which must contain X; None: the range of X.
        random_state: The seed; the same seed gives the same forest, bit for bit, for any `n_jobs`.
        n_jobs: The number of threads; -1 for all cores.
        first_tree: The number of the first tree's random stream, so that a forest can be grown in blocks.
    """
    return _grow(
        _samples(X, y, sample_weight), box, periodic, score, n_jobs, n_estimators=n_estimators, grid=grid,
        max_features=max_features, min_samples_leaf=min_samples_leaf, min_variance=min_variance,
        leaf_model=leaf_model, random_state=random_state, first_tree=first_tree,
    )  # fmt: skip


def _grow(
    samples: Samples,
    box: ArrayLike | None,
    periodic: Mapping[int, tuple[float, float]] | None,
    score: Score,
    n_jobs: int | None,
    **settings: Any,
) -> Forest:
    rows, targets, weights = samples
    sides = _sides(rows, box)
    rules = growth_rules(len(rows), sides, period_rows(periodic, len(sides), rows), **settings)
    n_threads = threads(n_jobs)
    columns, scores = np.ascontiguousarray(rows.T), score_values(score, targets)
    return Forest(_core.grow_forest(columns, targets, scores, weights, n_threads=n_threads, **rules))


def _samples(X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Samples:
    rows = moderate("X", finite_array("X", X, 2))
    targets = moderate("y", finite_array("y", y, 1))
    if len(rows) != len(targets):
        raise ValueError(f"y: has {len(targets)} values for the {len(rows)} rows of X")
    return (rows, targets, None) if sample_weight is None else weighted(rows, targets, sample_weight)


def _sides(rows: Floats, box: ArrayLike | None) -> Floats:
    if box is None:
        return np.stack([rows.min(axis=0), rows.max(axis=0)], axis=1)
    sides = box_array("box", box, rows.shape[1])
    check_inside_box(rows.T, sides)
    return sides
