"""Range, check and sensitivity against an oracle that looks at every cell between thresholds."""

from __future__ import annotations

from itertools import product
from math import inf, nextafter

import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from policies import forest_policy, grown

ACTIONS = Box(np.array([-0.6]), np.array([0.9]), dtype=np.float64)
SEEDS = st.integers(0, 10_000)


def corners(forest: pf.Forest, d: int, lo: float, hi: float) -> list[float]:
    """Values of input d at which something can change: each threshold, the double above it, and the ends."""
    arrays = forest.arrays
    cuts = arrays["split"][arrays["feature"] == d].tolist()
    values = [lo, hi, *cuts, *(nextafter(c, inf) for c in cuts)]
    return sorted({v for v in values if lo <= v <= hi})


def plain_range(policy: pf.Policy, box: np.ndarray) -> tuple[float, float]:
    grid = [corners(policy.forests[0], d, *sides) for d, sides in enumerate(box.tolist())]
    actions = policy.act_batch(np.array(list(product(*grid))))
    return float(actions.min()), float(actions.max())


def random_policy(seed: int, leaf_model: str, trees: int = 3) -> pf.Policy:
    forest = grown(seed, leaf_model=leaf_model, trees=trees, n=40)
    return pf.Policy((forest,), Box(-inf, inf, (2,), np.float64), ACTIONS)


def random_box(seed: int) -> np.ndarray:
    """Within the box that was learned on and beyond it, sometimes without width."""
    rng = np.random.default_rng(seed)
    box = np.sort(rng.uniform(-4, 4, (2, 2)), axis=1)
    if seed % 5 == 0:
        box[1, 1] = box[1, 0]
    return box


@given(SEEDS)
@settings(max_examples=60)
def test_the_range_of_constant_leaves_is_exact_to_the_bit(seed: int) -> None:
    policy, box = random_policy(seed, "constant"), random_box(seed)
    found = policy.range(box)
    assert (found.low[0], found.high[0]) == plain_range(policy, box)
    assert policy.act(found.low_states[0])[0] == found.low[0]
    assert policy.act(found.high_states[0])[0] == found.high[0]
    for state in (found.low_states[0], found.high_states[0]):
        assert ((state >= box[:, 0]) & (state <= box[:, 1])).all()


@given(SEEDS)
@settings(max_examples=60)
def test_the_range_of_linear_leaves_is_exact_up_to_rounding(seed: int) -> None:
    policy, box = random_policy(seed, "linear"), random_box(seed)
    found = policy.range(box)
    assert (found.low[0], found.high[0]) == pytest.approx(plain_range(policy, box), abs=1e-9)
    assert policy.act(found.high_states[0])[0] == pytest.approx(found.high[0], abs=1e-9)


@given(SEEDS, st.sampled_from(["constant", "linear"]))
@settings(max_examples=40)
def test_a_check_holds_or_has_a_counterexample_in_the_box(seed: int, leaf_model: str) -> None:
    policy, box = random_policy(seed, leaf_model), random_box(seed)
    low, high = plain_range(policy, box)
    assert policy.check(box, low - 1e-6, high + 1e-6)
    if high - low > 1e-3:
        refuted = policy.check(box, low, high - 1e-3 * (high - low))
        assert not refuted
        assert refuted.counterexample is not None
        assert ((refuted.counterexample >= box[:, 0]) & (refuted.counterexample <= box[:, 1])).all()
        assert policy.act(refuted.counterexample)[0] > high - 1e-3 * (high - low)


@given(SEEDS, st.sampled_from(["constant", "linear"]), st.integers(0, 1))
@settings(max_examples=40)
def test_sensitivity_is_the_largest_change_along_one_dimension(seed: int, leaf_model: str, dim: int) -> None:
    forest = grown(seed, leaf_model=leaf_model, trees=2, n=30)
    policy = pf.Policy((forest,), Box(-inf, inf, (2,), np.float64), Box(-100.0, 100.0, (1,), np.float64))
    box = random_box(seed)
    other = 1 - dim
    largest = 0.0
    for fixed in corners(forest, other, *box[other].tolist()):
        rows = np.full((0, 2), 0.0)
        along = corners(forest, dim, *box[dim].tolist())
        rows = np.full((len(along), 2), fixed)
        rows[:, dim] = along
        largest = max(largest, float(np.ptp(policy.act_batch(rows))))
    found = policy.sensitivity(dim, box)
    assert found.at_most[0] == pytest.approx(largest, abs=1e-9)
    assert found.change[0] == pytest.approx(largest, abs=1e-9)
    assert found.states[0][other] == pytest.approx(np.clip(found.states[0][other], *box[other]))


