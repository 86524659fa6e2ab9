"""Trees, forests and boosted trees of scikit-learn.

Trees and forests give the same bits as the model's own `predict` with one job (with several, scikit-learn
adds the trees in the order in which its threads finish). Boosted trees are sums, which differ by one or two
roundings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest.forest.converters.float32 import less_equal_threshold
from policyforest.forest.converters.source_tree import SourceTree, mean_of_sum

SUPPORTED = (
    "DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor, "
    "GradientBoostingRegressor, HistGradientBoostingRegressor"
)


def source_trees(model: Any) -> tuple[list[SourceTree], int]:
    """The trees whose mean is the fitted scikit-learn `model`, and its number of inputs."""
    from sklearn import ensemble, tree

    name = type(model).__name__
    readers = {
        tree.DecisionTreeRegressor: _single_tree,  # ExtraTreeRegressor is one of these
        ensemble.RandomForestRegressor: _forest,
        ensemble.ExtraTreesRegressor: _forest,
        ensemble.GradientBoostingRegressor: _gradient_boosting,
        ensemble.HistGradientBoostingRegressor: _hist_gradient_boosting,
    }
    reader = next((reader for kind, reader in readers.items() if isinstance(model, kind)), None)
    if reader is None:
        raise TypeError(f"model: {name} is not supported; a model of scikit-learn must be one of {SUPPORTED}")
    _require_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError(
            f"model: this {name} has {model.n_outputs_} outputs; a Forest has one, so fit one model per output"
        )
    return reader(model), int(model.n_features_in_)


def _require_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ValueError(f"model: this {type(model).__name__} is not fitted; call its fit first") from error


def _single_tree(model: Any) -> list[SourceTree]:
    return [_tree(model.tree_)]


def _forest(model: Any) -> list[SourceTree]:
    return [_tree(estimator.tree_) for estimator in model.estimators_]


def _tree(tree: Any, scale: float = 1.0) -> SourceTree:
    """`scale * t(x)`, where t compares float32 inputs with float64 thresholds."""
    left = tree.children_left.astype(np.int64)
    leaf = left < 0
    value = scale * tree.value[:, 0, 0]
    return SourceTree(
        feature=np.where(leaf, -1, tree.feature).astype(np.int64),
        split=np.where(leaf, value, less_equal_threshold(tree.threshold)),
        left=left,
        right=tree.children_right.astype(np.int64),
    )


def _gradient_boosting(model: Any) -> list[SourceTree]:
    rate = float(model.learning_rate)
    trees = [_tree(stage.tree_, scale=rate) for stage in model.estimators_[:, 0]]
    return mean_of_sum(trees, _constant_of(model.init_))


def _constant_of(init: Any) -> float:
    """The constant that boosting starts from."""
    from sklearn.dummy import DummyRegressor

    if isinstance(init, str) and init == "zero":
        return 0.0
    if type(init) is DummyRegressor:
        return float(np.ravel(init.constant_)[0])
    raise ValueError(
        f"model: it starts from init={type(init).__name__}, which is not supported; init must be None or 'zero'"
    )


# Losses whose predictions are the plain sum of the trees; poisson and gamma take its exponential.
_HIST_LOSSES = ("squared_error", "absolute_error", "quantile")


def _hist_gradient_boosting(model: Any) -> list[SourceTree]:
    if model.loss not in _HIST_LOSSES:
        raise ValueError(f"model: loss={model.loss!r} is not supported; it must be one of {', '.join(_HIST_LOSSES)}")
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise ValueError("model: categorical features are not supported; all features must be numerical")
    trees = [_hist_tree(predictors[0].nodes) for predictors in model._predictors]
    return mean_of_sum(trees, float(np.ravel(model._baseline_prediction)[0]))


def _hist_tree(nodes: NDArray[Any]) -> SourceTree:
    """These trees compare float64 with float64, but a split "missing or not" has an infinite threshold.

    No number goes right there, and `Forest.predict` refuses missing values, so such a node is replaced by its
    left child.
    """
    leaf = nodes["is_leaf"].astype(bool)
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    feature = np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64)
    split = np.where(leaf, nodes["value"], nodes["num_threshold"])
    # Parents come before their children, so in reverse order each child has already been replaced.
    for node in np.flatnonzero(~leaf & np.isposinf(split))[::-1]:
        substitute = left[node]
        for array in (feature, split, left, right):
            array[node] = array[substitute]
    return SourceTree(feature=feature, split=split, left=left, right=right)
