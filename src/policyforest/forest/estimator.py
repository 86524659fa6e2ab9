"""The improved Extra-Trees of the paper as a scikit-learn estimator.

`ForestRegressor` is a thin wrapper around `grow_forest`: it checks its inputs as scikit-learn's estimators do, gives
parameters that scikit-learn also has the same meaning as there, and keeps the `Forest` in `forest_`.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest._support.extras import import_extra
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.forest.growth_rules import LeafModel, Score

base = import_extra("sklearn.base", "sklearn")
utils = import_extra("sklearn.utils", "sklearn")
validation = import_extra("sklearn.utils.validation", "sklearn")

__all__ = ["ForestRegressor"]


class ForestRegressor(base.RegressorMixin, base.BaseEstimator):  # type: ignore[misc, name-defined]  # no types
    """A forest of Extra-Trees with constant or linear leaves.

    Args:
        n_estimators: M, the number of trees.
        max_features: k, the number of distinct dimensions tried at a node. A float is a share of the inputs; "sqrt" and
            "log2" are functions of their number; None means all of them.
        min_samples_leaf: n_min, the fewest samples of a leaf; a float is a share of the samples. None: 1 for constant
            leaves, as in `ExtraTreesRegressor` (no other value makes a weight of two equal to a repeated sample), and
            the parameter-free rule of `grow_forest` for linear ones.
        min_variance: V_min; a node whose residual variance is below it is a leaf.
        leaf_model: "constant" or "linear".
        split_score: Splits are chosen by the variance of y (None), of "asinh" of y, or of a function of y. This
            parameter is `score` of `grow_forest`, a name that scikit-learn's estimators use for a method.
        random_state: The seed, or a generator that draws one.
        n_jobs: The number of threads: None is 1, -1 all cores. Results do not depend on it.

    Attributes:
        forest_ (Forest): The grown forest, for operations that scikit-learn's estimators do not have.
        n_features_in_ (int): The number of inputs.
        feature_names_in_ (ndarray of str): The column names of X, if it had any.
    """

    def __init__(
        self,
        n_estimators: int = 25,
        max_features: int | float | str | None = None,
        min_samples_leaf: int | float | None = None,
        min_variance: float = 0.0,
        leaf_model: LeafModel = "constant",
        split_score: Score = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.min_variance = min_variance
        self.leaf_model = leaf_model
        self.split_score = split_score
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest; samples of weight zero count as absent."""
        rows, targets = validation.validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        # The default weights are 1: with them the same random numbers are drawn as with any other weights, so that a
        # weight of two gives the same bits as a repeated sample.
        sample_weight = validation._check_sample_weight(sample_weight, rows, dtype=np.float64)
        n_samples, n_inputs = rows.shape
        self.forest_: Forest = grow_forest(
            rows,
            targets,
            n_estimators=self.n_estimators,
            max_features=_n_features(self.max_features, n_inputs),
            min_samples_leaf=_n_min(self.min_samples_leaf, n_samples, self.leaf_model),
            min_variance=self.min_variance,
            leaf_model=self.leaf_model,
            sample_weight=sample_weight,
            score=self.split_score,
            random_state=_seed(self.random_state),
            n_jobs=self.n_jobs,
        )
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The mean of the trees at each row of X."""
        validation.check_is_fitted(self)
        rows = validation.validate_data(self, X, dtype=np.float64, reset=False)
        return self.forest_.predict(rows, n_jobs=self.n_jobs)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    """The seed of `grow_forest`: a whole number itself, or a number that a generator draws."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(utils.check_random_state(random_state).randint(2**31 - 1))


def _n_features(max_features: int | float | str | None, n_inputs: int) -> int:
    """k as scikit-learn understands `max_features`."""
    if max_features is None:
        return n_inputs
    if isinstance(max_features, (int, np.integer)):
        return int(max_features)
    if isinstance(max_features, (float, np.floating)) and 0 < max_features <= 1:
        return max(1, int(max_features * n_inputs))
    if isinstance(max_features, str) and max_features in ("sqrt", "log2"):
        return max(1, int(math.sqrt(n_inputs) if max_features == "sqrt" else math.log2(n_inputs)))
    raise ValueError(f"max_features: is {max_features!r}, must be an int, a float in (0, 1], 'sqrt', 'log2' or None")


def _n_min(min_samples_leaf: int | float | None, n_samples: int, leaf_model: str) -> int | None:
    """n_min as scikit-learn understands `min_samples_leaf`; None if `grow_forest` is to choose."""
    if min_samples_leaf is None:
        return 1 if leaf_model == "constant" else None
    if isinstance(min_samples_leaf, (int, np.integer)):
        return int(min_samples_leaf)
    if isinstance(min_samples_leaf, (float, np.floating)) and 0 < min_samples_leaf < 1:
        return math.ceil(min_samples_leaf * n_samples)
    raise ValueError(f"min_samples_leaf: is {min_samples_leaf!r}, must be an int, a float in (0, 1) or None")
