"""Arrays in and out: a forest is rebuilt from its arrays, and broken ones are refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.arrays import describe_a_forest
from oracles.forest import predict, read_trees
from policyforest import Forest
from strategies import Arrays, forests

NAMES = ("feature", "split", "child", "node_offsets", "box", "coefficients")
ANY_NAME = rf"\b({'|'.join(NAMES)})\b"
ODD_INTEGERS = st.sampled_from([-(2**31), -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 100, 2**31 - 2, 2**31 - 1])
ODD_FLOATS = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1.0])


@given(forests(unbounded=True))
def test_a_forest_is_rebuilt_from_its_arrays(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**arrays)
    for name in NAMES[:5]:
        np.testing.assert_array_equal(forest.arrays[name], arrays[name])
    rebuilt = Forest.from_arrays(**{name: forest.arrays[name] for name in NAMES})
    for name, array in forest.arrays.items():
        np.testing.assert_array_equal(rebuilt.arrays[name], array)
    assert read_trees(rebuilt.arrays) == read_trees(arrays)


@given(forests())
def test_arrays_are_read_only_and_nobody_elses(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**arrays)
    for array in forest.arrays.values():
        assert array.size == 0 or not array.flags.writeable
    before = {name: array.tobytes() for name, array in forest.arrays.items()}
    for array in arrays.values():
        if array is not None:
            array[:] = 77
    assert {name: array.tobytes() for name, array in forest.arrays.items()} == before


@given(forests())
def test_leaf_offsets_count_the_leaves_of_each_tree(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**arrays)
    offsets = forest.arrays["leaf_offsets"]
    assert np.diff(offsets).tolist() == [forest[k].n_leaves for k in range(len(forest))]
    assert offsets[0] == 0


@st.composite
def mutated(draw: st.DrawFn) -> Arrays:
    """A valid forest with one to three numbers changed, rows dropped, doubled or swapped."""
    arrays = {name: array if array is None else array.copy() for name, array in draw(forests()).items()}
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from([name for name in NAMES if arrays[name] is not None]))
        arrays[name] = draw(_mutations(arrays[name]))
    return arrays


@st.composite
def _mutations(draw: st.DrawFn, array: np.ndarray) -> np.ndarray:
    kind = draw(st.sampled_from(["number", "number", "number", "swap", "drop", "double"]))
    if array.size == 0:
        return array
    i, j = (draw(st.integers(0, len(array) - 1)) for _ in range(2))
    if kind == "drop":
        return np.delete(array, i, axis=0)
    if kind == "double":
        return np.insert(array, i, array[j], axis=0)
    changed = array.copy()
    if kind == "swap":
        changed[[i, j]] = changed[[j, i]]
    else:
        odd = ODD_INTEGERS if array.dtype.kind == "i" else ODD_FLOATS
        changed.flat[draw(st.integers(0, array.size - 1))] = draw(odd)
    return changed


@given(mutated())
def test_arrays_are_accepted_if_and_only_if_they_describe_a_forest(arrays: Arrays) -> None:
    if not describe_a_forest(arrays):
        with pytest.raises(ValueError, match=ANY_NAME):
            Forest.from_arrays(**arrays)
        return
    forest = Forest.from_arrays(**arrays)
    x = np.zeros(forest.n_inputs)
    np.testing.assert_array_equal(forest.predict_one(x), predict(read_trees(arrays), x.tolist()))


def stump() -> Arrays:
    """Two trees over two inputs: x_1 <= 0.5 and a single leaf, linear."""
    return {
        "feature": np.array([1, -1, -1, -1], np.int32),
        "split": np.array([0.5, 0.0, 0.0, 0.0]),
        "child": np.array([1, 0, 1, 0], np.int32),
        "node_offsets": np.array([0, 3, 4], np.int64),
        "box": np.array([[0.0, 1.0], [0.0, 1.0]]),
        "coefficients": np.arange(9.0).reshape(3, 3),
    }


def changed(name: str, place: Any, value: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name][place] = value

    return change


def replaced(name: str, function: Callable[[np.ndarray], Any]) -> Callable[[Arrays], None]:
    def replace(arrays: Arrays) -> None:
        arrays[name] = function(arrays[name])

    return replace


BROKEN = {
    "an input that does not exist": ("feature", changed("feature", 0, 2)),
    "a negative input": ("feature", changed("feature", 0, -2)),
    "a threshold that is NaN": ("split", changed("split", 0, np.nan)),
    "an infinite threshold": ("split", changed("split", 0, np.inf)),
    "a constant in a linear leaf": ("split", changed("split", 1, 1.0)),
    "a cycle": ("child", changed("child", 0, 0)),
    "a child in the next tree": ("child", changed("child", 0, 2)),
    "a child far away": ("child", changed("child", 0, 2**31 - 1)),
    "a negative child": ("child", changed("child", 0, -1)),
    "a leaf with another's number": ("child", changed("child", 2, 0)),
    "a leaf number out of range": ("child", changed("child", 2, 5)),
    "nodes that no one reaches": ("child", changed("feature", 0, -1)),
    "an empty tree": ("node_offsets", changed("node_offsets", 1, 4)),
    "offsets that do not begin at 0": ("node_offsets", changed("node_offsets", 0, 1)),
    "offsets that go back": ("node_offsets", changed("node_offsets", 1, -1)),
    "offsets beyond the nodes": ("node_offsets", changed("node_offsets", 2, 5)),
    "huge offsets": ("node_offsets", changed("node_offsets", 1, 2**62)),
    "no tree": ("node_offsets", replaced("node_offsets", lambda a: a[:1])),
    "no offsets": ("node_offsets", replaced("node_offsets", lambda a: a[:0])),
    "lo above hi": ("box", changed("box", 0, [1.0, 0.0])),
    "a box that is NaN": ("box", changed("box", 0, [np.nan, 0.0])),
    "a box of no inputs": ("box", replaced("box", lambda a: a[:0])),
    "a box with three columns": ("box", replaced("box", lambda a: np.zeros((2, 3)))),
    "a flat box": ("box", replaced("box", lambda a: a.ravel())),
    "a coefficient that is NaN": ("coefficients", changed("coefficients", (2, 1), np.nan)),
    "an infinite coefficient": ("coefficients", changed("coefficients", (0, 0), -np.inf)),
    "too few coefficients": ("coefficients", replaced("coefficients", lambda a: a[:2])),
    "too many coefficients": ("coefficients", replaced("coefficients", lambda a: np.vstack([a, a]))),
    "coefficients of another width": ("coefficients", replaced("coefficients", lambda a: a[:, :2])),
    "flat coefficients": ("coefficients", replaced("coefficients", lambda a: a.ravel())),
    "thresholds of another length": ("split", replaced("split", lambda a: a[:3])),
    "children of another length": ("child", replaced("child", lambda a: a[:3])),
    "features in two dimensions": ("feature", replaced("feature", lambda a: a.reshape(2, 2))),
    "features beyond 32 bits": ("feature", replaced("feature", lambda a: a.astype(np.int64) + 2**32)),
    "children beyond 32 bits": ("child", replaced("child", lambda a: a.astype(np.int64) + 2**32)),
    "features that are no integers": ("feature", replaced("feature", lambda a: a + 0.5)),
    "children that are no integers": ("child", replaced("child", lambda a: a + 0.5)),
    "offsets that are no integers": ("node_offsets", replaced("node_offsets", lambda a: a + 0.5)),
    "complex thresholds": ("split", replaced("split", lambda a: a + 1j)),
    "words for thresholds": ("split", replaced("split", lambda a: np.array(["a", "b", "c", "d"]))),
    "objects for thresholds": ("split", replaced("split", lambda a: np.array([{}, {}, {}, {}]))),
    "words for a box": ("box", replaced("box", lambda a: [["a", "b"], ["c", "d"]])),
    "a ragged box": ("box", replaced("box", lambda a: [[0.0, 1.0], [0.0]])),
    "a complex box": ("box", replaced("box", lambda a: a + 1j)),
    "words for coefficients": ("coefficients", replaced("coefficients", lambda a: a.astype(str))),
    "ragged features": ("feature", replaced("feature", lambda a: [[1], [2, 3], 4, 5])),
    "truth values for features": ("feature", replaced("feature", lambda a: a == -1)),
    "None for thresholds": ("split", replaced("split", lambda a: None)),
    "None for a box": ("box", replaced("box", lambda a: None)),
    "None for features": ("feature", replaced("feature", lambda a: None)),
}


def test_the_stump_is_a_forest() -> None:
    assert Forest.from_arrays(**stump()).n_leaves == 3


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_arrays_are_refused_by_name(kind: str) -> None:
    name, break_it = BROKEN[kind]
    arrays = stump()
    break_it(arrays)
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        Forest.from_arrays(**arrays)
