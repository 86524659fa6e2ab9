"""Pruning (Algorithm 3): the splits of smallest loss go first."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.algebra import prune
from oracles.forest import Tree, close, leaves, read_trees, whole
from policyforest import Forest
from strategies import SEEDS, Arrays, forests, partitions, probes, uneven, whole_numbers

A_FEW = settings(max_examples=30)  # what is refused does not depend on the forest

MAX_LEAVES = st.integers(1, 12)

# Every split halves its region: volumes, means and losses are exact, and ties abound.
HALVED = partitions(model="constant", eighths=[4], values=whole_numbers, max_splits=10)
CONSTANT = partitions(model="constant", eighths=range(1, 8), values=uneven, max_splits=10)
LINEAR = partitions(model="linear", eighths=range(1, 8), values=uneven, max_splits=7)


def pruned_tree(arrays: Arrays, max_leaves: int) -> Tree:
    (tree,) = read_trees(Forest.from_arrays(**arrays).prune(max_leaves).arrays)
    return tree


@given(HALVED, MAX_LEAVES)
def test_ties_go_to_the_first_node(arrays: Arrays, max_leaves: int) -> None:
    expected = prune(read_trees(arrays)[0], whole(arrays["box"]), max_leaves).tree
    assert pruned_tree(arrays, max_leaves) == expected


@pytest.mark.parametrize("trees", [CONSTANT, LINEAR], ids=["constant", "linear"])
@given(data=st.data(), max_leaves=MAX_LEAVES)
def test_the_smallest_losses_go_first(trees: st.SearchStrategy[Arrays], data: st.DataObject, max_leaves: int) -> None:
    arrays = data.draw(trees)
    expected, gap = prune(read_trees(arrays)[0], whole(arrays["box"]), max_leaves)
    assume(gap is None or gap > 1e-9)  # closer losses may be ranked by rounding
    assert close(pruned_tree(arrays, max_leaves), expected, 1e-10)


@given(forests(max_splits=12), MAX_LEAVES, SEEDS)
def test_any_forest_keeps_as_many_leaves_as_allowed(arrays: Arrays, max_leaves: int, seed: int) -> None:
    forest, plain = Forest.from_arrays(**arrays), read_trees(arrays)
    pruned = forest.prune(max_leaves)
    for old, new in zip(plain, read_trees(pruned.arrays), strict=True):
        assert len(list(leaves(new))) == min(max_leaves, len(list(leaves(old))))
        before, after = (np.array([leaf.model for leaf in leaves(tree)]) for tree in (old, new))
        assert (before.min(axis=0) - 1e-12 <= after.min(axis=0)).all()
        assert (after.max(axis=0) <= before.max(axis=0) + 1e-12).all()
    assert np.isfinite(pruned.predict(probes(plain, arrays["box"], seed))).all()


@given(forests())
def test_a_forest_that_is_small_enough_stays_as_it_is(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**arrays)
    assert read_trees(forest.prune(forest.n_leaves).arrays) == read_trees(arrays)


@A_FEW
@given(forests(max_splits=6))
def test_a_split_across_an_infinite_side_has_no_loss_to_rank_by(arrays: Arrays) -> None:
    forest = Forest.from_arrays(**{**arrays, "box": np.full_like(arrays["box"], np.inf) * [-1.0, 1.0]})
    assume(forest.depth > 0)
    with pytest.raises(ValueError, match=r"\bbox\b"):
        forest.prune(1)


@A_FEW
@given(forests())
def test_a_bound_below_one_leaf_is_refused(arrays: Arrays) -> None:
    for bad in (0, -1):
        with pytest.raises(ValueError, match=r"\bmax_leaves\b"):
            Forest.from_arrays(**arrays).prune(bad)
