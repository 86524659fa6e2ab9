"""LightGBM's regressors, read from the text that its `Booster` saves itself as.

The text holds the trees as flat arrays with thresholds of 17 digits, which is exact. LightGBM compares
doubles with `<=`, as a Forest does, but first replaces inputs of at most 1e-35 by zero. The side to which
a missing value would go is irrelevant, because `Forest.predict` refuses NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest.forest.converters.fitted import require_fitted
from policyforest.forest.converters.source_tree import SourceTree, leaf_tree, mean_of_sum

# Objectives whose prediction is the plain sum of the trees; others transform it (poisson, gamma, binary …).
_OBJECTIVES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")

# LightGBM's kZeroThreshold, a float32: it predicts from sparse rows, in which smaller inputs do not appear.
_ZERO = float(np.float32(1e-35))

_CATEGORICAL_BIT = 1
_MISSING_TYPE_BITS = 0b1100
_MISSING_IS_ZERO = 0b0100


def source_trees(model: Any) -> tuple[list[SourceTree], int]:
    """The trees whose mean is the fitted LightGBM `model`, and its number of inputs."""
    header, *sections = _booster(model).model_to_string().split("\nend of trees")[0].split("\nTree=")
    fields = _fields(header)
    _require_plain_regression(fields)
    trees = [_tree(_fields(section)) for section in sections]
    n_inputs = int(fields["max_feature_idx"]) + 1
    if "average_output" in fields and trees:  # boosting="rf": the mean already
        return trees, n_inputs
    return mean_of_sum(trees, 0.0), n_inputs


def _booster(model: Any) -> Any:
    import lightgbm

    if isinstance(model, lightgbm.Booster):
        return model
    require_fitted(model, lightgbm.LGBMModel, "LightGBM", "an LGBMRegressor or a Booster")
    return model.booster_


def _fields(section: str) -> dict[str, str]:
    return {key: value for key, _, value in (line.partition("=") for line in section.splitlines())}


def _require_plain_regression(fields: dict[str, str]) -> None:
    objective = fields.get("objective", "custom")
    if objective.split()[0] not in _OBJECTIVES or "sqrt" in objective.split():
        raise ValueError(
            f"model: LightGBM's objective {objective!r} is not supported; it must be one of "
            f"{', '.join(_OBJECTIVES)}, without reg_sqrt"
        )
    if int(fields["num_tree_per_iteration"]) != 1:
        raise ValueError(
            f"model: LightGBM grew {fields['num_tree_per_iteration']} trees per iteration; a Forest has one output"
        )


def _tree(fields: dict[str, str]) -> SourceTree:
    if fields.get("is_linear", "0") != "0":
        raise ValueError("model: LightGBM's linear trees (linear_tree=True) are not supported; leaves must be constant")
    value = _numbers(fields["leaf_value"], np.float64)
    if value.size == 1:
        return leaf_tree(float(value[0]))
    _require_plain_splits(_numbers(fields["decision_type"], np.int64))
    feature = _numbers(fields["split_feature"], np.int64)
    none = np.full(value.size, -1, dtype=np.int64)
    return SourceTree(
        feature=np.concatenate((feature, none)),
        split=np.concatenate((_threshold(_numbers(fields["threshold"], np.float64)), value)),
        left=np.concatenate((_child(_numbers(fields["left_child"], np.int64)), none)),
        right=np.concatenate((_child(_numbers(fields["right_child"], np.int64)), none)),
    )


def _require_plain_splits(decision: NDArray[np.int64]) -> None:
    if np.any(decision & _CATEGORICAL_BIT):
        raise ValueError("model: LightGBM's categorical splits are not supported; all features must be numerical")
    if np.any(decision & _MISSING_TYPE_BITS == _MISSING_IS_ZERO):
        raise ValueError("model: LightGBM's zero_as_missing=True is not supported; zero must be an ordinary number")


def _threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moves a threshold among the inputs that count as zero beyond all of them: they must go to the same side."""
    below, above = np.nextafter(-_ZERO, -np.inf), _ZERO
    moved = np.where(threshold < 0, below, above)
    return np.where(np.abs(threshold) <= _ZERO, moved, threshold)


def _child(child: NDArray[np.int64]) -> NDArray[np.int64]:
    """Node numbers: LightGBM writes leaf j as ~j; here the leaves follow the inner nodes."""
    return np.where(child < 0, child.size + ~child, child)


def _numbers(text: str, dtype: type[Any]) -> NDArray[Any]:
    return np.array(text.split(), dtype=dtype)
