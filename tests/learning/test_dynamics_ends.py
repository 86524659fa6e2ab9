"""Where the model ends episodes: limits that separate the samples, else a chance that is learned."""

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from logged_systems import ACTIONS, disk, ending_line, line, logged
from policyforest.learning.dynamics.ends import find_thresholds


def rule(data):
    return {(d, sign): limit for d, sign, limit in find_thresholds(data) or ()}


def test_samples_without_ends_never_end():
    model = pf.DynamicsForest(n_estimators=3).fit(line())
    assert model.end.kind == "never"
    assert not model.sample(200).terminals.any()


def test_limits_that_are_told_are_found_exactly():
    assert rule(ending_line(state_limits=[[-1.0, 1.5]])) == {(0, 1.0): 1.5, (0, -1.0): 1.0}


@pytest.mark.parametrize("space", [None, Box(-9.0, 9.0, (1,), np.float64)])
def test_limits_that_are_not_told_lie_half_way_to_the_nearest_end(space):
    data = ending_line(observation_space=space)
    living = np.concatenate([data.states, data.next_states[~data.terminals]])[:, 0]
    ended = data.next_states[data.terminals][:, 0]
    found = rule(data)
    assert found[0, 1.0] == (living.max() + ended[ended > 0].min()) / 2
    assert found[0, -1.0] == (-living.min() - ended[ended < 0].max()) / 2


def test_limits_separate_all_samples_and_pay_what_ends_paid():
    data = ending_line()
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert (model.end.kind, model.end.error) == ("thresholds", 0.0)
    for d, sign, limit in model.end.thresholds:
        assert (sign * data.states[:, d] < limit).all()
    _, _, chance, paid = model.native.step(np.array([[1.4], [1.4]]), np.array([[1.0], [-1.0]]), None, False)
    assert chance.tolist() == [1.0, 0.0]
    assert paid[0] == -5.0


def test_a_limit_of_the_problem_goes_before_what_was_seen_of_another_dimension():
    """Ends beyond 1 in the first dimension; the second is far away there, once, by coincidence."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (50, 2))
    ahead = states.copy()
    ahead[:5, 0], ahead[0, 1] = 1.2, 1.1
    data = pf.Transitions(
        states, np.zeros((50, 1)), np.zeros(50), ahead, np.arange(50) < 5, action_space=ACTIONS,
        state_limits=[[-1.0, 1.0], [-2.0, 2.0]],
    )  # fmt: skip
    assert find_thresholds(data) == ((0, 1.0, 1.0),)


def test_a_single_end_beyond_a_limit_of_the_problem_is_no_coincidence():
    """Three ends at the upper limits of two dimensions, and one at each lower limit."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-0.9, 0.9, (50, 2))
    ahead = states.copy()
    ahead[:3, 0], ahead[3:6, 1], ahead[6, 0], ahead[7, 1] = 1.2, 1.2, -1.2, -1.2
    told = {"action_space": ACTIONS, "state_limits": [[-1.0, 1.0], [-1.0, 1.0]]}
    data = pf.Transitions(states, np.zeros((50, 1)), np.zeros(50), ahead, np.arange(50) < 8, **told)
    assert rule(data) == {(0, 1.0): 1.0, (1, 1.0): 1.0, (0, -1.0): 1.0, (1, -1.0): 1.0}


def test_ends_that_no_limit_separates_get_a_chance():
    data = disk()
    assert find_thresholds(data) is None
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert model.end.kind == "logistic"  # a disk is quadratic
    assert 0.0 < model.end.error < 0.1
    still = np.zeros((2, 1))
    _, _, chance, _ = model.native.step(np.array([[0.0, 0.0], [1.3, 1.3]]), still, None, False)
    assert chance[0] > 0.9
    assert chance[1] < 0.1


def test_ends_in_a_ring_get_a_forest():
    """Neither a limit nor a quadratic function tells a state at one of two places from the others."""
    data = logged(
        lambda s, a, rng: rng.uniform(-1, 1, 1),
        lambda rng: rng.uniform(-1, 1, 1),
        lambda s, a, ahead: 0.0,
        end=lambda s: bool(np.sin(12 * s[0]) > 0.5),
        n_episodes=200,
    )
    assert pf.DynamicsForest(n_estimators=3).fit(data).end.kind == "forest"


def test_an_end_that_changes_nothing_is_taken():
    data = pf.Transitions(
        np.ones((1, 2)), np.zeros((1, 1)), np.ones(1), np.ones((1, 2)), np.ones(1, dtype=bool),
        action_space=ACTIONS,
    )  # fmt: skip
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert model.end.kind == "forest"
    assert np.isfinite(model.sample(5).rewards).all()


@pytest.mark.parametrize("kernels", [False, True])
def test_the_reward_of_steps_that_all_end_their_episode_is_learned_like_any_other(kernels):
    data = logged(
        lambda s, a, rng: s,
        lambda rng: rng.uniform(-1, 1, 1),
        lambda s, a, ahead: -float((a[0] - np.sin(3 * s[0])) ** 2),
        end=lambda s: True,
        n_episodes=150,
    )
    model = pf.DynamicsForest(kernels=kernels).fit(data)
    rng = np.random.default_rng(1)
    states, actions = rng.uniform(-0.9, 0.9, (200, 1)), rng.uniform(-0.9, 0.9, (200, 1))
    _, _, chance, paid = model.native.step(states, actions, None, False)
    true = -((actions - np.sin(3 * states)) ** 2)[:, 0]
    assert (chance == 1.0).all()
    assert np.mean((paid - true) ** 2) < 0.05 * true.var()
