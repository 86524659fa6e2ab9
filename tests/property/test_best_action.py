"""Best action: max and arg max over the action box, against a look at every cell between thresholds."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.algebra import project
from oracles.best_action import best_in_one_dimension, best_value, cells, supremum, upper_corner
from oracles.forest import Interval, Region, Tree, predict, read_trees, whole
from policyforest import Forest, grow_forest
from strategies import SEEDS, Numbers, forests, halves, probes, uneven

A_FEW = settings(max_examples=30)  # what is refused does not depend on the forest

TOLERANCE = 1e-9


class Case(NamedTuple):
    forest: Forest
    plain: list[Tree]
    action_dims: list[int]
    states: np.ndarray

    @property
    def state_dims(self) -> list[int]:
        return [d for d in range(self.forest.n_inputs) if d not in self.action_dims]

    @property
    def action_box(self) -> Region:
        return whole(self.forest.box[self.action_dims])

    def projected(self, i: int) -> list[Tree]:
        fixed = dict(zip(self.state_dims, self.states[i].tolist(), strict=True))
        return [project(tree, fixed) for tree in self.plain]

    def at(self, i: int, action: np.ndarray) -> np.ndarray:
        """The input (s_i, a)."""
        x = np.empty(self.forest.n_inputs)
        x[self.state_dims], x[self.action_dims] = self.states[i], action
        return x


@st.composite
def cases(
    draw: st.DrawFn,
    n_actions: tuple[int, int],
    model: str,
    values: Numbers | None = None,
    max_splits: int = 6,
) -> Case:
    """Three states of one or two inputs; the actions are anywhere among the inputs."""
    n_action, n_state = draw(st.integers(*n_actions)), draw(st.integers(1, 2))
    n = n_action + n_state
    arrays = draw(forests(model=model, values=values, inputs=(n, n), n_trees=(1, 3), max_splits=max_splits))
    action_dims = sorted(draw(st.permutations(range(n)))[:n_action])
    if draw(st.booleans()):  # a wide action box, with halves on its grid of 1,024 steps
        arrays["box"][action_dims] = [-2.0, 2.0]
    plain = read_trees(arrays)
    states = np.delete(probes(plain, arrays["box"], draw(SEEDS), count=3), action_dims, axis=1)
    return Case(Forest.from_arrays(**arrays), plain, action_dims, states)


# Sums of halves are exact, so ties are ties in whatever order the leaves are added.
ONE_ACTION = cases((1, 1), "constant", values=halves, max_splits=8)
SEVERAL_ACTIONS = cases((2, 3), "constant", values=halves)
UNEVEN = cases((1, 3), "constant", values=uneven)
LINEAR = cases((1, 2), "linear")
ANY = st.one_of(ONE_ACTION, SEVERAL_ACTIONS, UNEVEN, LINEAR)


@given(ONE_ACTION)
def test_one_action_is_the_middle_of_the_lowest_best_interval(case: Case) -> None:
    best = case.forest.best_action(case.states, case.action_dims)
    for i in range(len(case.states)):
        expected = best_in_one_dimension(case.projected(i), case.action_box[0])
        assert best.value[i] == expected.value
        assert best.box[i].tolist() == [[expected.interval.lo, expected.interval.hi]]
        assert best.action[i].tolist() == [expected.action]


@given(st.one_of(ONE_ACTION, SEVERAL_ACTIONS))
def test_the_action_attains_the_largest_value_of_all_cells(case: Case) -> None:
    best = case.forest.best_action(case.states, case.action_dims)
    for i in range(len(case.states)):
        assert best.value[i] == best_value(case.projected(i), case.action_box)
        assert case.forest.predict_one(case.at(i, best.action[i])) == best.value[i]
        assert_within(best.action[i], best.box[i], case.action_box)


@given(UNEVEN)
def test_values_that_round_are_maximal_but_for_rounding(case: Case) -> None:
    best = case.forest.best_action(case.states, case.action_dims)
    for i in range(len(case.states)):
        largest = best_value(case.projected(i), case.action_box)
        assert best.value[i] == pytest.approx(largest, rel=0.0, abs=1e-14)
        assert case.forest.predict_one(case.at(i, best.action[i])) == best.value[i]
        assert_within(best.action[i], best.box[i], case.action_box)


@given(SEVERAL_ACTIONS)
def test_the_box_is_the_lowest_one_with_the_largest_value(case: Case) -> None:
    best = case.forest.best_action(case.states, case.action_dims)
    for i in range(len(case.states)):
        trees = case.projected(i)
        everywhere = cells(trees, case.action_box)
        is_best = [predict(trees, upper_corner(cell)) == best.value[i] for cell in everywhere]
        assert all(good for good, cell in zip(is_best, everywhere, strict=True) if lies_in(cell, best.box[i]))
        lowest = everywhere[is_best.index(True)]
        assert best.box[i, :, 0].tolist() == [side.lo for side in lowest]


@given(LINEAR)
def test_linear_leaves_are_followed_to_the_corners_of_their_boxes(case: Case) -> None:
    best = case.forest.best_action(case.states, case.action_dims)
    for i in range(len(case.states)):
        trees = case.projected(i)
        assert best.value[i] == pytest.approx(supremum(trees, case.action_box), rel=0.0, abs=TOLERANCE)
        winner = tuple(
            Interval(lo, hi, lo == side.lo)
            for (lo, hi), side in zip(best.box[i].tolist(), case.action_box, strict=True)
        )
        assert best.value[i] == pytest.approx(supremum(trees, winner), rel=0.0, abs=TOLERANCE)
        assert_within(best.action[i], best.box[i], case.action_box)


@given(ANY)
def test_the_merged_tree_finds_the_same_maximum_when_nothing_is_pruned(case: Case) -> None:
    exact = case.forest.best_action(case.states, case.action_dims)
    merged = case.forest.best_action(case.states, case.action_dims, search="merged", max_leaves=10**6)
    np.testing.assert_allclose(merged.value, exact.value, rtol=0.0, atol=TOLERANCE)
    for i in range(len(case.states)):
        assert_within(merged.action[i], merged.box[i], case.action_box)
        if case.forest.leaf_model == "constant":
            there = case.forest.predict_one(case.at(i, merged.action[i]))
            assert there == pytest.approx(exact.value[i], rel=0.0, abs=TOLERANCE)


@given(ANY, st.integers(1, 5))
def test_a_pruned_merged_tree_still_gives_an_action_of_the_box(case: Case, max_leaves: int) -> None:
    merged = case.forest.best_action(case.states, case.action_dims, search="merged", max_leaves=max_leaves)
    assert np.isfinite(merged.value).all()
    for action, box in zip(merged.action, merged.box, strict=True):
        assert_within(action, box, case.action_box)


@given(ANY)
def test_a_block_of_states_and_threads_give_the_same_bits(case: Case) -> None:
    together = case.forest.best_action(case.states, case.action_dims)
    threads = case.forest.best_action(case.states, case.action_dims, n_jobs=2)
    for i in range(len(case.states)):
        alone = case.forest.best_action(case.states[i : i + 1], case.action_dims)
        for name in ("value", "action", "box"):
            bits = getattr(together, name)[i].tobytes()
            assert getattr(alone, name)[0].tobytes() == getattr(threads, name)[i].tobytes() == bits


@given(ANY)
def test_actions_come_last_unless_told_otherwise(case: Case) -> None:
    n_state = case.states.shape[1]
    states = np.broadcast_to(case.forest.box[:n_state, 0], (2, n_state))
    default = case.forest.best_action(states)
    spelled_out = case.forest.best_action(states, list(range(n_state, case.forest.n_inputs)))
    assert default.value.shape == (2,)
    assert default.action.shape == (2, len(case.action_dims))
    assert default.box.shape == (2, len(case.action_dims), 2)
    assert default.action.tobytes() == spelled_out.action.tobytes()


@A_FEW
@given(ANY, st.sampled_from(["exact", "merged"]), st.sampled_from(["below", "above", "nan"]), st.data())
def test_a_state_outside_the_box_is_refused(case: Case, search: str, where: str, data: st.DataObject) -> None:
    i, d = (data.draw(st.integers(0, size - 1)) for size in case.states.shape)
    lo, hi = case.forest.box[case.state_dims[d]]
    outside = {"below": np.nextafter(lo, -np.inf), "above": np.nextafter(hi, np.inf), "nan": np.nan}
    states = case.states.copy()
    states[i, d] = outside[where]
    with pytest.raises(ValueError, match=r"\bstates\b"):
        case.forest.best_action(states, case.action_dims, search=search)


@A_FEW
@given(ANY)
def test_wrong_arguments_are_named(case: Case) -> None:
    n = case.forest.n_inputs
    with pytest.raises(ValueError, match=r"\bstates\b"):
        case.forest.best_action(np.zeros((1, n + 1)))
    with pytest.raises(ValueError, match=r"\bsearch\b"):
        case.forest.best_action(case.states, case.action_dims, search="fast")
    with pytest.raises(ValueError, match=r"\bmax_leaves\b"):
        case.forest.best_action(case.states, case.action_dims, search="merged", max_leaves=0)
    for bad in (n, -n - 1):
        with pytest.raises(ValueError, match=r"\baction_dims\b"):
            case.forest.best_action(case.states, [bad, *case.action_dims[1:]])
    assume(len(case.action_dims) > 1)
    with pytest.raises(ValueError, match=r"\baction_dims\b"):
        case.forest.best_action(case.states, [case.action_dims[0]] * len(case.action_dims))


@pytest.mark.parametrize("search", ["exact", "merged"])
@pytest.mark.parametrize("n_actions", [1, 2])
def test_the_middle_of_a_huge_box_does_not_overflow(n_actions: int, search: str) -> None:
    forest = Forest.from_arrays(
        feature=np.array([-1], np.int32),
        split=np.array([1.0]),
        child=np.array([0], np.int32),
        node_offsets=np.array([0, 1]),
        box=np.array([[0.0, 1.0], *[[-1.5e308, 1.5e308]] * n_actions]),
    )
    assert forest.best_action(np.zeros((1, 1)), search=search).action.tolist() == [[0.0] * n_actions]


def assert_within(action: np.ndarray, box: np.ndarray, action_box: Region) -> None:
    assert (box[:, 0] <= action).all()
    assert (action <= box[:, 1]).all()
    assert all(side.lo <= lo <= hi <= side.hi for (lo, hi), side in zip(box, action_box, strict=True))


def lies_in(cell: Region, box: np.ndarray) -> bool:
    """Cells without width, at the lower border, count only in boxes without width: others may begin above."""
    return all(
        lo <= side.lo and side.hi <= hi and (side.lo < side.hi or lo == hi)
        for side, (lo, hi) in zip(cell, box, strict=True)
    )


@pytest.mark.parametrize("grid", [1024, None])  # a place for each cell, or lists of steps where cells are many
def test_blocks_of_many_states_find_what_all_cells_say(grid: int | None) -> None:
    rng = np.random.default_rng(0)
    samples = rng.uniform(-1, 1, (4_000, 2))
    values = np.round(2 * np.sin(3 * samples[:, 0]) * samples[:, 1])
    box = np.array([[-1.0, 1.0]] * 2)
    options = {"min_samples_leaf": 1, "n_estimators": 20, "box": box}
    forest = grow_forest(samples, values, grid={1: grid} if grid else None, **options)
    thresholds = np.unique(forest.arrays["split"][forest.arrays["feature"] == 1])
    assert (len(thresholds) < 4096) == (grid is not None)
    states = rng.uniform(-1, 1, (200, 1))
    best = forest.best_action(states)
    lower, upper = np.r_[-1.0, thresholds], np.r_[thresholds, 1.0]
    for i in range(0, len(states), 7):
        # Leaves are whole numbers or short sums of them: means over trees tie exactly or differ by far.
        rows = np.column_stack([np.full(len(upper), states[i, 0]), upper])
        sums = np.round(sum(tree.predict(rows) for tree in forest), 9)
        first = int(np.argmax(sums))
        last = first + int(np.argmin(np.r_[sums[first:] == sums[first], False])) - 1
        assert best.box[i].tolist() == [[lower[first], upper[last]]]
        assert best.value[i] == pytest.approx(sums[first] / len(forest), abs=1e-9)


MANY = 8 * 16 * 64  # from so many states on, groups of near ones leave out cells that are best for none of them


@A_FEW
@given(ONE_ACTION, SEEDS)
def test_many_states_find_what_each_of_them_finds(case: Case, seed: int) -> None:
    lo, hi = case.forest.box[case.state_dims].clip(-3, 3).T
    near = np.random.default_rng(seed).uniform(lo, hi, (MANY - len(case.states), len(lo)))
    states = np.vstack([case.states, near])
    best, each = (
        case.forest.best_action(states, case.action_dims),
        case.forest.best_action(case.states, case.action_dims),
    )
    for name in ("value", "action", "box"):
        assert np.array_equal(getattr(best, name)[: len(case.states)], getattr(each, name))


@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cells_that_are_left_out_change_no_bit(rounded: bool, n_jobs: int) -> None:
    rng = np.random.default_rng(1)
    samples = rng.uniform(-1, 1, (20_000, 3))
    values = -((samples[:, 2] - samples[:, 0] * samples[:, 1]) ** 2) + 0.1 * rng.normal(size=len(samples))
    values = np.round(4 * values) / 4 if rounded else values
    box = np.array([[-1.0, 1.0]] * 3)
    forest = grow_forest(samples, values, n_estimators=8, min_samples_leaf=5, grid={2: 1024}, box=box)
    states = rng.uniform(-1, 1, (2 * MANY, 2))
    best = forest.best_action(states, n_jobs=n_jobs)
    for begin in range(0, len(states), 1_000):
        few = forest.best_action(states[begin : begin + 1_000])
        for name in ("value", "action", "box"):
            assert np.array_equal(getattr(best, name)[begin : begin + 1_000], getattr(few, name))
