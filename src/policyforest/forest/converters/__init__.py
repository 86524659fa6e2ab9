"""Converts forests of other libraries to a `Forest`: the paper states that any regression forest can be used.

A fitted scikit-learn tree or forest gives the same bits as its own `predict`, for every float64 input.
Boosted trees are sums: those of scikit-learn and LightGBM agree to a few roundings of a double, XGBoost's to
the error of its own float32 sum. A model that cannot be represented is an error. The libraries are told apart
by the modules of the model's class, so none is imported needlessly.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest.forest.converters.source_tree import forest_arrays
from policyforest.forest.forest import Forest

# LightGBM's and XGBoost's estimators descend from scikit-learn's, so they come first.
_READERS = {"lightgbm": "lightgbm", "xgboost": "xgboost", "sklearn": "scikit_learn"}


def forest_from_sklearn(model: Any, box: ArrayLike | None = None) -> Forest:
    """The `Forest` that predicts what the fitted `model` does.

    `box`, of shape (inputs, 2), bounds the inputs. Without it the forest is unbounded, and operations that need
    volumes (pruning, the best action) do not work on it.
    """
    arrays, n_inputs = arrays_from_model(model)
    return Forest.from_arrays(**arrays, box=_box(box, n_inputs))


def arrays_from_model(model: Any) -> tuple[dict[str, NDArray[Any]], int]:
    """The node arrays of `Forest.from_arrays`, and the number of inputs, of a fitted `model`."""
    library = _library_of(model)
    reader = import_module(f"{__name__}.{_READERS[library]}")
    trees, n_inputs = reader.source_trees(model)
    return forest_arrays(trees), n_inputs


def _library_of(model: Any) -> str:
    ancestors = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    for library in _READERS:
        if library in ancestors:
            return library
    raise TypeError(
        f"model: {type(model).__name__} is not supported; it must be a fitted tree regressor of "
        "scikit-learn, LightGBM or XGBoost"
    )


def _box(box: ArrayLike | None, n_inputs: int) -> NDArray[np.float64]:
    if box is None:
        return np.tile([-np.inf, np.inf], (n_inputs, 1))
    bounds = np.asarray(box, dtype=np.float64)
    if bounds.shape != (n_inputs, 2):
        raise ValueError(f"box: its shape is {bounds.shape}; it must be ({n_inputs}, 2), one row (lo, hi) per input")
    return bounds