@given(SEEDS)
@settings(max_examples=30)
def test_angles_are_asked_for_across_their_seam(seed: int) -> None:
    policy = forest_policy(periodic={0: (-np.pi, np.pi)}, leaf_model="constant")
    rng = np.random.default_rng(seed)
    start = rng.uniform(-12, 12)
    box = np.array([[start, start + rng.uniform(0, 8)], np.sort(rng.uniform(-2, 3, 2))])
    found = policy.range(box)
    sampled = policy.act_batch(box[:, 0] + rng.random((2_000, 2)) * (box[:, 1] - box[:, 0]))
    assert found.low[0] <= sampled.min()
    assert sampled.max() <= found.high[0]
    assert found.high[0] - sampled.max() < 0.5
    for state in (found.low_states[0], found.high_states[0]):
        assert ((state >= box[:, 0] - 1e-9) & (state <= box[:, 1] + 1e-9)).all()


def test_several_actions_have_ranges_of_their_own() -> None:
    policy = forest_policy(n_actions=2, leaf_model="constant")
    found = policy.range()
    assert found.low.shape == (2,)
    rows = policy.act_batch(np.random.default_rng(0).uniform(-2, 2, (1_000, 2)))
    assert (found.low <= rows.min(axis=0)).all()
    assert (found.high >= rows.max(axis=0)).all()
    assert not policy.check(None, [-9.0, found.low[1] + 1e-9], 9.0)


def test_infinite_sides_need_constant_leaves() -> None:
    box = np.array([[-inf, inf], [0.0, inf]])
    constant = random_policy(1, "constant")
    assert constant.range(box).high[0] == constant.range([[-50, 50], [0, 50]]).high[0]
    with pytest.raises(ValueError, match="must be finite for a policy with linear leaves"):
        random_policy(1, "linear").range(box)


def test_what_cannot_be_asked_is_refused() -> None:
    policy = random_policy(1, "constant")
    with pytest.raises(ValueError, match="box: has shape"):
        policy.range([[0, 1]])
    with pytest.raises(ValueError, match="lo must not exceed hi"):
        policy.range([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="dim: is 2, must be between 0 and 1"):
        policy.sensitivity(2)
    with pytest.raises(ValueError, match="low: is nan"):
        policy.check(None, np.nan, 1)
    with pytest.raises(ValueError, match="low: is 1, must not exceed high, -1"):
        policy.check(None, 1, -1)
    with pytest.raises(ValueError, match="the policy knows"):
        policy.with_outside("raise").range([[-9, 9], [0, 1]])
    with pytest.raises(ValueError, match="state: has shape"):
        policy.explain([1.0])


@given(SEEDS, st.sampled_from(["constant", "linear"]))
@settings(max_examples=40)
def test_an_explanation_holds_in_the_whole_cell(seed: int, leaf_model: str) -> None:
    policy = random_policy(seed, leaf_model)
    rng = np.random.default_rng(seed)
    state = rng.uniform(-2, 2, 2)
    (told,) = policy.explain(state, names=["angle", "speed"])
    lo = np.maximum([c.low for c in told.conditions], -5)
    hi = np.minimum([c.high for c in told.conditions], 5)
    others = np.clip(hi - rng.random((50, 2)) * (hi - lo), np.nextafter(lo, inf), hi)
    law = np.clip(told.constant + others @ told.slopes, *bounds_of(policy))
    assert policy.act_batch(others)[:, 0] == pytest.approx(law, abs=1e-9)
    assert told.action == policy.act(state)[0]
    text = str(told)
    assert text.startswith("action 0 is ")
    assert "all 3 trees stay in their leaves" in text


def bounds_of(policy: pf.Policy) -> tuple[float, float]:
    return float(policy.action_space.low[0]), float(policy.action_space.high[0])
