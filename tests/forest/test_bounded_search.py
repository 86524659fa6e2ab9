"""The bounded search over several actions: near the exact maximum, at a cost per state that is known."""

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest import Forest, grow_forest
from policyforest.forest import bounded_search
from policyforest.forest.bounded_search import N_CANDIDATES, STARTS, candidate_points

THE_BOX = np.array([[-1.0, 1.0]] * 3 + [[-3.0, 3.0], [0.0, 5.0]])


def smooth_forest(leaf_model: str = "constant", n_estimators: int = 10) -> Forest:
    """Three states and two actions; the best action depends on the state."""
    rng = np.random.default_rng(0)
    X = rng.uniform(THE_BOX[:, 0], THE_BOX[:, 1], (800, 5))
    y = -((X[:, 3] - X[:, 0] - X[:, 1]) ** 2) - (X[:, 4] - 2 - X[:, 2]) ** 2 + 0.3 * X[:, 3] * X[:, 4]
    return grow_forest(X, y, n_estimators=n_estimators, leaf_model=leaf_model, min_samples_leaf=8, box=THE_BOX)


def some_states(n: int = 60) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1, 1, (n, 3))


def linear_system(n_states: int, n_actions: int, seed: int) -> pf.Transitions:
    """400 random steps of a random linear system with a quadratic cost."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n_states, n_states))
    A *= 1.02 / np.abs(np.linalg.eigvals(A)).max()
    B = 0.3 * rng.normal(size=(n_states, n_actions))
    states, actions = rng.uniform(-2, 2, (400, n_states)), rng.uniform(-3, 3, (400, n_actions))
    rewards = -(states**2).sum(axis=1) - 0.1 * (actions**2).sum(axis=1)
    ahead = states @ A.T + actions @ B.T
    space = Box(-3, 3, (n_actions,), np.float64)
    return pf.Transitions(states, actions, rewards, ahead, np.zeros(400, dtype=bool), action_space=space)


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_the_value_is_the_prediction_at_the_action_to_the_bit(leaf_model: str) -> None:
    forest, states = smooth_forest(leaf_model), some_states()
    found = forest.best_action(states, search="bounded")
    assert np.array_equal(found.value, forest.predict(np.concatenate([states, found.action], axis=1)))
    assert (found.action >= THE_BOX[3:, 0]).all()
    assert (found.action <= THE_BOX[3:, 1]).all()
    assert np.array_equal(found.box, np.stack([found.action, found.action], axis=-1))


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_it_lies_between_the_best_candidate_and_the_exact_maximum(leaf_model: str) -> None:
    forest, states = smooth_forest(leaf_model), some_states()
    found = forest.best_action(states, search="bounded").value
    points = THE_BOX[3:, 0] + candidate_points(2) * (THE_BOX[3:, 1] - THE_BOX[3:, 0])
    rows = np.concatenate([np.repeat(states, len(points), axis=0), np.tile(points, (len(states), 1))], axis=1)
    candidates = forest.predict(rows).reshape(len(states), -1)
    exact = forest.best_action(states).value
    assert (found >= candidates.max(axis=1) - 1e-12).all()
    assert (found <= exact + 1e-12).all()
    assert found.mean() > candidates.max(axis=1).mean()


@pytest.mark.parametrize(("n_states", "n_actions"), [(4, 2), (2, 3), (8, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_misses_little_of_what_actions_matter_in_a_learned_q(n_states: int, n_actions: int, seed: int) -> None:
    """Measured on 25 trees: 0.01% to 0.2% of the spread of Q over the actions in the mean, 10% for the worst state of
    300. The 10 trees here are rougher."""
    data = linear_system(n_states, n_actions, seed)
    q = pf.FittedQIteration(discount=0.9, horizon=3, n_estimators=10, resample=None).fit(data)
    states = data.states[:100]
    exact, found = (q.forest.best_action(states, search=search).value for search in ("exact", "bounded"))
    actions = np.random.default_rng(2).uniform(-3, 3, (100 * 50, n_actions))
    at = q.forest.predict(np.concatenate([np.repeat(states, 50, axis=0), actions], axis=1)).reshape(100, 50)
    missed = (exact - found) / (exact - at.min(axis=1))
    assert missed.mean() < 0.03
    assert missed.max() < 0.5


def test_one_action_dimension_is_searched_exactly() -> None:
    forest = smooth_forest()
    states = np.random.default_rng(3).uniform([-1, -1, -1, -3], [1, 1, 1, 3], (40, 4))
    exact, bounded = (forest.best_action(states, search=search) for search in ("exact", "bounded"))
    assert np.array_equal(exact.action, bounded.action)
    assert np.array_equal(exact.box, bounded.box)


def test_actions_may_be_any_of_the_inputs() -> None:
    forest = smooth_forest()
    arrays = {name: array for name, array in forest.arrays.items() if name != "leaf_offsets"}
    moved = np.array([2, 3, 4, 0, 1])  # where each input is now: the actions come first
    feature = np.where(arrays["feature"] < 0, -1, moved[arrays["feature"]]).astype(np.int32)
    box = THE_BOX[[3, 4, 0, 1, 2]]
    turned = Forest.from_arrays(**(arrays | {"feature": feature, "box": box, "coefficients": None}))
    states = some_states()
    plain, other = forest.best_action(states, search="bounded"), turned.best_action(states, [0, 1], search="bounded")
    assert np.array_equal(plain.action, other.action)
    assert np.array_equal(plain.value, other.value)


def test_threads_chunks_and_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, states = smooth_forest(), some_states()
    expected = forest.best_action(states, search="bounded")
    assert np.array_equal(forest.best_action(states, search="bounded", n_jobs=2).action, expected.action)
    alone = np.concatenate([forest.best_action(state[None], search="bounded").action for state in states])
    assert np.array_equal(alone, expected.action)
    monkeypatch.setattr(bounded_search, "CHUNK", 7)
    assert np.array_equal(forest.best_action(states, search="bounded").action, expected.action)


def test_the_cost_of_a_state_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines from the best two candidates along each action, and once more from the better one."""
    lines: list[int] = []
    search = bounded_search._core.line_search

    def counted(forest, rows, dim, n_threads):
        lines.append(len(rows))
        return search(forest, rows, dim, n_threads)

    monkeypatch.setattr(bounded_search._core, "line_search", counted)
    smooth_forest().best_action(some_states(60), search="bounded")
    assert lines == [STARTS * 60] * 2 + [60] * 2


@pytest.mark.parametrize("n_dims", [2, 3, 6, 17])
def test_candidates_are_the_middle_and_points_all_over_the_box(n_dims: int) -> None:
    points = candidate_points(n_dims)
    assert points.shape == (N_CANDIDATES + 1, n_dims)
    assert (points[0] == 0.5).all()
    assert (points >= 0).all()
    assert (points < 1).all()
    quarters = np.array([np.bincount((4 * column).astype(int), minlength=4) for column in points.T])
    assert quarters.min() >= 7  # of the 8 that an even share would be
    assert len(np.unique(points, axis=0)) == len(points)
    assert all(len(np.unique(column)) >= N_CANDIDATES for column in points.T)


def test_an_action_without_width_stays_where_it_is() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.uniform(-1, 1, (200, 2)), np.full(200, 0.5)])
    box = np.array([[-1.0, 1.0], [-1.0, 1.0], [0.5, 0.5]])
    forest = grow_forest(X, X[:, 1], n_estimators=3, box=box)
    found = forest.best_action([[0.0]], search="bounded")
    assert found.action[0, 1] == 0.5
    assert found.action[0, 0] > 0.8
