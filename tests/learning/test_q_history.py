"""When values have settled: what counts as drift, and what does not."""

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.learning.q_history import WATCHED, WINDOW, drift, first_settled, settled, signed_drift, some

RNG = np.random.default_rng(0)
SPREAD = RNG.normal(size=500)
GAMMA = 0.98


def rows(value: Any) -> np.ndarray:
    """The values after seven iterations, h = 20 … 26, by a function of h."""
    return np.array([value(h) for h in range(20, 27)])


def grown(h: int) -> float:
    """What a reward of 1 in every step is worth after h iterations."""
    return float((1 - GAMMA**h) / (1 - GAMMA))


def test_values_that_stand_still_do_not_drift() -> None:
    assert drift(rows(lambda h: SPREAD)) == 0.0


def test_values_that_grow_in_proportion_drift_at_their_rate() -> None:
    assert drift(rows(lambda h: 1.01**h * SPREAD)) == pytest.approx(0.01, rel=0.05)


def test_growth_of_values_of_both_signs_does_not_cancel() -> None:
    """The mean of signed relative changes is near 0 although every value grows by 1% in each iteration."""
    values = rows(lambda h: 1.01**h * SPREAD)
    assert abs(signed_drift(values[-2], values[-1])) < 1e-3
    assert drift(values) > 9e-3


def test_values_that_go_apart_and_together_at_once_drift() -> None:
    """The spread as a whole stays the same: large values shrink, small ones grow."""
    size = np.where(np.abs(SPREAD) > np.median(np.abs(SPREAD)), -0.01, 0.01)
    assert drift(rows(lambda h: SPREAD * (1 + size * (h - 23)))) > 5e-3


def test_a_level_that_all_values_share_does_not_count() -> None:
    values = rows(lambda h: SPREAD + grown(h))
    assert drift(values) < 1e-12
    assert drift(values, level=True) > 5e-3


def test_a_level_counts_against_terminal_states() -> None:
    constant = rows(lambda h: np.full(500, grown(h)))
    assert drift(constant) == 0.0
    alive = GAMMA**23 / grown(23)  # by how much of itself the level grows at h = 23
    assert drift(constant, ends=0.1) == pytest.approx(alive, rel=0.1)
    some_end = drift(rows(lambda h: 5 * SPREAD + grown(h)), ends=0.1)
    assert 0 < drift(rows(lambda h: 5 * SPREAD + grown(h)), ends=0.01) < some_end < alive


def test_noise_of_regrown_forests_does_not_count_but_news_within_it_does() -> None:
    def noisy(h: int) -> np.ndarray:
        return SPREAD + np.random.default_rng(h).normal(scale=0.2, size=500)

    noise = np.mean([drift(np.array([noisy(h + i) for h in range(7)])) for i in range(30)])
    assert noise < 2.5e-3
    assert drift(rows(lambda h: 1.03**h * noisy(h))) > 0.01


def test_small_differences_count_as_much_as_large_ones() -> None:
    """A few crashes are worth -1000; the others still learn."""
    crashes = np.full(50, -1000.0)
    values = rows(lambda h: np.concatenate([crashes, 1.02**h * np.abs(SPREAD)]))
    assert drift(values) > 0.01


def test_few_values_or_none_are_no_error() -> None:
    assert drift(np.zeros((3, 0))) == 0.0
    assert drift(np.zeros((3, 0)), ends=1.0) == 0.0
    assert drift(np.array([[1.0], [2.0]])) == 0.0
    assert 0 < drift(np.array([[1.0], [2.0]]), ends=0.5) <= 1.0
    assert drift(np.zeros((7, 5)), ends=0.5) == 0.0


def test_settled_needs_some_iterations_with_a_small_mean_drift() -> None:
    assert not settled([0.0] * WINDOW)
    assert settled([1.0] + [0.004] * WINDOW)
    assert not settled([0.0] * WINDOW + [0.04])


def test_at_most_so_many_states_are_watched() -> None:
    assert len(some(np.arange(100.0))) == 100
    assert WATCHED / 2 < len(some(np.arange(3.3 * WATCHED))) <= WATCHED


def constant_reward(terminal: bool) -> pf.Transitions:
    """A point on a line that gets 1 in every step; with `terminal`, where it leaves [-1, 1] it ends."""
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (300, 1)), rng.uniform(-1, 1, (300, 1))
    ahead = states + 0.5 * actions
    ends = np.abs(ahead[:, 0]) > 1 if terminal else np.zeros(300, dtype=bool)
    space = Box(-1, 1, (1,), np.float64)
    limits = Box(-1.5, 1.5, (1,), np.float64)
    return pf.Transitions(states, actions, np.ones(300), ahead, ends, action_space=space, observation_space=limits)


def test_constant_rewards_settle_at_once_without_terminal_states_and_later_with_them() -> None:
    learner = pf.FittedQIteration(discount=0.98, resample=None, n_averaged=1, n_estimators=10)
    assert len(learner.fit(constant_reward(terminal=False)).history) == WINDOW + 1
    assert 20 < len(learner.fit(constant_reward(terminal=True)).history) < 120


def test_the_rule_of_version_0_1_can_be_asked_for() -> None:
    learner = pf.FittedQIteration(discount=0.98, resample=None, n_estimators=5, settling="sign")
    q = learner.fit(constant_reward(terminal=False))
    assert q.history[1].drift == pytest.approx(0.98 / (1 + 1.98), rel=1e-6)
    assert first_settled(q.history) == len(q.history) - learner.n_averaged + 1
