"""Prediction: a walk from the root of each tree, the leaves summed in the order of the trees."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.forest import depth, leaves, predict, read_trees
from policyforest import Forest
from strategies import SEEDS, Arrays, forests, probes

A_FEW = settings(max_examples=30)  # what is refused does not depend on the forest


def expected(plain: list[Any], X: np.ndarray) -> np.ndarray:
    return np.array([predict(plain, x) for x in X.tolist()])


@given(forests(unbounded=True), SEEDS)
def test_predicts_what_a_walk_from_the_root_finds(arrays: Arrays, seed: int) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    X = probes(plain, arrays["box"], seed)
    np.testing.assert_array_equal(forest.predict(X), expected(plain, X), strict=True)


@given(forests(), SEEDS)
def test_one_row_many_rows_and_threads_give_the_same_bits(arrays: Arrays, seed: int) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    X = probes(plain, arrays["box"], seed, count=70)
    together = forest.predict(X)
    assert [forest.predict_one(x) for x in X] == together.tolist()
    assert forest.predict(X, n_jobs=2).tobytes() == together.tobytes()
    assert np.concatenate([forest.predict(X[:13]), forest.predict(X[13:])]).tobytes() == together.tobytes()


@given(forests(), SEEDS)
def test_points_outside_the_box_fall_into_the_outermost_leaves(arrays: Arrays, seed: int) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    X = 3.0 * probes(plain, arrays["box"], seed) - 1.0
    np.testing.assert_array_equal(forest.predict(X), expected(plain, X), strict=True)


@given(forests(), SEEDS)
def test_rows_may_lie_in_memory_in_any_way(arrays: Arrays, seed: int) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    X = probes(plain, arrays["box"], seed)
    same = forest.predict(X)
    assert forest.predict(np.asfortranarray(X)).tobytes() == same.tobytes()
    assert forest.predict(X[::-3]).tobytes() == same[::-3].tobytes()
    assert forest.predict(np.repeat(X, 2, axis=1)[:, ::2]).tobytes() == same.tobytes()


@given(forests(), SEEDS)
def test_a_part_of_a_forest_is_a_forest_of_those_trees(arrays: Arrays, seed: int) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    X = probes(plain, arrays["box"], seed, count=10)
    for k, tree in enumerate(plain):
        assert len(forest[k]) == 1
        np.testing.assert_array_equal(forest[k].predict(X), expected([tree], X))
    half = (len(plain) + 1) // 2
    np.testing.assert_array_equal(forest[:half].predict(X), expected(plain[:half], X))
    np.testing.assert_array_equal(forest[-1].predict(X), expected(plain[-1:], X))


@given(forests())
def test_sizes_are_those_of_the_trees(arrays: Arrays) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    assert len(forest) == len(plain)
    assert forest.n_inputs == len(arrays["box"])
    assert forest.n_leaves == sum(len(list(leaves(tree))) for tree in plain)
    assert forest.depth == max(depth(tree) for tree in plain)
    assert forest.leaf_model == ("constant" if arrays["coefficients"] is None else "linear")


@A_FEW
@given(forests(), st.data())
def test_nan_is_refused(arrays: Arrays, data: st.DataObject) -> None:
    forest = Forest.from_arrays(**arrays)
    X = np.zeros((5, forest.n_inputs))
    X[data.draw(st.integers(0, 4)), data.draw(st.integers(0, forest.n_inputs - 1))] = np.nan
    with pytest.raises(ValueError, match=r"\bX\b"):
        forest.predict(X)


def single_leaf() -> Forest:
    """F(x) = 1 over two inputs."""
    return Forest.from_arrays(
        feature=np.array([-1], np.int32),
        split=np.array([1.0]),
        child=np.array([0], np.int32),
        node_offsets=np.array([0, 1]),
        box=np.array([[0.0, 1.0], [0.0, 1.0]]),
    )


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 3), (2, 3, 2), (0, 2)])
def test_rows_of_another_size_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\bX\b"):
        single_leaf().predict(np.zeros(shape))


def test_one_row_must_have_the_inputs_of_the_forest() -> None:
    forest = single_leaf()
    for row in (np.zeros(2), np.zeros(4)[::2], np.zeros(2, np.float32), [0.0, 0.0]):
        assert forest.predict_one(row) == 1.0
    for bad in (np.zeros(3), np.zeros((1, 2))):
        with pytest.raises(ValueError, match=r"\bx\b"):
            forest.predict_one(bad)
    for number in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"\bx\b"):
            forest.predict_one(np.array([0.0, number]))
