"""The knownness forest against plain kd-trees, bit for bit, and what must hold of it at any time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import policyforest as pf
from oracles.knownness import KnownnessTree
from strategies import SEEDS

Floats = NDArray[np.float64]
FORMS = ("density", "original")


@dataclass(frozen=True)
class Case:
    box: Floats
    points: Floats
    form: str
    nu: int
    seed: int
    enough: float | None

    def forest(self, trees: int = 3) -> pf.KnownnessForest:
        return pf.KnownnessForest(
            self.box,
            form=self.form,
            n_estimators=trees,
            max_points=self.nu,
            enough=self.enough,
            random_state=self.seed,
        )

    def oracles(self, trees: int = 3) -> list[KnownnessTree]:
        sides = [(float(lo), float(hi)) for lo, hi in self.box]
        enough = np.inf if self.enough is None else self.enough
        return [KnownnessTree(sides, self.form, self.nu, self.seed, k, enough) for k in range(trees)]


def build(dims: int, n: int, nu: int, seed: int, form: str, grid: int, enough: float | None) -> Case:
    """Points on a coarse grid coincide with each other, with middles and with the border; some lie anywhere."""
    rng = np.random.default_rng(seed)
    lo = rng.choice([-1.0, 0.0, 0.1], dims)
    width = np.where(rng.random(dims) < 0.15, 0.0, rng.choice([0.5, 1.0, 3.0], dims))
    box = np.stack([lo, lo + width], axis=1)
    share = rng.integers(0, grid + 1, (n, dims)) / grid
    share = np.where(rng.random((n, dims)) < 0.2, rng.random((n, dims)), share)
    return Case(box, np.clip(lo + share * width, lo, lo + width), form, nu, seed, enough)


cases = st.builds(
    build,
    st.integers(1, 4),
    st.integers(1, 60),
    st.integers(1, 10),
    SEEDS,
    st.sampled_from(FORMS),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([None, 1.0, 20.0]),
)


@given(cases)
def test_it_is_the_plain_forest(case: Case) -> None:
    forest, plain = case.forest(), case.oracles()
    forest.insert(case.points)
    for point in case.points:
        for tree in plain:
            tree.insert(tuple(point.tolist()))
    lo, hi = case.box.T
    anywhere = np.clip(lo + np.random.default_rng(case.seed).random((20, len(lo))) * (hi - lo), lo, hi)
    rows = np.concatenate([case.points, anywhere, case.box.T])
    expected = []
    for row in rows:
        total = 0.0
        for tree in plain:
            total += tree.knownness(tuple(row.tolist()))
        expected.append(total / len(plain))
    np.testing.assert_array_equal(forest.knownness(rows), expected)
    np.testing.assert_array_equal([forest.knownness(row)[0] for row in rows[:5]], expected[:5])
    for k, tree in enumerate(plain):
        found, leaves = forest.leaves(k), tree.leaves()
        np.testing.assert_array_equal(found.counts, [len(leaf.points) for leaf in leaves])
        np.testing.assert_array_equal(found.knownness, [tree.leaf_knownness(leaf) for leaf in leaves])
        np.testing.assert_allclose(found.boxes, [leaf.box for leaf in leaves], rtol=0, atol=1e-300)


@given(cases)
def test_one_by_one_or_together_the_trees_are_the_same(case: Case) -> None:
    together, single = case.forest(), case.forest()
    together.insert(case.points, n_jobs=2)
    for point in case.points:
        single.insert(point)
    assert len(together) == len(single) == len(case.points)
    np.testing.assert_array_equal(together.knownness(case.points), single.knownness(case.points))
    for k in range(3):
        np.testing.assert_array_equal(together.leaves(k).boxes, single.leaves(k).boxes)


@given(cases)
def test_at_any_time_some_leaf_is_known_and_leaves_hold_all_points(case: Case) -> None:
    forest = case.forest()
    for point in case.points:
        forest.insert(point)
        for k in range(3):
            leaves = forest.leaves(k)
            assert leaves.counts.sum() == len(forest)
            assert ((leaves.knownness >= 0) & (leaves.knownness <= 1)).all()
            if case.form == "density":
                assert leaves.knownness.max() > 1 - 1e-9
                assert (leaves.counts > 0).all()


@given(cases)
def test_only_identical_points_may_crowd_a_leaf(case: Case) -> None:
    forest = case.forest()
    forest.insert(case.points)
    for k in range(3):
        leaves = forest.leaves(k)
        for box, count in zip(leaves.boxes, leaves.counts, strict=True):
            if count > case.nu:
                values, numbers = np.unique(case.points, axis=0, return_counts=True)
                assert count in numbers[((values >= box[:, 0]) & (values <= box[:, 1])).all(axis=1)]


@pytest.mark.parametrize("form", FORMS)
def test_points_that_differ_in_the_last_bit_can_be_told_apart(form: str) -> None:
    forest = pf.KnownnessForest([[0.0, 1.0], [0.0, 1.0]], form=form, n_estimators=2, max_points=1)
    x = 0.3
    points = [[x, 0.5], [np.nextafter(x, 1.0), 0.5], [x, np.nextafter(0.5, 1.0)], [0.0, 0.0], [1.0, 1.0]]
    forest.insert(points)
    assert all(forest.leaves(k).counts.max() == 1 for k in range(2))
    assert (forest.knownness(points) > 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_many_identical_points_are_kept_and_stay_cheap(form: str) -> None:
    forest = pf.KnownnessForest([[0.0, 1.0]], form=form, n_estimators=2)
    forest.insert(np.full((20_000, 1), 0.5))
    assert forest.leaves(0).counts.tolist() == [20_000]
    forest.insert([[0.25]])
    assert sorted(forest.leaves(0).counts.tolist())[-2:] == [1, 20_000]


@given(cases, SEEDS)
@settings(max_examples=60)
def test_leaves_of_a_q_forest_are_blended_at_their_centres(case: Case, seed: int) -> None:
    known = case.forest()
    known.insert(case.points)
    rng = np.random.default_rng(seed)
    for leaf_model in ("constant", "linear"):
        y = rng.normal(size=len(case.points))
        forest = pf.grow_forest(
            case.points, y, n_estimators=2, min_samples_leaf=2, leaf_model=leaf_model, box=case.box, random_state=seed
        )
        bent = known.optimistic(forest, 7.0, fade=0.5)
        lo, hi = case.box.T
        rows = np.clip(lo + rng.random((10, len(lo))) * (hi - lo), lo, hi)
        expected = np.zeros(len(rows))
        for k in range(2):
            boxes = np.array([leaf_box(forest[k], row) for row in rows])
            centres = boxes[:, :, 0] + 0.5 * (boxes[:, :, 1] - boxes[:, :, 0])
            u = 0.5 * (1.0 - known.knownness(np.clip(centres, lo, hi)))
            expected += (u * 7.0 + (1.0 - u) * forest[k].predict(rows)) / 2
        np.testing.assert_allclose(bent.predict(rows), expected, rtol=1e-9, atol=1e-9)


def leaf_box(tree: pf.Forest, x: Floats) -> Floats:
    arrays, box, node = tree.arrays, np.array(tree.box), 0
    while arrays["feature"][node] >= 0:
        d, v = arrays["feature"][node], arrays["split"][node]
        lower = x[d] <= v
        box[d, 1 if lower else 0] = v
        node = arrays["child"][node] + (0 if lower else 1)
    return box
