"""The paper's example of a tree merge (Figure 3): structure and leaves."""

import numpy as np

from oracles.algebra import average
from oracles.forest import Leaf, Split, Tree, read_trees, whole
from policyforest import Forest

BOX = np.array([[0.0, 10.0], [0.0, 15.0]])

T1 = Split(0, 5, Split(1, 6, Leaf((1,)), Leaf((2,))), Split(1, 5, Leaf((3,)), Leaf((4,))))
T2 = Split(1, 8, Split(0, 7, Leaf((5,)), Leaf((6,))), Split(1, 12, Leaf((7,)), Leaf((8,))))


def mean(a: float, b: float) -> Leaf:
    return Leaf(((a + b) / 2,))


MERGED: Tree = Split(
    0,
    5,
    Split(
        1,
        8,
        Split(1, 6, mean(1, 5), mean(2, 5)),
        Split(1, 12, mean(2, 7), mean(2, 8)),
    ),
    Split(
        1,
        8,
        Split(
            1,
            5,
            Split(0, 7, mean(3, 5), mean(3, 6)),
            Split(0, 7, mean(4, 5), mean(4, 6)),
        ),
        Split(1, 12, mean(4, 7), mean(4, 8)),
    ),
)


def figure_3() -> Forest:
    return Forest.from_arrays(
        feature=np.array([0, 1, 1, -1, -1, -1, -1, 1, 0, 1, -1, -1, -1, -1], dtype=np.int32),
        split=np.array([5.0, 6, 5, 1, 2, 3, 4, 8, 7, 12, 5, 6, 7, 8]),
        child=np.array([1, 3, 5, 0, 1, 2, 3, 1, 3, 5, 0, 1, 2, 3], dtype=np.int32),
        node_offsets=np.array([0, 7, 14]),
        box=BOX,
    )


def test_the_arrays_hold_the_two_trees_of_the_figure() -> None:
    assert read_trees(figure_3().arrays) == [T1, T2]


def test_the_oracle_merges_them_into_the_figure() -> None:
    assert average(T1, T2, 1, 1, whole(BOX)) == MERGED


def test_average_merges_them_into_the_figure() -> None:
    assert read_trees(figure_3().average().arrays) == [MERGED]
