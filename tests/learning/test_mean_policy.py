"""The mean of policies: what it computes, whom it is made of, and when it is taken."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from policyforest.learning.comparison import alike, is_concave
from policyforest.learning.improvement.mean_policy import mean_forest
from policyforest.learning.improvement.simple_policies import one_leaf

BOX = np.array([[-1.0, 1.0], [0.0, 3.0]])


def grown(seed: int, n_trees: int, leaf_model: str) -> pf.Forest:
    rng = np.random.default_rng(seed)
    x = rng.uniform(BOX[:, 0], BOX[:, 1], (60, 2))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    return pf.grow_forest(x, y, n_estimators=n_trees, leaf_model=leaf_model, min_samples_leaf=8, box=BOX,
                          random_state=seed)  # fmt: skip


PARTS = st.one_of(
    st.builds(grown, st.integers(0, 99), st.integers(1, 7), st.sampled_from(("constant", "linear"))),
    st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(lambda w: one_leaf(BOX, np.array(w))),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=4), st.integers(0, 99))
def test_it_predicts_the_mean_whatever_the_number_of_trees(parts, seed):
    x = np.random.default_rng(seed).uniform(BOX[:, 0] - 0.5, BOX[:, 1] + 0.5, (50, 2))
    expected = np.mean([part.predict(x) for part in parts], axis=0)
    np.testing.assert_allclose(mean_forest(parts).predict(x), expected, rtol=1e-9, atol=1e-9)


def test_a_linear_law_takes_no_tree_of_its_own():
    forest, law = grown(1, 5, "linear"), one_leaf(BOX, np.array([1.0, 2.0, 3.0]))
    assert len(mean_forest([forest, law])) == 5
    assert mean_forest([law, law]).n_leaves == 1


def values(*means: float) -> np.ndarray:
    """Values of four members at 50 states that differ far more from state to state than between candidates."""
    noise = np.random.default_rng(0).normal(size=(4, 50))
    return np.stack([noise + mean for mean in means])


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (0.0, ["fpf-pwl", "grid"]),
        (0.05, ["fpf-pwl", "grid"]),  # certain, but a hair's breadth of the 100 gained over a constant action
        (5.0, ["fpf-pwl"]),
    ],
)
def test_candidates_are_alike_if_none_is_certainly_worse_by_more_than_a_hair(loss, expected):
    fpf, grid, constant = values(0.0, -loss, -100.0)
    assert alike({"fpf-pwl": fpf, "grid": grid, "constant": constant}, "fpf-pwl") == expected


def test_the_system_s_own_controller_is_never_averaged():
    baseline, grid, constant = values(0.0, 0.0, -100.0)
    assert alike({"baseline": baseline, "grid": grid, "constant": constant}, "baseline") == ["baseline"]


def test_a_mean_that_is_worth_less_than_its_parts_is_not_taken():
    left, right, between = values(1.0, 2.0, 1.4)
    assert not is_concave(between, [left, right])
    assert is_concave(between + 0.2, [left, right])
    one_member_loses = between + 0.2
    one_member_loses[2] -= 1.0
    assert not is_concave(one_member_loses, [left, right])


def test_learning_takes_the_mean_where_noise_hides_which_candidate_is_best():
    data = pf.collect(gym.make("policyforest/InvertedPendulum6kg-v0"), episodes=100, seed=30)
    found = pf.PlannedLearning(0.95, random_state=30).fit(data)
    names = {candidate.name for candidate in found.candidates}
    assert "mean" in names
    assert found.winner in ("mean", "improved")
    assert found.start.info.method == "mean"
