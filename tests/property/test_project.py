"""Projection (Algorithm 1): the forest over the inputs that are left when the others are held fixed."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.algebra import project
from oracles.forest import Tree, close, read_trees
from policyforest import Forest
from strategies import SEEDS, forests, probes

A_FEW = settings(max_examples=30)  # what is refused does not depend on the forest

TOLERANCE = 1e-12  # leaves are at most 5 · 3 · 3 + 3 in size


class Case(NamedTuple):
    forest: Forest
    plain: list[Tree]
    state_dims: list[int]
    points: np.ndarray  # all share the coordinates in state_dims

    @property
    def state(self) -> np.ndarray:
        return self.points[0, self.state_dims]

    @property
    def actions(self) -> np.ndarray:
        return np.delete(self.points, self.state_dims, axis=1)


@st.composite
def cases(draw: st.DrawFn, model: str | None = None) -> Case:
    arrays = draw(forests(model=model, inputs=(2, 5)))
    n_inputs = len(arrays["box"])
    state_dims = draw(st.lists(st.integers(0, n_inputs - 1), min_size=1, max_size=n_inputs - 1, unique=True))
    plain = read_trees(arrays)
    points = probes(plain, arrays["box"], draw(SEEDS))
    points[:, state_dims] = points[0, state_dims]
    return Case(Forest.from_arrays(**arrays), plain, state_dims, points)


@given(cases(model="constant"))
def test_constant_leaves_predict_the_same_bits(case: Case) -> None:
    projected = case.forest.project(case.state, case.state_dims)
    assert projected.predict(case.actions).tobytes() == case.forest.predict(case.points).tobytes()


@given(cases(model="linear"))
def test_linear_leaves_predict_the_same_numbers(case: Case) -> None:
    projected = case.forest.project(case.state, case.state_dims)
    np.testing.assert_allclose(
        projected.predict(case.actions), case.forest.predict(case.points), rtol=0.0, atol=TOLERANCE
    )


@given(cases())
def test_only_the_splits_on_free_inputs_are_left(case: Case) -> None:
    projected = case.forest.project(case.state, case.state_dims)
    fixed = dict(zip(case.state_dims, case.state.tolist(), strict=True))
    for actual, tree in zip(read_trees(projected.arrays), case.plain, strict=True):
        assert close(actual, project(tree, fixed), TOLERANCE)
    np.testing.assert_array_equal(projected.box, np.delete(case.forest.box, case.state_dims, axis=0))
    assert projected.leaf_model == case.forest.leaf_model


@given(cases())
def test_the_state_comes_first_unless_told_otherwise(case: Case) -> None:
    n = len(case.state_dims)
    state = case.points[0, :n]
    by_default = case.forest.project(state).arrays
    spelled_out = case.forest.project(state, list(range(n))).arrays
    assert read_trees(by_default) == read_trees(spelled_out)


@A_FEW
@given(cases(), st.sampled_from(["below", "above", "nan"]))
def test_a_state_outside_the_box_is_refused(case: Case, where: str) -> None:
    lo, hi = case.forest.box[case.state_dims[0]]
    state = case.state.copy()
    outside = {"below": np.nextafter(lo, -np.inf), "above": np.nextafter(hi, np.inf), "nan": np.nan}
    state[0] = outside[where]
    with pytest.raises(ValueError, match=r"\bstate\b"):
        case.forest.project(state, case.state_dims)


@A_FEW
@given(cases())
def test_inputs_that_do_not_exist_or_come_twice_are_refused(case: Case) -> None:
    n = case.forest.n_inputs
    for bad in (n, -n - 1):
        with pytest.raises(ValueError, match=r"\bstate_dims\b"):
            case.forest.project(case.state, [bad, *case.state_dims[1:]])
    assume(n > 2)
    with pytest.raises(ValueError, match=r"\bstate_dims\b"):
        case.forest.project(np.repeat(case.state[0], 2), [case.state_dims[0]] * 2)
