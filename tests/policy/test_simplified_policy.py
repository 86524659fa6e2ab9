"""The time of an action: the bound on its comparisons, and policies of one small tree per action."""

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from oracles.forest import Split, read_trees
from two_action_policies import BOX, STATES, grown, make, some_states

# --- The bound on its time -------------------------------------------------------------------------------------------


def comparisons(tree, x):
    count = 0
    while isinstance(tree, Split):
        tree = tree.lower if x[tree.feature] <= tree.threshold else tree.upper
        count += 1
    return count


def deepest(tree):
    return 1 + max(deepest(tree.lower), deepest(tree.upper)) if isinstance(tree, Split) else 0


def test_no_action_takes_more_comparisons_than_it_says():
    policy = make()
    trees = [tree for forest in policy.forests for tree in read_trees(forest.arrays)]
    assert policy.worst_case_comparisons == sum(map(deepest, trees))
    taken = [sum(comparisons(tree, x) for tree in trees) for x in some_states().tolist()]
    assert 0 < max(taken) <= policy.worst_case_comparisons
    assert policy.worst_case_comparisons <= sum(forest.depth * len(forest) for forest in policy.forests)


# --- One tree per action --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
@pytest.mark.parametrize("max_leaves", [1, 2, 17])
def test_a_simplified_policy_is_one_small_tree_an_action(leaf_model, max_leaves):
    policy = make(leaf_model)
    simple = policy.simplify(max_leaves, n_states=500)
    assert [len(forest) for forest in simple.forests] == [1, 1]
    assert all(forest.n_leaves <= max_leaves for forest in simple.forests)
    assert simple.forests[0].leaf_model == leaf_model
    assert simple.worst_case_comparisons < policy.worst_case_comparisons
    report = simple.simplification
    assert (report.max_leaves, report.n_leaves, report.n_states) == (max_leaves, simple.n_leaves, 500)
    assert policy.simplification is None
    assert (simple.info, simple.action_space, simple.outside) == (policy.info, policy.action_space, policy.outside)


def test_it_reports_how_far_the_actions_moved():
    policy = make("constant", reach=5.0)
    report = policy.simplify(6).simplification
    states = some_states(20_000)
    moved = np.abs(policy.simplify(6).act_batch(states) - policy.act_batch(states))
    assert np.allclose(report.mean_change, moved.mean(axis=0), rtol=0.05)
    assert np.allclose(report.largest_change, moved.max(axis=0), rtol=0.2)
    assert all(type(change) is float for change in report.mean_change + report.largest_change)


def test_more_leaves_move_it_less_and_enough_leaves_not_at_all():
    policy = make("linear", reach=5.0)
    moved = [max(policy.simplify(n, 500).simplification.mean_change) for n in (1, 20, 100_000)]
    assert moved[0] > moved[1] > moved[2]
    assert moved[2] < 1e-12


def test_a_policy_that_raises_outside_can_be_simplified():
    assert make(outside="raise").simplify(5, n_states=5_000).outside == "raise"


def test_simplify_refuses_what_makes_no_sense():
    for arguments in ((0,), (-1,), (3, 0)):
        with pytest.raises(ValueError, match=r"max_leaves|n_states"):
            make().simplify(*arguments)
    with pytest.raises(TypeError, match="max_leaves"):
        make().simplify(2.5)
    forest = grown(0, box=BOX).arrays
    endless = pf.Forest.from_arrays(
        **{name: forest[name] for name in ("feature", "split", "child", "node_offsets")}, box=[[-np.inf, np.inf]] * 2
    )
    with pytest.raises(ValueError, match=r"state_box: .*must be finite"):
        pf.Policy((endless,), STATES, Box(-1, 1, (1,))).simplify(5)
