"""Linear leaves are those of the plain version, and lead nowhere absurd on data of every awkward kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import policyforest as pf
from oracles.linear_leaves import REACH, Samples, fit_linear, leaves_of

Floats = NDArray[np.float64]

SEEDS = st.integers(0, 2**32)


def awkward_column(kind: str, others: Floats, rng: np.random.Generator) -> Floats:
    n = len(others)
    if kind == "normal":
        return rng.standard_normal(n)
    if kind == "heavy":
        return rng.standard_cauchy(n)
    if kind == "few values":
        return rng.integers(0, 3, n).astype(float)
    if kind == "constant":
        return np.full(n, rng.standard_normal())
    if kind == "nearly constant":
        return 1 + 1e-9 * rng.standard_normal(n)
    if kind == "mostly constant":
        return np.where(rng.random(n) < 0.1, rng.standard_normal(n), 0.5)
    combination: Floats = others @ rng.standard_normal(others.shape[1])
    return combination + (1e-9 * rng.standard_normal(n) if kind == "nearly collinear" else 0.0)


KINDS = [
    "normal",
    "heavy",
    "few values",
    "constant",
    "nearly constant",
    "mostly constant",
    "collinear",
    "nearly collinear",
]


@st.composite
def awkward_samples(draw: st.DrawFn) -> Samples:
    """Duplicated rows, dependent and constant columns, weights, huge and tiny units."""
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(2, 60))
    X = rng.standard_normal((n, 1))
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=4)):
        X = np.column_stack([X, awkward_column(kind, X, rng)])
    if draw(st.booleans()):
        X = X[rng.integers(0, draw(st.integers(1, n)), n)]  # identical inputs, other targets
    y = draw(st.sampled_from([rng.standard_normal(n), X[:, 0] ** 2, np.sign(X[:, -1]), X @ np.ones(X.shape[1])]))
    units = 10.0 ** rng.uniform(-100, 100, X.shape[1] + 1) if draw(st.booleans()) else np.ones(X.shape[1] + 1)
    weights = 10.0 ** rng.uniform(-3, 3, n) if draw(st.booleans()) else np.ones(n)
    return Samples(X * units[:-1], y * units[-1], weights)


def grow(samples: Samples, n_min: int, seed: int = 0, n_estimators: int = 2) -> pf.Forest:
    return pf.grow_forest(
        samples.X, samples.y, sample_weight=samples.weights, min_samples_leaf=n_min, leaf_model="linear",
        n_estimators=n_estimators, random_state=seed,
    )  # fmt: skip


def rounding(model: Floats, X: Floats) -> Floats:
    """What the sum w·x + c can be off by."""
    return 1e-13 * (np.abs(X) @ np.abs(model[:-1]) + abs(model[-1]))


@given(awkward_samples(), st.integers(1, 20), SEEDS)
def test_leaves_are_those_of_the_plain_version(samples: Samples, n_min: int, seed: int) -> None:
    forest = grow(samples, n_min, seed)
    for tree in range(2):
        for rows, box, model in leaves_of(forest, tree, samples.X):
            leaf, _ = fit_linear(samples, rows).bounded(box, samples.y)
            if leaf.doubtful:
                continue
            points = np.vstack([samples.X[rows], box.T])
            found = points @ model[:-1] + model[-1]
            error = np.abs(found - leaf.predict(points))
            assert (error <= 1e-6 * samples.target_spread + 1e3 * rounding(model, points)).all()


@given(awkward_samples(), st.integers(1, 20), SEEDS)
def test_trees_stay_within_ten_ranges_of_the_targets_in_the_box_of_the_data(
    samples: Samples, n_min: int, seed: int
) -> None:
    X, y = samples.X, samples.y
    forest = grow(samples, n_min, seed)
    rng = np.random.default_rng(seed)
    sides = np.stack([X.min(axis=0), X.max(axis=0)])
    points = np.vstack(
        [rng.uniform(*sides, (200, X.shape[1])), rng.choice(2, (50, X.shape[1])) * np.ptp(sides, axis=0) + sides[0]]
    )
    points = np.clip(points, *sides)
    reach = (REACH + 1e-6) * np.ptp(y) + 1e-12 * np.abs(y).max()
    for tree in range(2):
        predicted = forest[tree].predict(points)
        assert predicted.max() <= y.max() + reach
        assert predicted.min() >= y.min() - reach


@given(awkward_samples(), st.integers(1, 20), st.booleans(), SEEDS)
def test_angles_stay_within_ten_ranges_on_the_whole_circle(
    samples: Samples, n_min: int, at_the_seam: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = len(samples.y)
    angles = (rng.normal(1.0, 0.1, n) + 1) % 2 - 1 if at_the_seam else rng.uniform(-1, 1, n)
    X, y = np.column_stack([angles, samples.X]), samples.y
    forest = pf.grow_forest(
        X, y, min_samples_leaf=n_min, leaf_model="linear", n_estimators=2, periodic={0: (-1, 1)},
        box=[(-1, 1), *zip(X[:, 1:].min(axis=0), X[:, 1:].max(axis=0), strict=True)], random_state=seed,
    )  # fmt: skip
    points = np.clip(rng.uniform(*forest.box.T, (200, X.shape[1])), *forest.box.T)
    reach = (REACH + 1e-6) * np.ptp(y) + 1e-12 * np.abs(y).max()
    for tree in range(2):
        predicted = forest[tree].predict(points)
        assert predicted.max() <= y.max() + reach
        assert predicted.min() >= y.min() - reach


@given(st.integers(1, 6), st.integers(1, 8), st.sampled_from(["normal", "uniform"]), SEEDS)
def test_targets_that_are_noise_give_no_wild_slopes(dims: int, copies: int, kind: str, seed: int) -> None:
    """As many samples in a leaf as coefficients, each of them repeated: 99% of predictions near the data are within 3
    ranges of their middle."""
    rng = np.random.default_rng(seed)
    n = 40 * (dims + 1)
    X = rng.standard_normal((n, dims)) if kind == "normal" else rng.random((n, dims))
    X = np.repeat(X, copies, axis=0)
    y = np.repeat(rng.random(n), copies)
    forest = grow(Samples(X, y, np.ones(len(y))), (dims + 1) * copies, seed)
    points = np.clip(X + 0.3 * X.std(axis=0) * rng.standard_normal(X.shape), X.min(axis=0), X.max(axis=0))
    for tree in range(2):
        assert np.quantile(np.abs(forest[tree].predict(points) - 0.5), 0.99) <= 3


@given(awkward_samples(), SEEDS)
def test_whole_weights_are_as_good_as_repeated_samples(samples: Samples, seed: int) -> None:
    X, y = samples.X, samples.y
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), times)
    one = grow(Samples(X, y, times.astype(float)), len(y))
    other = grow(Samples(X[repeated], y[repeated], np.ones(len(repeated))), len(repeated))
    tolerance = 1e-6 * np.ptp(y) + 1e3 * rounding(one.arrays["coefficients"][0], X)
    assert (np.abs(one.predict(X) - other.predict(X)) <= tolerance).all()


@given(st.integers(1, 5), st.integers(30, 400), SEEDS)
def test_exactly_linear_targets_are_reproduced(dims: int, n: int, seed: int) -> None:
    """Within 1 / n² of their spread, where the inputs are drawn independently of each other."""
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-3, 3, dims)
    X = rng.uniform(-1, 1, (n, dims)) * scales
    y = X @ (rng.uniform(0.3, 1, dims) / scales) + 5
    forest = grow(Samples(X, y, np.ones(n)), dims + 1, seed)
    points = rng.uniform(-1, 1, (100, dims)) * scales
    truth = points @ np.linalg.lstsq(np.c_[X, np.ones(n)], y, rcond=None)[0][:-1] + 5
    assert forest.n_leaves == 2
    assert np.abs(forest.predict(points) - truth).max() <= y.std() / n**2


@given(awkward_samples(), st.integers(1, 20))
def test_a_leaf_keeps_the_mean_of_its_targets(samples: Samples, n_min: int) -> None:
    for rows, _, model in leaves_of(grow(samples, n_min), 0, samples.X):
        X, y, weights = samples.X[rows], samples.y[rows], samples.weights[rows]
        predicted = np.average(X @ model[:-1] + model[-1], weights=weights)
        tolerance = 1e-9 * np.abs(samples.y).max() + rounding(model, X).max()
        assert abs(predicted - np.average(y, weights=weights)) <= tolerance


@given(awkward_samples(), st.integers(1, 20))
def test_inputs_that_are_constant_in_the_data_have_no_slope(samples: Samples, n_min: int) -> None:
    constant = np.full((len(samples.y), 2), [3.0, 1e9])
    constant[0, 1] = np.nextafter(1e9, 2e9)
    wider = Samples(np.hstack([samples.X, constant]), samples.y, samples.weights)
    assert (grow(wider, n_min).arrays["coefficients"][:, -3:-1] == 0).all()


@given(awkward_samples(), st.integers(1, 20), st.integers(-40, 40), st.integers(-40, 40), st.integers(-20, 20))
def test_units_do_not_matter(samples: Samples, n_min: int, x_power: int, y_power: int, weight_power: int) -> None:
    """Units that are powers of 4 round nothing, so not a bit of the prediction may change."""
    X, y = samples.X, samples.y
    moved = Samples(X * 4.0**x_power, y * 4.0**y_power, samples.weights * 4.0**weight_power)
    one, other = grow(samples, n_min), grow(moved, n_min)
    for tree in range(2):
        assert (one[tree].predict(X) * 4.0**y_power == other[tree].predict(moved.X)).all()


@pytest.mark.parametrize("problem", ["InvertedPendulum6kg-v0", "InvertedPendulum-v0"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_change_of_a_pendulums_speed_never_explodes(problem: str, seed: int) -> None:
    """All episodes start in the same state, so many leaves know one state only. Plain least squares took 38 to 72
    trees of 100 with leaves of 8 samples beyond 3 ranges of the targets, the worst to 480,000."""
    data = pf.collect(f"policyforest/{problem}", episodes=100, seed=seed)
    living = ~data.terminals
    X = np.hstack([data.states, data.actions])[living]
    y = (data.next_states - data.states)[living, 1]
    noise = 0.3 * X.std(axis=0) * np.random.default_rng(seed).standard_normal((10, *X.shape))
    points = np.clip(X + noise, X.min(axis=0), X.max(axis=0)).reshape(-1, X.shape[1])
    for n_min in (8, 20):
        forest = pf.grow_forest(X, y, leaf_model="linear", n_estimators=100, min_samples_leaf=n_min, random_state=seed)
        worst = [np.abs(forest[tree].predict(points)).max() / np.ptp(y) for tree in range(100)]
        assert max(worst) <= 3
