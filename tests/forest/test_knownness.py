"""`KnownnessForest`: what it refuses, and what its numbers mean."""

from __future__ import annotations

import time

import numpy as np
import pytest

import policyforest as pf

UNIT = [[0.0, 1.0], [0.0, 1.0]]


def test_nothing_is_known_before_the_first_point():
    forest = pf.KnownnessForest(UNIT)
    assert forest.knownness([[0.5, 0.5]]).tolist() == [0.0]
    assert forest.coverage() == 0.0
    assert len(forest) == 0


def test_where_points_are_dense_more_is_known():
    rng = np.random.default_rng(0)
    forest = pf.KnownnessForest(UNIT)
    forest.insert(0.2 + 0.1 * rng.random((500, 2)))
    assert forest.knownness([[0.25, 0.25]])[0] > 0.9
    assert forest.knownness([[0.9, 0.9]])[0] < 0.1


def test_the_density_ratio_never_saturates_but_with_enough_it_does():
    """Points of one half of the box, again and again: the other half holds one in twenty."""
    rng = np.random.default_rng(0)
    points = rng.random((20_000, 2)) * [0.5, 1.0]
    points[::20, 0] += 0.5
    paper, saturating = pf.KnownnessForest(UNIT), pf.KnownnessForest(UNIT, enough=500)
    known = {}
    for forest in (paper, saturating):
        for part in np.array_split(points, 4):
            forest.insert(part)
            known.setdefault(forest, []).append(
                forest.knownness(np.column_stack([rng.random(200) / 2 + 0.5, rng.random(200)])).mean()
            )
    assert max(known[paper]) < 0.25
    assert known[saturating][-1] > 0.75


def test_original_knownness_by_hand():
    forest = pf.KnownnessForest(UNIT, form="original", n_estimators=1, max_points=2)
    forest.insert([[0.1, 0.1], [0.1, 0.9]])
    assert forest.knownness([[0.5, 0.5]]).tolist() == [1.0]  # 2/2 / floor(sqrt(2)) / 1
    forest.insert([[0.9, 0.1]])  # three points: split at 0.5 in dimension 0
    assert forest.leaves().boxes.tolist() == [[[0.0, 0.5], [0.0, 1.0]], [[0.5, 1.0], [0.0, 1.0]]]
    assert forest.knownness([[0.5, 0.2], [0.6, 0.2]]).tolist() == [1.0, 0.5]  # floor(sqrt(3)) is 1, the longest side 1


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.5, 1.5]], "points: row 0 has 1.5"),
        ([[0.5, 0.5], [-0.1, 0.5]], "points: row 1 has -0.1"),
        ([[0.5]], "columns"),
        ([[np.nan, 0.5]], "finite"),
    ],
)
def test_points_outside_are_refused_and_none_is_taken(points, message):
    forest = pf.KnownnessForest(UNIT)
    for call in (forest.insert, forest.knownness):
        with pytest.raises(ValueError, match=message):
            call(points)
    assert len(forest) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"box": [[0.0, np.inf]]}, "box"),
        ({"form": "other"}, "form"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_points": 0}, "max_points"),
        ({"enough": 0.5}, "enough"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        pf.KnownnessForest(**{"box": UNIT, **arguments})


def test_insertions_and_queries_are_fast():
    """0.9 s and 3 µs on one core (benchmarks/bench_knownness.py); the bounds leave room for a busy one."""
    rng = np.random.default_rng(0)
    forest = pf.KnownnessForest([[0.0, 1.0]] * 3)
    points = rng.random((100_000, 3))
    started = time.process_time()
    forest.insert(points)
    inserted = time.process_time()
    forest.knownness(points[::10])
    assert inserted - started < 5.0
    assert (time.process_time() - inserted) / 10_000 < 20e-6
