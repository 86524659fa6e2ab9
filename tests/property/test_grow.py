"""Growing follows the rules of the improved Extra-Trees on random data of every awkward kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import policyforest as pf
from oracles.grow import Rules, check_tree, variance_gain

Floats = NDArray[np.float64]

coarse = st.integers(-4, 4).map(lambda v: v / 2)
fine = st.floats(-1e6, 1e6, allow_subnormal=True)
last_bit = st.integers(0, 6).map(lambda k: 1.0 + k * 2.0**-52)
column_values = st.sampled_from([coarse, fine, last_bit, st.just(3.0)])


@st.composite
def samples(draw: st.DrawFn, max_samples: int = 50) -> tuple[Floats, Floats]:
    """Rows with duplicate points, constant columns and values that differ in their last bit; dyadic targets."""
    n = draw(st.integers(1, max_samples))
    columns = [draw(arrays(np.float64, n, elements=draw(column_values))) for _ in range(draw(st.integers(1, 4)))]
    y = draw(arrays(np.float64, n, elements=draw(st.sampled_from([coarse, st.just(0.25), st.integers(-1000, 0)]))))
    return np.stack(columns, axis=1), y


@given(samples(), st.integers(1, 9), st.sampled_from([0.0, 1e-4, 0.5]), st.integers(0, 2**32), st.data())
def test_constant_leaves_follow_the_rules(
    data: tuple[Floats, Floats], n_min: int, v_min: float, seed: int, more: st.DataObject
) -> None:
    X, y = data
    k = more.draw(st.integers(1, X.shape[1]))
    forest = pf.grow_forest(
        X, y, n_estimators=2, max_features=k, min_samples_leaf=n_min, min_variance=v_min, random_state=seed
    )
    for tree in range(2):
        check_tree(forest, tree, X, y, Rules(n_min, v_min))


@given(samples(max_samples=40), st.integers(1, 12), st.sampled_from([0.0, 1e-3]), st.integers(0, 2**32))
def test_linear_leaves_follow_the_rules(data: tuple[Floats, Floats], n_min: int, v_min: float, seed: int) -> None:
    X, y = data
    forest = pf.grow_forest(
        X,
        y,
        n_estimators=2,
        min_samples_leaf=n_min,
        min_variance=v_min,
        leaf_model="linear",
        random_state=seed,
    )
    for tree in range(2):
        check_tree(forest, tree, X, y, Rules(n_min, v_min, linear=True))


@given(samples(), st.integers(1, 5), st.integers(2, 40), st.integers(0, 2**32))
def test_thresholds_of_a_grid_lie_on_it(data: tuple[Floats, Floats], n_min: int, steps: int, seed: int) -> None:
    X, y = data
    box = np.stack([X.min(axis=0) - 1, X.max(axis=0) + 1], axis=1)
    forest = pf.grow_forest(X, y, n_estimators=2, min_samples_leaf=n_min, grid={0: steps}, box=box, random_state=seed)
    lo, hi = box[0]
    values = lo + (hi - lo) * (np.arange(1, steps) / steps)
    found = forest.arrays["split"][forest.arrays["feature"] == 0]
    assert np.isin(found, values).all()
    for tree in range(2):
        check_tree(forest, tree, X, y, Rules(n_min, grid={0: (lo, hi, steps)}))


@given(st.integers(2, 100), st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32), st.booleans())
def test_the_best_of_all_inputs_is_split(n: int, dims: int, n_min: int, seed: int, scored: bool) -> None:
    """With inputs that are 0 or 1 any threshold of an input is the same split, so the best one is known."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, dims)).astype(float)
    y = rng.integers(-8, 8, n) / 4 - 100.0 * (rng.random(n) < 0.1)
    score = np.arcsinh if scored else None
    z = np.arcsinh(y) if scored else y
    forest = pf.grow_forest(X, y, n_estimators=1, min_samples_leaf=n_min, score=score, random_state=seed)
    check_tree(forest, 0, X, y, Rules(n_min))
    nodes = forest.arrays
    todo = [(0, np.arange(n))]
    while todo:
        node, rows = todo.pop()
        if nodes["feature"][node] < 0:
            continue
        chosen, child = nodes["feature"][node], nodes["child"][node]
        room = [d for d in range(dims) if n_min <= X[rows, d].sum() <= len(rows) - n_min]
        gains = {d: variance_gain(X[rows, d], 0.5, z[rows]) for d in room}
        assert gains[chosen] >= max(gains.values()) - 1e-9 * max(1.0, z[rows].var())
        lower = X[rows, chosen] <= nodes["split"][node]
        todo += [(child, rows[lower]), (child + 1, rows[~lower])]


