"""The greedy policy: the best action of Q, and what it refuses."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import policyforest as pf
from two_action_policies import BOX, PI, STATES, grown, some_states


def make_greedy(search="exact", periodic=None, dtype=np.float64):
    forest = grown(4, box=np.concatenate([BOX, [[-1.0, 2.0]]]), periodic=periodic)
    space = Box(-1.0, 2.0, (1,), dtype)
    return pf.GreedyPolicy(forest, STATES, space, search, 30, periodic=periodic or {})


def test_the_greedy_policy_takes_the_best_action():
    policy, states = make_greedy(), some_states(50)
    chosen = policy.act_batch(states)
    values = policy.forest.predict(np.column_stack([states, chosen]))
    for action in np.linspace(-1, 2, 101):
        others = policy.forest.predict(np.column_stack([states, np.full(50, action)]))
        assert (values >= others - 1e-12).all()
    assert np.array_equal(policy.act(states[7]), chosen[7])
    assert np.array_equal(policy.act_batch(4 * states), policy.act_batch(np.clip(4 * states, BOX[:, 0], BOX[:, 1])))


def test_the_greedy_policy_turns_angles_back():
    policy = make_greedy(periodic={0: (-PI, PI)})
    states = some_states(50)
    assert np.array_equal(policy.act_batch(states + [4 * PI, 0.0]), policy.act_batch(states))
    assert not np.array_equal(make_greedy().act_batch(states + [4 * PI, 0.0]), make_greedy().act_batch(states))


def test_the_greedy_policy_predicts_for_stable_baselines3():
    policy = make_greedy("merged", dtype=np.float32)
    many, memory = policy.predict(some_states(4).astype(np.float32), state=1)
    assert (many.dtype, many.shape, memory) == (np.float32, (4, 1), 1)
    assert policy.predict(np.zeros(2))[0].shape == (1,)


def test_the_greedy_policy_refuses_bad_states():
    policy = make_greedy()
    for states in ([[0.0]], [[0.0, 0.0, 0.0]], [[0.0, np.nan]], [0.0, 0.0], np.zeros((0, 2))):
        with pytest.raises(ValueError, match="states"):
            policy.act_batch(states)
    for state in ([0.0], [0.0, np.nan], [[0.0, 0.0]]):
        with pytest.raises(ValueError, match="state"):
            policy.act(state)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"forest": grown(0)}, "forest: has 2 inputs, must have 2 \\+ 1"),
        ({"observation_space": Discrete(3)}, "observation_space"),
        ({"action_space": Discrete(3)}, "action_space"),
        ({"action_search": "guess"}, "action_search"),
        ({"max_leaves": 0}, "max_leaves"),
        ({"periodic": {2: (0.0, 1.0)}}, "periodic"),
    ],
)
def test_a_greedy_policy_needs_parts_that_fit(changes, message):
    greedy = make_greedy()
    fields = {name: getattr(greedy, name) for name in ("forest", "observation_space", "action_space")}
    with pytest.raises(ValueError, match=message):
        pf.GreedyPolicy(**{**fields, **changes})
