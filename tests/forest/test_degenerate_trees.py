"""A tree that is one long chain: every operation walks it without recursion and in about linear time."""

import numpy as np
import pytest

from policyforest import Forest

DEPTH = 100_000
BOX = np.array([[0.0, 1.0], [0.0, 1.0]])


@pytest.fixture(scope="module")
def chain() -> Forest:
    """x_0 <= 1/(n+1), else x_1 <= 2/(n+1), else x_0 <= 3/(n+1), …: two such trees, leaf number i holds i."""
    inner = 2 * np.arange(DEPTH)
    feature = np.full(2 * DEPTH + 1, -1, np.int32)
    feature[inner] = np.arange(DEPTH) % 2
    is_leaf = feature == -1
    child = np.where(is_leaf, np.cumsum(is_leaf) - 1, np.arange(1, len(feature) + 1)).astype(np.int32)
    split = child.astype(np.float64)
    split[inner] = np.arange(1, DEPTH + 1) / (DEPTH + 1)
    return Forest.from_arrays(
        feature=np.tile(feature, 2),
        split=np.tile(split, 2),
        child=np.tile(child, 2),
        node_offsets=np.array([0, len(feature), 2 * len(feature)]),
        box=BOX,
    )


def test_predicts_at_the_end_of_the_chain(chain: Forest) -> None:
    assert chain.depth == DEPTH
    assert chain.predict(BOX.T).tolist() == [0.0, DEPTH]
    assert chain.predict_one(np.ones(2)) == DEPTH


def test_projects_to_every_other_link(chain: Forest) -> None:
    assert chain.project(np.ones(1)).n_leaves == 2 * (DEPTH // 2 + 1)


def test_averages_to_itself(chain: Forest) -> None:
    merged = chain.average()
    assert merged.n_leaves == DEPTH + 1
    assert merged.predict(BOX.T).tolist() == chain.predict(BOX.T).tolist()


def test_prunes(chain: Forest) -> None:
    assert chain.prune(3).n_leaves == 6
    assert chain.average(max_leaves=3).n_leaves == 3


@pytest.mark.parametrize("action_dims", [[0], [1]])
def test_the_best_action_is_at_the_end(chain: Forest, action_dims: list[int]) -> None:
    best = chain.best_action(np.ones((2, 1)), action_dims)
    assert best.value.tolist() == [DEPTH, DEPTH]
    merged = chain.best_action(np.ones((1, 1)), action_dims, search="merged", max_leaves=4)
    assert 0.0 <= merged.value[0] <= DEPTH
