"""ForestRegressor keeps every promise that scikit-learn asks of an estimator."""

from __future__ import annotations

import importlib
import pickle
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import policyforest as pf
from policyforest.forest.estimator import ForestRegressor


@parametrize_with_checks([ForestRegressor(), ForestRegressor(leaf_model="linear")])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def friedman(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    return X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + rng.normal(size=n) / 2


def test_predicts_what_grow_forest_does() -> None:
    X, y = friedman()
    model = ForestRegressor(n_estimators=7, max_features=2, min_samples_leaf=3, random_state=5).fit(X, y)
    ones = np.ones(len(y))
    forest = pf.grow_forest(
        X, y, n_estimators=7, max_features=2, min_samples_leaf=3, sample_weight=ones, random_state=5
    )
    np.testing.assert_array_equal(model.predict(X), forest.predict(X))
    assert len(model.forest_) == 7


def test_is_as_good_as_extra_trees() -> None:
    X, y = friedman()
    ours = cross_val_score(ForestRegressor(random_state=0), X, y, cv=5).mean()
    theirs = cross_val_score(ExtraTreesRegressor(n_estimators=25, random_state=0), X, y, cv=5).mean()
    assert ours > theirs - 0.02


def test_linear_leaves_take_a_linear_function_exactly() -> None:
    X, _ = friedman()
    y = X @ [1.0, -2.0, 3.0, 0.5] + 4
    model = ForestRegressor(leaf_model="linear", random_state=0).fit(X[:300], y[:300])
    np.testing.assert_allclose(model.predict(X[300:]), y[300:], atol=1e-9)


@pytest.mark.parametrize(
    ("max_features", "k"), [(None, 4), (3, 3), (0.5, 2), (0.01, 1), (1.0, 4), ("sqrt", 2), ("log2", 2)]
)
def test_max_features_has_the_meaning_it_has_in_scikit_learn(max_features: Any, k: int) -> None:
    X, y = friedman(100)
    found = ForestRegressor(max_features=max_features, random_state=0).fit(X, y).predict(X)
    np.testing.assert_array_equal(found, ForestRegressor(max_features=k, random_state=0).fit(X, y).predict(X))


def test_min_samples_leaf_may_be_a_share_of_the_samples() -> None:
    X, y = friedman(100)
    found = ForestRegressor(min_samples_leaf=0.055, random_state=0).fit(X, y).predict(X)
    same = ForestRegressor(min_samples_leaf=6, random_state=0).fit(X, y).predict(X)
    np.testing.assert_array_equal(found, same)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_features", "half"),
        ("max_features", 1.5),
        ("max_features", 5),
        ("max_features", 0),
        ("min_samples_leaf", 0),
        ("min_samples_leaf", 1.0),
        ("min_variance", -1.0),
        ("n_estimators", 0),
        ("leaf_model", "cubic"),
    ],
)
def test_wrong_parameters_are_named(name: str, value: Any) -> None:
    X, y = friedman(50)
    with pytest.raises((ValueError, TypeError), match=name):
        ForestRegressor(**{name: value}).fit(X, y)


def test_random_state_decides_everything_and_the_number_of_threads_nothing() -> None:
    (X, y), (new, _) = friedman(), friedman(seed=1)
    found = [
        ForestRegressor(random_state=seed, n_jobs=jobs).fit(X, y).predict(new)
        for seed, jobs in ((1, None), (1, 2), (1, -1), (2, 1))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert np.any(found[0] != found[3])


def test_samples_of_weight_zero_are_as_if_absent() -> None:
    X, y = friedman()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    weighted = ForestRegressor(random_state=0).fit(X, y, sample_weight=weight)
    kept = ForestRegressor(random_state=0).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(weighted.predict(X), kept.predict(X), rtol=1e-12)


@pytest.mark.parametrize("weight", [np.zeros(50), -np.ones(50)])
def test_weights_that_say_nothing_are_refused(weight: np.ndarray) -> None:
    X, y = friedman(50)
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        ForestRegressor().fit(X, y, sample_weight=weight)


def test_pickles_and_clones() -> None:
    X, y = friedman()
    model = ForestRegressor(n_estimators=3, leaf_model="linear", random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "forest_")


def test_works_inside_scikit_learns_tools() -> None:
    X, y = friedman(100)
    search = GridSearchCV(ForestRegressor(random_state=0), {"min_samples_leaf": [1, 20]}, cv=3).fit(X, y)
    assert search.best_params_ == {"min_samples_leaf": 1}
    two = MultiOutputRegressor(ForestRegressor(n_estimators=3)).fit(X, np.c_[y, -y])
    assert two.predict(X).shape == (100, 2)


@pytest.mark.parametrize("module", ["policyforest.sklearn", "policyforest.forest.estimator"])
def test_without_scikit_learn_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    for name in [module, "policyforest.forest.estimator"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"sklearn is not installed; run `pip install 'policyforest\[sklearn\]'`"):
        importlib.import_module(module)
