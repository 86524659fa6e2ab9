"""Averaging (Algorithm 2): one tree in place of many, the same function on the closed box."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.algebra import average_all, average_pruning
from oracles.forest import close, leaf_regions, predict, read_trees, whole
from policyforest import Forest
from strategies import SEEDS, Arrays, forests, partitions, probes, uneven

A_FEW = settings(max_examples=30)  # what is refused does not depend on the forest

WEIGHTS = st.one_of(st.integers(1, 9).map(float), st.floats(1e-3, 1e3))
PAIRS = forests(n_trees=(2, 2), unbounded=True)
FEW = forests(n_trees=(2, 3), max_splits=5, unbounded=True)
TOLERANCE = 1e-11  # at points within ±10, leaves are at most 5 · 3 · 10 + 3 in size


@given(PAIRS, WEIGHTS, WEIGHTS, SEEDS)
def test_two_trees_give_their_weighted_mean(arrays: Arrays, w1: float, w2: float, seed: int) -> None:
    t1, t2 = read_trees(arrays)
    merged = Forest.from_arrays(**arrays).average(weights=[w1, w2])
    X = probes([t1, t2], arrays["box"], seed)
    expected = [(w1 * predict([t1], x) + w2 * predict([t2], x)) / (w1 + w2) for x in X.tolist()]
    np.testing.assert_allclose(merged.predict(X), expected, rtol=0.0, atol=TOLERANCE)


@given(FEW, SEEDS)
def test_the_average_predicts_what_the_forest_predicts(arrays: Arrays, seed: int) -> None:
    forest = Forest.from_arrays(**arrays)
    merged = forest.average()
    assert len(merged) == 1
    assert merged.leaf_model == forest.leaf_model
    np.testing.assert_array_equal(merged.box, forest.box)
    X = probes(read_trees(arrays), arrays["box"], seed)
    np.testing.assert_allclose(merged.predict(X), forest.predict(X), rtol=0.0, atol=TOLERANCE)


@given(FEW, st.data())
def test_splits_are_those_of_the_algorithm_node_for_node(arrays: Arrays, data: st.DataObject) -> None:
    plain = read_trees(arrays)
    weights = data.draw(st.none() | st.lists(WEIGHTS, min_size=len(plain), max_size=len(plain)))
    (merged,) = read_trees(Forest.from_arrays(**arrays).average(weights=weights).arrays)
    expected = average_all(plain, weights or [1.0] * len(plain), whole(arrays["box"]))
    assert close(merged, expected, TOLERANCE)


@given(FEW)
def test_every_leaf_is_reached_by_a_point_of_the_box(arrays: Arrays) -> None:
    (merged,) = read_trees(Forest.from_arrays(**arrays).average().arrays)
    assert all(region is not None for _, region in leaf_regions(merged, whole(arrays["box"])))


@given(forests(unbounded=True, n_trees=(1, 1)), SEEDS)
def test_the_average_of_one_tree_is_that_tree(arrays: Arrays, seed: int) -> None:
    forest = Forest.from_arrays(**arrays)
    X = probes(read_trees(arrays), arrays["box"], seed)
    np.testing.assert_array_equal(forest.average().predict(X), forest.predict(X))


@given(forests(n_trees=(1, 4), max_splits=6), st.integers(1, 12))
def test_a_pruned_average_keeps_to_its_number_of_leaves(arrays: Arrays, max_leaves: int) -> None:
    forest = Forest.from_arrays(**arrays)
    merged = forest.average(max_leaves=max_leaves)
    assert len(merged) == 1
    assert 1 <= merged.n_leaves <= max_leaves
    if forest.leaf_model == "constant":
        old, new = (f.arrays["split"][f.arrays["feature"] == -1] for f in (forest, merged))
        assert old.min() - TOLERANCE <= new.min() <= new.max() <= old.max() + TOLERANCE


@pytest.mark.parametrize("model", ["constant", "linear"])
@given(data=st.data(), max_leaves=st.integers(1, 8))
def test_each_merge_is_pruned_before_the_next(model: str, data: st.DataObject, max_leaves: int) -> None:
    arrays = data.draw(partitions(model=model, eighths=range(1, 8), values=uneven, max_splits=4, n_trees=(2, 3)))
    expected, gap = average_pruning(read_trees(arrays), whole(arrays["box"]), max_leaves)
    assume(gap is None or gap > 1e-9)  # closer losses may be ranked by rounding
    (merged,) = read_trees(Forest.from_arrays(**arrays).average(max_leaves=max_leaves).arrays)
    assert close(merged, expected, 1e-9)


@given(forests(n_trees=(2, 3), max_splits=5))
def test_a_bound_that_is_never_reached_changes_nothing(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**arrays)
    assert read_trees(forest.average(max_leaves=10**6).arrays) == read_trees(forest.average().arrays)


@A_FEW
@given(PAIRS)
def test_weights_that_are_no_weights_are_refused(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**arrays)
    for bad in ([1.0], [1.0, 1.0, 1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match=r"\bweights\b"):
            forest.average(weights=bad)


@pytest.mark.parametrize("max_leaves", [0, -1])
@A_FEW
@given(arrays=forests())
def test_a_bound_below_one_leaf_is_refused(arrays: Arrays, max_leaves: int) -> None:
    with pytest.raises(ValueError, match=r"\bmax_leaves\b"):
        Forest.from_arrays(**arrays).average(max_leaves=max_leaves)
