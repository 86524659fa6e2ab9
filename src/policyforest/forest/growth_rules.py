"""The rules by which a forest is grown: checked, with their defaults, and in the form that the native core takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import (
    Floats,
    box_array,
    finite_array,
    moderate,
    one_of,
    real_number,
    seed_number,
    whole_number,
)

LeafModel = Literal["constant", "linear"]
Score = Literal["asinh"] | Callable[[Floats], ArrayLike] | None

# If all weights are smaller than this, they are scaled.
TINY_WEIGHT = 1e-100


def growth_rules(
    n_samples: int,
    box: Floats,
    period: Floats,
    *,
    n_estimators: int,
    max_features: int | None = None,
    min_samples_leaf: int | None = None,
    min_variance: float = 0.0,
    leaf_model: LeafModel = "constant",
    grid: Mapping[int, int] | None = None,
    random_state: int | np.random.Generator | None = 0,
    first_tree: int = 0,
) -> dict[str, Any]:
    """The checked arguments of the core's `grow_forest`, without the samples and the threads."""
    dims = len(box)
    linear = one_of("leaf_model", leaf_model, ("constant", "linear")) == "linear"
    return {
        "box": box,
        "grid": _grid_rows(grid, box),
        "period": period,
        "n_trees": whole_number("n_estimators", n_estimators, at_least=1, at_most=2**20),
        "max_features": dims
        if max_features is None
        else whole_number("max_features", max_features, at_least=1, at_most=dims),
        "min_samples_leaf": default_min_samples_leaf(n_samples, dims, leaf_model)
        if min_samples_leaf is None
        else whole_number("min_samples_leaf", min_samples_leaf, at_least=1, at_most=2**62),
        "min_variance": real_number("min_variance", min_variance, at_least=0.0),
        "linear": linear,
        "seed": seed_number("random_state", random_state),
        "first_tree": whole_number("first_tree", first_tree, at_least=0),
    }


def default_min_samples_leaf(n_samples: int, n_inputs: int, leaf_model: str) -> int:
    """The parameter-free n_min: max(1, ln N) for constant leaves, max(D + 1, D ln N) for linear ones."""
    log = int(np.log(n_samples))
    return max(1, log) if leaf_model == "constant" else max(n_inputs + 1, n_inputs * log)


def period_rows(periodic: Mapping[int, tuple[float, float]] | None, dims: int, rows: Floats | None = None) -> Floats:
    """Rows (lo, hi), one per input, (0, 0) if an input is not periodic; no rows if none is."""
    if not periodic:
        return np.empty((0, 2))
    result = np.zeros((dims, 2))
    for d, sides in periodic.items():
        dim = whole_number("periodic", d, at_least=0, at_most=dims - 1)
        lo, hi = box_array("periodic", [sides])[0]
        if not (np.isfinite([lo, hi]).all() and lo < hi):
            raise ValueError(f"periodic: input {dim} has ({lo}, {hi}), must have two finite ends lo < hi")
        if rows is not None and not ((rows[:, dim] >= lo) & (rows[:, dim] <= hi)).all():
            raise ValueError(f"X: input {dim} is periodic on ({lo}, {hi}) and has values outside; wrap them first")
        result[dim] = lo, hi
    return result


def asinh_score(y: Floats) -> Floats:
    """asinh((y - median) / MAD), MAD the median absolute deviation: linear for most, logarithmic for outliers."""
    centre = np.median(y)
    spread = float(np.median(np.abs(y - centre))) or float(np.std(y)) or 1.0
    return np.arcsinh((y - centre) / spread)


def score_values(score: Score, targets: Floats) -> Floats | None:
    """The values that splits are chosen by instead of the targets; None for the targets."""
    if score is None:
        return None
    if score == "asinh":
        return asinh_score(targets)
    if not callable(score):
        raise ValueError(f"score: is {score!r}, must be None, 'asinh' or a function of y")
    values = moderate("score", finite_array("score", score(targets.copy()), 1))
    if len(values) != len(targets):
        raise ValueError(f"score: returned {len(values)} values for {len(targets)} targets")
    return values


def _grid_rows(grid: Mapping[int, int] | None, box: Floats) -> Floats:
    if not grid:
        return np.empty((0, 3))
    result = np.column_stack([box, np.zeros(len(box))])
    if not isinstance(grid, Mapping):
        raise TypeError(f"grid: is {grid!r}, must map inputs to numbers of steps")
    for d, steps in grid.items():
        dim = whole_number("grid (its input)", d, at_least=0, at_most=len(box) - 1)
        result[dim, 2] = whole_number(f"grid[{dim}] (its steps)", steps, at_least=2, at_most=2**30)
        if not (np.isfinite(box[dim]).all() and box[dim, 0] < box[dim, 1]):
            raise ValueError(f"grid: input {dim} has the box {box[dim].tolist()}, a grid needs a finite box with width")
    return result


def weighted(rows: Floats, targets: Floats, sample_weight: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Rows, targets and weights of the samples that count."""
    weights = moderate("sample_weight", finite_array("sample_weight", sample_weight, 1))
    if len(weights) != len(rows):
        raise ValueError(f"sample_weight: has {len(weights)} values for {len(rows)} samples")
    if weights.min() < 0 or weights.max() == 0:
        raise ValueError("sample_weight: weights must be >= 0 and not all 0")
    kept = weights > 0
    if weights.max() < TINY_WEIGHT:  # a common factor changes nothing, but products of such numbers vanish
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
        kept = weights > 0
    return rows[kept], targets[kept], weights[kept]


def check_inside_box(columns: Iterable[Floats], box: Floats) -> None:
    """Refuses columns of X that leave their side of the box."""
    for d, (column, (lo, hi)) in enumerate(zip(columns, box, strict=True)):
        low, high = column.min(), column.max()
        if low < lo or high > hi:
            raise ValueError(f"X: input {d} has values in [{low}, {high}], outside its box [{lo}, {hi}]")
