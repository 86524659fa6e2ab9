"""XGBoost's regressors, read from the JSON that its `Booster` saves itself as.

XGBoost rounds inputs to float32, sends `x < threshold` left, and adds the leaves up in float32, with one
rounding per tree. A Forest adds the same leaves in float64, which is more exact. The results differ by the
errors of XGBoost: about 1e-6 of the largest prediction for 100 trees, 2e-6 for 500. The side to which a
missing value would go is irrelevant, because `Forest.predict` refuses NaN.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from policyforest.forest.converters.fitted import require_fitted
from policyforest.forest.converters.float32 import less_threshold
from policyforest.forest.converters.source_tree import SourceTree, mean_of_sum

# Objectives whose prediction is the plain sum of the trees; others transform it (logistic, poisson, gamma …).
_OBJECTIVES = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror")


def source_trees(model: Any) -> tuple[list[SourceTree], int]:
    """The trees whose mean is the fitted XGBoost `model`, and its number of inputs."""
    learner = json.loads(bytes(_booster(model).save_raw(raw_format="json")))["learner"]
    _require_plain_regression(learner)
    forest = learner["gradient_booster"]["model"]
    trees = [_tree(tree) for tree in forest["trees"]][: _n_trees(model, forest)]
    parameters = learner["learner_model_param"]
    return mean_of_sum(trees, _base_score(parameters["base_score"])), int(parameters["num_feature"])


def _booster(model: Any) -> Any:
    import xgboost

    if isinstance(model, xgboost.Booster):
        return model
    require_fitted(model, xgboost.XGBModel, "XGBoost", "an XGBRegressor or a Booster")
    if model.missing is not None and not np.isnan(model.missing):
        raise ValueError(f"model: XGBoost's missing={model.missing} is not supported; missing must be NaN")
    return model.get_booster()


def _require_plain_regression(learner: dict[str, Any]) -> None:
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        raise ValueError(f"model: XGBoost's booster {kind!r} is not supported; it must be 'gbtree'")
    objective = learner["objective"]["name"]
    if objective not in _OBJECTIVES:
        raise ValueError(
            f"model: XGBoost's objective {objective!r} is not supported; it must be one of {', '.join(_OBJECTIVES)}"
        )
    targets = int(learner["learner_model_param"].get("num_target", "1"))
    if targets != 1:
        raise ValueError(
            f"model: this XGBoost model has {targets} outputs; a Forest has one, so fit one model per output"
        )


def _n_trees(model: Any, forest: dict[str, Any]) -> int:
    """After early stopping an XGBRegressor (not a Booster) predicts with its best iterations alone."""
    best = getattr(model, "best_iteration", None) if hasattr(model, "get_booster") else None
    if best is None:
        return len(forest["trees"])
    return (int(best) + 1) * int(forest["gbtree_model_param"]["num_parallel_tree"])


def _base_score(text: str) -> float:
    """The base score from its text, a list since version 3.1. Only as a float32 does it have the exact value."""
    return float(np.ravel(json.loads(text)).astype(np.float32)[0])


def _tree(tree: dict[str, Any]) -> SourceTree:
    if any(tree["split_type"]):
        raise ValueError("model: XGBoost's categorical splits are not supported; all features must be numerical")
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise ValueError("model: XGBoost's multi-output trees are not supported; a Forest has one output")
    left = np.array(tree["left_children"], dtype=np.int64)
    leaf = left < 0
    condition = np.array(tree["split_conditions"], dtype=np.float32)
    return SourceTree(
        feature=np.where(leaf, -1, np.array(tree["split_indices"], dtype=np.int64)),
        split=np.where(leaf, condition.astype(np.float64), less_threshold(condition)),
        left=left,
        right=np.array(tree["right_children"], dtype=np.int64),
    )
