"""Fitted models of other libraries become forests that predict the same, also right at the thresholds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyforest import Forest
from policyforest.forest.converters.float32 import less_equal_threshold, less_threshold

pytest.importorskip("sklearn")
import threadpoolctl
from sklearn import ensemble, linear_model, tree

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

FLOAT32_MAX = float(np.finfo(np.float32).max)
TINY = 2.0**-149  # the smallest positive float32
POSITIVE_EDGES = [0.0, 1e-300, 2.0**-150, TINY, 2.0**-126, 0.1, 1.0, np.nextafter(1.0, 2.0), 1 + 2.0**-24]
POSITIVE_EDGES += [FLOAT32_MAX, FLOAT32_MAX * (1 + 2.0**-25), 1e39]
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """The models are tiny: on a busy machine the threads of OpenMP would mostly wait for each other."""
    with threadpoolctl.threadpool_limits(1):
        yield


def neighbours(values: np.ndarray) -> np.ndarray:
    """The doubles and float32s around each value, and the middles between the float32s."""
    values = np.asarray(values, dtype=np.float64).ravel()
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        singles = [rounded]
        for end in (-np.inf, np.inf):
            singles += [np.nextafter(rounded, np.float32(end))]
            singles += [np.nextafter(singles[-1], np.float32(end))]
    doubles = np.stack([values] + [single.astype(np.float64) for single in singles])
    doubles = np.sort(np.clip(doubles, -FLOAT32_MAX * 2, FLOAT32_MAX * 2), axis=0)
    doubles = np.concatenate([doubles, (doubles[:-1] + doubles[1:]) / 2])
    return np.concatenate([doubles, np.nextafter(doubles, -np.inf), np.nextafter(doubles, np.inf)]).T


def assert_decides_alike(threshold: float) -> None:
    double = np.array([threshold])
    x = neighbours(double)[0]
    with np.errstate(over="ignore"):
        x32, single = x.astype(np.float32), double.astype(np.float32)
    np.testing.assert_array_equal(x <= less_equal_threshold(double), x32 <= double)
    if np.isfinite(single[0]):
        np.testing.assert_array_equal(x <= less_threshold(single), x32 < single)


@pytest.mark.parametrize("threshold", POSITIVE_EDGES + [-edge for edge in POSITIVE_EDGES])
def test_float32_comparisons_are_reproduced_at_the_edges_of_the_range(threshold: float) -> None:
    assert_decides_alike(threshold)


@given(st.one_of(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(-1e39, 1e39)))
def test_float32_comparisons_are_reproduced(threshold: float) -> None:
    assert_decides_alike(threshold)


def samples(seed: int, n: int = 60, inputs: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Some columns of few values, some tiny, some large, none centred."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, inputs)) * 10.0 ** rng.integers(-6, 7, size=inputs) + rng.normal(size=inputs)
    X[:, 0] = np.round(X[:, 0], 1) if rng.integers(2) else X[:, 0]
    return X, X @ rng.normal(size=inputs) / np.abs(X).max() + rng.normal(size=n) + rng.normal()


def probes(thresholds: np.ndarray, features: np.ndarray, X: np.ndarray, seed: int) -> np.ndarray:
    """Rows of X with one input put on or beside a threshold of the trees."""
    rng = np.random.default_rng(seed)
    near = neighbours(thresholds)
    rows = X[rng.integers(len(X), size=near.size)].copy()
    rows[np.arange(near.size), np.repeat(features, near.shape[1])] = near.ravel()
    return np.concatenate([X, rows])


def forest_probes(forest: Forest, X: np.ndarray, seed: int) -> np.ndarray:
    feature, split = forest.arrays["feature"], forest.arrays["split"]
    inner = np.flatnonzero(feature >= 0)
    inner = np.random.default_rng(seed).choice(inner, size=min(inner.size, 20), replace=False)
    return probes(split[inner], feature[inner], X, seed)


EXACT = [
    tree.DecisionTreeRegressor,
    tree.ExtraTreeRegressor,
    ensemble.RandomForestRegressor,
    ensemble.ExtraTreesRegressor,
]


@given(st.sampled_from(EXACT), SEEDS, st.integers(1, 7), st.sampled_from([None, 1, 3]))
def test_scikit_learns_trees_and_forests_give_the_same_bits(
    kind: Any, seed: int, n_estimators: int, max_depth: int | None
) -> None:
    X, y = samples(seed)
    options = {"n_estimators": n_estimators} if issubclass(kind, ensemble.BaseEnsemble) else {}
    model = kind(random_state=seed % 1000, max_depth=max_depth, **options).fit(X, y)
    forest = Forest.from_sklearn(model)
    points = forest_probes(forest, X, seed)
    assert forest.n_inputs == X.shape[1]
    np.testing.assert_array_equal(forest.predict(points), model.predict(points), strict=True)


def test_inputs_that_round_to_float32_are_followed_through_the_original_thresholds() -> None:
    X, y = samples(3, n=400)
    model = ensemble.ExtraTreesRegressor(n_estimators=5, random_state=0).fit(X, y)
    trees = [estimator.tree_ for estimator in model.estimators_]
    feature = np.concatenate([t.feature for t in trees])
    threshold = np.concatenate([t.threshold for t in trees])
    inner = feature >= 0
    points = probes(threshold[inner], feature[inner], X, seed=0)
    np.testing.assert_array_equal(Forest.from_sklearn(model).predict(points), model.predict(points))


BOOSTED = [
    ensemble.GradientBoostingRegressor(n_estimators=7),
    ensemble.GradientBoostingRegressor(n_estimators=3, init="zero", loss="huber"),
    ensemble.HistGradientBoostingRegressor(max_iter=7, min_samples_leaf=5),
    ensemble.HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5, loss="absolute_error"),
]


@pytest.mark.parametrize("model", BOOSTED, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("seed", range(5))
def test_scikit_learns_boosted_trees_agree_to_rounding(model: Any, seed: int) -> None:
    X, y = samples(seed, n=200)
    model.fit(X, y)
    forest = Forest.from_sklearn(model)
    points = forest_probes(forest, X, seed)
    np.testing.assert_allclose(forest.predict(points), model.predict(points), rtol=0, atol=1e-12)


def test_splits_of_missing_values_do_not_disturb_the_numbers() -> None:
    X, y = samples(0, n=300)
    with_gaps = X.copy()
    with_gaps[::3, 1] = np.nan
    y += 50 * np.isnan(with_gaps[:, 1])
    model = ensemble.HistGradientBoostingRegressor(max_iter=5).fit(with_gaps, y)
    assert any(np.isinf(p[0].nodes["num_threshold"]).any() for p in model._predictors)
    np.testing.assert_allclose(Forest.from_sklearn(model).predict(X), model.predict(X), rtol=0, atol=1e-12)


LIGHTGBM = [
    {},
    {"boosting_type": "dart"},
    {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
    {"objective": "huber"},
    {"min_child_samples": 1000},
]


def lgbm(**options: Any) -> Any:
    defaults = {"n_estimators": 5, "min_child_samples": 3, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMRegressor(**(defaults | options))


@given(st.sampled_from(LIGHTGBM), SEEDS, st.booleans())
def test_lightgbm_agrees(options: dict[str, Any], seed: int, as_booster: bool) -> None:
    X, y = samples(seed)
    fitted = lgbm(**options).fit(X, y)
    forest = Forest.from_sklearn(fitted.booster_ if as_booster else fitted)
    points = forest_probes(forest, X, seed)
    np.testing.assert_allclose(forest.predict(points), fitted.booster_.predict(points), rtol=0, atol=1e-12)


def leaves_that_xgboost_picks(booster: Any, X: np.ndarray) -> np.ndarray:
    """XGBoost's prediction with its leaves added up in float64."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    trees = learner["gradient_booster"]["model"]["trees"]
    picked = booster.predict(xgboost.DMatrix(X, nthread=1), pred_leaf=True).astype(int).reshape(len(X), len(trees))
    base = np.float32(np.ravel(json.loads(learner["learner_model_param"]["base_score"]))[0])
    values = [np.array(t["split_conditions"], np.float32)[picked[:, k]] for k, t in enumerate(trees)]
    return float(base) + np.sum(np.array(values, dtype=np.float64), axis=0)