@given(samples(), st.integers(1, 4), st.integers(0, 2**32), st.sampled_from(["constant", "linear"]))
def test_same_seed_same_bits_for_any_number_of_threads(
    data: tuple[Floats, Floats], n_min: int, seed: int, leaf_model: str
) -> None:
    X, y = data
    one, three = (
        pf.grow_forest(
            X,
            y,
            n_estimators=5,
            min_samples_leaf=n_min,
            leaf_model=leaf_model,
            random_state=seed,
            n_jobs=jobs,  # type: ignore[arg-type]
        )
        for jobs in (1, 3)
    )
    for name, array in one.arrays.items():
        assert array.tobytes() == three.arrays[name].tobytes()


@given(samples(max_samples=40), st.integers(0, 2**32))
def test_whole_weights_give_the_means_of_repeated_samples(data: tuple[Floats, Floats], seed: int) -> None:
    X, y = data
    weights = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weights[0] = 1.0
    forest = pf.grow_forest(X, y, n_estimators=2, min_samples_leaf=2, sample_weight=weights, random_state=seed)
    for tree in range(2):
        one = forest[tree]
        predicted = one.predict(X[weights > 0])
        for value in np.unique(predicted):
            inside = predicted == value
            mean = np.average(y[weights > 0][inside], weights=weights[weights > 0][inside])
            np.testing.assert_allclose(value, mean, atol=1e-9)


def test_thresholds_are_uniform_between_the_order_statistics() -> None:
    x = np.sort(np.random.default_rng(0).random(60))
    y = np.random.default_rng(1).random(60)
    forest = pf.grow_forest(x[:, None], y, n_estimators=4000, min_samples_leaf=5, random_state=3)
    roots = forest.arrays["split"][forest.arrays["node_offsets"][:-1]]
    u = np.sort((roots - x[4]) / (x[55] - x[4]))
    assert u[0] >= 0
    assert u[-1] < 1
    distance = np.abs(u - (np.arange(4000) + 0.5) / 4000).max()
    assert distance < 1.95 / np.sqrt(4000)  # Kolmogorov-Smirnov, one false alarm in a thousand


@pytest.mark.parametrize("n", [12, 30, 200])
def test_small_and_large_nodes_draw_from_the_same_interval(n: int) -> None:
    x = np.random.default_rng(0).standard_cauchy(n)
    y = np.random.default_rng(1).random(n)
    forest = pf.grow_forest(x[:, None], y, n_estimators=3000, min_samples_leaf=5, random_state=3)
    roots = forest.arrays["split"][forest.arrays["node_offsets"][:-1]]
    low, high = np.sort(x)[[4, n - 5]]
    u = np.sort((roots - low) / (high - low))
    assert np.abs(u - (np.arange(3000) + 0.5) / 3000).max() < 1.95 / np.sqrt(3000)


def test_inputs_are_drawn_equally_often_and_distinct() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 4)), rng.random(50)
    forest = pf.grow_forest(X, y, n_estimators=4000, max_features=1, min_samples_leaf=1, random_state=1)
    roots = forest.arrays["feature"][forest.arrays["node_offsets"][:-1]]
    counts = np.bincount(roots, minlength=4)
    assert np.abs(counts - 1000).max() < 4.5 * np.sqrt(4000 * 0.25 * 0.75)


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
@pytest.mark.parametrize("size", [1e-120, 1e-310, 5e-324])
def test_tiny_weights_are_weights(leaf_model: str, size: float) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    y = X[:, 0] ** 2 - X[:, 1]
    grown = [
        pf.grow_forest(X, y, leaf_model=leaf_model, min_samples_leaf=10, sample_weight=np.full(200, weight))
        for weight in (size, 1.0)
    ]
    assert np.allclose(grown[0].predict(X), grown[1].predict(X), rtol=1e-9)


def test_a_grid_says_what_is_wrong_with_it() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    for grid, message in (([(1, 4)], "grid: is"), ({5: 4}, r"grid \(its input\)"), ({1: 1}, r"grid\[1\]")):
        with pytest.raises((TypeError, ValueError), match=message):
            pf.grow_forest(X, X[:, 0], grid=grid)
