"""One tree that does what a forest does: small, repeatable, and far nearer to it than a merged one."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.learning import distillation

PROBLEM = "policyforest/DoubleIntegrator-v0"


@pytest.fixture(scope="module")
def learned() -> tuple[pf.Policy, pf.Transitions]:
    data = pf.collect(PROBLEM, episodes=100, seed=0)
    return pf.FittedPolicyForest(q_learner=pf.FittedQIteration(horizon=10, discount=0.98)).fit(data), data


def three_states(leaf_model: str = "linear") -> tuple[pf.Policy, pf.Transitions]:
    """A policy on a circle in three dimensions, and samples on it."""
    rng = np.random.default_rng(0)
    angle, speed = rng.uniform(-np.pi, np.pi, 800), rng.uniform(-1, 1, 800)
    states = np.column_stack([np.cos(angle), np.sin(angle), speed])
    forest = pf.grow_forest(
        states, np.sin(3 * angle) + speed, n_estimators=20, leaf_model=leaf_model, min_samples_leaf=9
    )
    spaces = Box(-1, 1, (3,), np.float64), Box(-2, 2, (1,), np.float64)
    columns = (states, np.zeros((800, 1)), np.zeros(800), states, np.zeros(800, bool))
    samples = pf.Transitions(*columns, observation_space=spaces[0], action_space=spaces[1])
    return pf.Policy((forest,), *spaces), samples


@pytest.mark.parametrize("max_leaves", [1, 2, 60])
def test_a_distilled_policy_is_one_small_tree(learned, max_leaves: int) -> None:
    policy, _ = learned
    tree = policy.distil(max_leaves, n_states=5_000)
    assert [len(forest) for forest in tree.forests] == [1]
    assert 1 <= tree.n_leaves <= max_leaves
    assert (tree.info, tree.action_space, tree.outside) == (policy.info, policy.action_space, policy.outside)
    report = tree.simplification
    assert (report.max_leaves, report.n_leaves, report.n_states) == (max_leaves, tree.n_leaves, 1_250)
    assert policy.simplification is None


def test_with_few_leaves_it_is_nearer_to_the_forest_than_a_merged_tree(learned) -> None:
    policy, data = learned
    states = data.states
    moved = [np.abs(tree.act_batch(states) - policy.act_batch(states)).mean() for tree in both(policy, 60)]
    assert moved[0] < 0.5 * moved[1]
    returns = [pf.evaluate(tree, PROBLEM, episodes=1, seed=0).mean for tree in (policy, *both(policy, 60))]
    assert returns[1] > returns[0] - 0.5


def both(policy: pf.Policy, max_leaves: int) -> tuple[pf.Policy, pf.Policy]:
    return policy.distil(max_leaves, n_states=20_000), policy.simplify(max_leaves)


def test_it_is_the_same_for_any_number_of_threads(learned, tmp_path) -> None:
    policy, _ = learned
    files = []
    for jobs in (1, 2):
        policy.distil(30, n_states=4_000, n_jobs=jobs).save(tmp_path / f"{jobs}.pforest")
        files.append(pf.load(tmp_path / f"{jobs}.pforest"))
    assert all(np.array_equal(a, files[1].forests[0].arrays[n]) for n, a in files[0].forests[0].arrays.items())
    assert files[0].simplification == files[1].simplification
    other = policy.distil(30, n_states=4_000, random_state=1)
    assert not np.array_equal(other.forests[0].arrays["split"], files[0].forests[0].arrays["split"])


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_in_three_dimensions_it_is_grown_near_the_samples(leaf_model: str, monkeypatch) -> None:
    policy, samples = three_states(leaf_model)

    def moved(tree: pf.Policy) -> float:
        return np.abs(tree.act_batch(samples.states) - policy.act_batch(samples.states)).mean()

    tree = policy.distil(150, samples, n_states=8_000)
    assert tree.forests[0].leaf_model == leaf_model
    assert moved(tree) < 0.7 * moved(policy.simplify(150))
    monkeypatch.setattr(distillation, "FILLED_DIMENSIONS", 3)  # states all over the box
    assert moved(tree) < 0.9 * moved(policy.distil(150, samples, n_states=8_000))


def test_of_several_trees_the_one_that_follows_best_is_kept(learned, monkeypatch) -> None:
    policy, _ = learned
    best = [policy.distil(40, n_states=4_000, random_state=seed).simplification.mean_change[0] for seed in range(8)]
    monkeypatch.setattr(distillation, "CANDIDATES", 1)  # the first of them
    first = [policy.distil(40, n_states=4_000, random_state=seed).simplification.mean_change[0] for seed in range(8)]
    assert sum(best) < 0.95 * sum(first)


def test_an_angle_has_no_seam() -> None:
    turn = {0: (-np.pi, np.pi)}
    rng = np.random.default_rng(0)
    states = np.column_stack([rng.uniform(-np.pi, np.pi, 2_000), rng.uniform(-1, 1, 2_000)])
    spaces = Box(np.array([-np.pi, -1]), np.array([np.pi, 1]), dtype=np.float64), Box(-1, 1, (1,), np.float64)
    box = [[-np.pi, np.pi], [-1, 1]]
    forest = pf.grow_forest(states, np.cos(states[:, 0]), n_estimators=20, periodic=turn, box=box, min_samples_leaf=20)
    tree = pf.Policy((forest,), *spaces, turn).distil(200, n_states=10_000)
    assert tree.periodic == turn
    assert tree.act(np.array([np.pi, 0.0]))[0] == pytest.approx(-1.0, abs=0.1)
    assert tree.act(np.array([3 * np.pi, 0.0]))[0] == pytest.approx(tree.act(np.array([np.pi, 0.0]))[0])


def test_what_makes_no_sense_is_refused(learned) -> None:
    policy, _ = learned
    for settings in ({"max_leaves": 0}, {"max_leaves": 5, "n_states": 2}):
        with pytest.raises(ValueError, match=r"max_leaves|n_states"):
            policy.distil(**settings)
    wide, samples = three_states()
    with pytest.raises(ValueError, match=r"samples: are None, must be given for a policy of 3 state dimensions"):
        wide.distil(5)
    with pytest.raises(ValueError, match="samples: have 3 state dimensions, must have 2"):
        policy.distil(5, samples)
    with pytest.raises(TypeError, match="samples: is ndarray"):
        wide.distil(5, samples.states)
