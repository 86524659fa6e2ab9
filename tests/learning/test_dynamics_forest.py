"""The model of the transitions: what it learns, when it may be trusted, and what is drawn from it."""

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from circle import PI, circle_samples, wrapped
from policyforest.learning.dynamics import dynamics_model as dynamics_forest

ACTIONS = Box(-1.0, 1.0, (1,), np.float64)
LINE = Box(-2.0, 2.0, (1,), np.float64)


def linear_system(n=300, seed=0, noise=0.0, spread=0.5):
    """s' = A s + B a, paid linearly; episodes of 10 samples."""
    rng = np.random.default_rng(seed)
    states = np.clip(rng.standard_normal((n, 2)) * spread, -1.9, 1.9)
    actions = rng.uniform(-1, 1, (n, 1))
    ahead = states @ [[0.9, 0.1], [0.0, 0.8]] + actions * [[0.05, 0.1]]
    ahead = np.clip(ahead + noise * rng.standard_normal((n, 2)), -2, 2)
    return pf.Transitions(
        states,
        actions,
        states @ [1.0, -2.0] + actions[:, 0],
        ahead,
        np.zeros(n, dtype=bool),
        np.arange(n) // 10,
        action_space=ACTIONS,
        observation_space=Box(-2.0, 2.0, (2,), np.float64),
    )


def pure_noise(n=300):
    rng = np.random.default_rng(0)
    return pf.Transitions(
        rng.uniform(-1, 1, (n, 2)),
        rng.uniform(-1, 1, (n, 1)),
        rng.standard_normal(n),
        rng.uniform(-1, 1, (n, 2)),
        np.zeros(n, dtype=bool),
        np.arange(n) // 10,
        action_space=ACTIONS,
    )


def test_a_linear_system_is_learned_and_drawn_from():
    data = linear_system()
    model = pf.DynamicsForest(n_estimators=10).fit(data)
    assert min(model.resampling(0).state_scores) > 0.999
    assert model.resampling(0).reward_score > 0.999
    assert model.resampling(0).terminal_error == 0.0
    assert model.recommended_samples() > 0
    drawn = model.sample(1000)
    truth = drawn.states @ [[0.9, 0.1], [0.0, 0.8]] + drawn.actions * [[0.05, 0.1]]
    assert np.abs(drawn.next_states - np.clip(truth, -2, 2)).max() < 0.01


def test_noise_is_not_recommended():
    for data in (pure_noise(), replace_rewards(linear_system(), np.random.default_rng(1).standard_normal(300))):
        model = pf.DynamicsForest(n_estimators=5).fit(data)
        assert model.recommended_samples() == 0
        q = pf.FittedQIteration(horizon=1, n_estimators=5, resample="auto").fit(data)
        assert q.resampling.n_drawn == 0
        assert q.resampling.reward_score < 0.5


def replace_rewards(data, rewards):
    return pf.Transitions(
        data.states,
        data.actions,
        rewards,
        data.next_states,
        data.terminals,
        data.episodes,
        action_space=data.action_space,
        observation_space=data.observation_space,
    )


def test_drawn_samples_lie_in_the_box_and_near_the_data():
    data = linear_system(spread=0.3)
    drawn = pf.DynamicsForest(n_estimators=5).fit(data).sample(2000)
    assert len(drawn) == 2000
    assert not drawn.terminals.any()
    for rows in (drawn.states, drawn.next_states):
        assert (np.abs(rows) <= 2.0).all()
    assert (np.abs(drawn.actions) <= 1.0).all()
    assert drawn.actions.std() == pytest.approx(1 / np.sqrt(3), rel=0.1)  # uniform
    nearest = np.abs(drawn.states[:, None] - data.states[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1.0  # a quarter of the box, from an outlier with far neighbours
    assert np.median(nearest) < 0.15
    assert (drawn.observation_space, drawn.action_space) == (data.observation_space, data.action_space)


def test_the_noise_of_the_system_is_drawn_too():
    data = linear_system(2000, noise=0.05)
    drawn = pf.DynamicsForest(n_estimators=5).fit(data).sample(3000)
    missed = drawn.next_states - (drawn.states @ [[0.9, 0.1], [0.0, 0.8]] + drawn.actions * [[0.05, 0.1]])
    assert missed.std(axis=0) == pytest.approx([0.05, 0.05], rel=0.2)


def test_ends_are_drawn_where_the_data_has_them():
    """The point leaves the line where it goes below -1."""
    rng = np.random.default_rng(0)
    n = 600
    states, actions = rng.uniform(-1, 1, (n, 1)), rng.uniform(-1, 1, (n, 1))
    ahead = states + actions / 2
    ends = ahead[:, 0] < -1
    data = pf.Transitions(
        states,
        actions,
        np.where(ends, -5.0, -np.abs(ahead[:, 0])),
        ahead,
        ends,
        np.arange(n),
        action_space=ACTIONS,
        observation_space=LINE,
    )
    model = pf.DynamicsForest(n_estimators=10).fit(data)
    drawn = model.sample(2000)
    truth = (drawn.states + drawn.actions / 2)[:, 0] < -1
    assert (drawn.terminals == truth).mean() > 0.95
    assert np.allclose(drawn.rewards[drawn.terminals], -5.0)
    assert drawn.rewards[~drawn.terminals].min() > -2.0
    assert model.resampling(0).terminal_error < 0.1


def test_the_same_seed_draws_the_same_samples():
    data = linear_system(100)
    model, twin = (pf.DynamicsForest(n_estimators=3, n_jobs=jobs).fit(data) for jobs in (1, 2))
    assert np.array_equal(model.sample(50).next_states, twin.sample(50).next_states)
    assert not np.array_equal(model.sample(50).states, model.sample(50, random_state=1).states)
    with pytest.raises(ValueError, match="n: is 0"):
        model.sample(0)


def test_enough_samples_need_no_others(monkeypatch):
    data = linear_system(100)
    model = pf.DynamicsForest(n_estimators=3).fit(data)
    assert model.recommended_samples() > 0
    monkeypatch.setattr(dynamics_forest, "ENOUGH_SAMPLES", 100)
    assert model.recommended_samples() == 0


def test_a_single_episode_is_held_out_by_stretches_of_time():
    data = linear_system(30)
    whole = pf.Transitions(
        data.states,
        data.actions,
        data.rewards,
        data.next_states,
        data.terminals,
        np.zeros(30, dtype=int),
        action_space=ACTIONS,
    )
    model = pf.DynamicsForest(n_estimators=3).fit(whole)
    assert min(model.state_scores) > 0.999
    assert model.recommended_samples() > 0
    assert np.isfinite(model.sample(20).next_states).all()


def test_drawn_samples_go_through_the_seam_of_a_circle():
    circle = circle_samples()
    drawn = pf.DynamicsForest().fit(circle).sample(2000)
    turned = wrapped(drawn.next_states[:, 0] - drawn.states[:, 0])
    assert np.abs(turned - drawn.actions[:, 0] / 2).max() < 0.05
    assert (np.abs(drawn.next_states[:, 0] - drawn.states[:, 0]) > PI).any()