@given(st.sampled_from(["hist", "exact"]), SEEDS, st.booleans())
def test_xgboost_agrees(method: str, seed: int, as_booster: bool) -> None:
    X, y = samples(seed)
    fitted = xgboost.XGBRegressor(n_estimators=5, max_depth=4, tree_method=method, n_jobs=1).fit(X, y)
    forest = Forest.from_sklearn(fitted.get_booster() if as_booster else fitted)
    points = forest_probes(forest, X, seed)
    found = forest.predict(points)
    exact = leaves_that_xgboost_picks(fitted.get_booster(), points)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)
    scale = max(1.0, np.abs(found).max())
    np.testing.assert_allclose(found, fitted.predict(points), rtol=0, atol=1e-6 * scale)


def test_models_that_stopped_early_use_their_best_iterations() -> None:
    X, y = samples(0, n=300)
    light = lightgbm.train(
        {"learning_rate": 0.5, "verbose": -1},
        lightgbm.Dataset(X[:200], y[:200]),
        num_boost_round=200,
        valid_sets=[lightgbm.Dataset(X[200:], y[200:])],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    extreme = xgboost.XGBRegressor(n_estimators=200, learning_rate=0.5, early_stopping_rounds=3)
    extreme.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert len(Forest.from_sklearn(light)) == light.best_iteration < 200
    assert len(Forest.from_sklearn(extreme)) == extreme.best_iteration + 1 < 200
    for model in (light, extreme):
        found = Forest.from_sklearn(model).predict(X)
        np.testing.assert_allclose(found, model.predict(X), rtol=1e-6, atol=1e-6)


def test_a_boosted_model_without_trees_is_its_base_score() -> None:
    X, y = samples(0)
    model = xgboost.XGBRegressor(n_estimators=0, base_score=2.5).fit(X, y)
    assert set(Forest.from_sklearn(model).predict(X)) == {2.5}


def unsupported() -> list[tuple[str, type[Exception], Any]]:
    X, y = samples(0, n=200)
    two, positive, classes = np.c_[y, y], np.abs(y) + 1, (y > 0).astype(int)
    zeros, colours = np.where(np.abs(X) < 1, 0.0, X), np.c_[np.arange(200) % 9, X]
    bright = y + 10 * (colours[:, 0] % 2)
    gradient, hist = ensemble.GradientBoostingRegressor, ensemble.HistGradientBoostingRegressor
    extreme = xgboost.XGBRegressor
    with_colours = {"enable_categorical": True, "feature_types": ["c", "q", "q", "q"]}
    return [
        ("int", TypeError, 3),
        ("Ridge", TypeError, linear_model.Ridge().fit(X, y)),
        ("ExtraTreesClassifier", TypeError, ensemble.ExtraTreesClassifier(3).fit(X, classes)),
        ("not fitted", ValueError, ensemble.ExtraTreesRegressor()),
        ("not fitted", ValueError, hist()),
        ("2 outputs", ValueError, ensemble.RandomForestRegressor(3).fit(X, two)),
        ("init", ValueError, gradient(n_estimators=3, init=linear_model.Ridge()).fit(X, y)),
        ("poisson", ValueError, hist(max_iter=3, loss="poisson").fit(X, positive)),
        ("categorical", ValueError, hist(max_iter=3, categorical_features=[0]).fit(colours, bright)),
        ("not fitted", ValueError, lgbm()),
        ("Dataset", TypeError, lightgbm.Dataset(X)),
        ("binary", ValueError, lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, classes)),
        ("poisson", ValueError, lgbm(objective="poisson").fit(X, positive)),
        ("sqrt", ValueError, lgbm(reg_sqrt=True).fit(X, y)),
        ("custom", ValueError, lgbm(objective=lambda t, p: (p - t, np.ones_like(t))).fit(X, y)),
        ("linear_tree", ValueError, lgbm(linear_tree=True).fit(X, y)),
        ("zero_as_missing", ValueError, lgbm(zero_as_missing=True).fit(zeros, y)),
        ("categorical", ValueError, lgbm(categorical_feature=[0], min_data_per_group=5).fit(colours, bright)),
        ("not fitted", ValueError, extreme()),
        ("DMatrix", TypeError, xgboost.DMatrix(X)),
        ("binary:logistic", ValueError, xgboost.XGBClassifier(n_estimators=3).fit(X, classes)),
        ("count:poisson", ValueError, extreme(n_estimators=3, objective="count:poisson").fit(X, positive)),
        ("dart", ValueError, extreme(n_estimators=3, booster="dart").fit(X, y)),
        ("gblinear", ValueError, extreme(n_estimators=3, booster="gblinear").fit(X, y)),
        ("missing", ValueError, extreme(n_estimators=3, missing=0.0).fit(X, y)),
        ("2 outputs", ValueError, extreme(n_estimators=3).fit(X, two)),
        ("categorical", ValueError, extreme(n_estimators=3, **with_colours).fit(colours, bright)),
    ]


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_supported_is_named() -> None:
    for words, error, model in unsupported():
        with pytest.raises(error, match=rf"model: .*{words}"):
            Forest.from_sklearn(model)


def test_the_box_is_given_or_unbounded() -> None:
    X, y = samples(0)
    model = tree.DecisionTreeRegressor(max_depth=2).fit(X, y)
    assert Forest.from_sklearn(model).box.tolist() == [[-np.inf, np.inf]] * 3
    box = np.array([[-1.0, 1.0], [0.0, 2.0], [3.0, 4.0]])
    assert Forest.from_sklearn(model, box=box).box.tolist() == box.tolist()
    with pytest.raises(ValueError, match="box"):
        Forest.from_sklearn(model, box=box[:2])


def test_nothing_is_imported_needlessly() -> None:
    code = (
        "import sys, policyforest.forest.converters\n"
        "try: policyforest.forest.converters.forest_from_sklearn(object())\n"
        "except TypeError: print([m for m in ('sklearn', 'lightgbm', 'xgboost') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
