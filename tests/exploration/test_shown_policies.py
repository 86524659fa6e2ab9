"""What a policy did in the system counts more than what the members of an ensemble promise of another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest._support.angles import within_half_a_turn
from policyforest.exploration.ensemble_judge import first_states, likely_starts
from policyforest.exploration.model_planner import ModelPlanner
from policyforest.exploration.plan_files import StoredPlan
from policyforest.exploration.shown_policies import (
    REMEMBERED,
    ShownPolicy,
    believed,
    best_of_run,
    earned_most,
    reliable,
    same_policy,
    shown_policies,
    shown_policy,
    surprise,
)
from policyforest.learning.improvement.simple_policies import constant_policy


def samples(lengths=(4, 4, 2, 3), terminal=(False, False, False, True)) -> pf.Transitions:
    n, ends = sum(lengths), np.cumsum(lengths) - 1
    terminals = np.zeros(n, bool)
    terminals[ends] = terminal
    rng = np.random.default_rng(0)
    states = rng.normal(size=(n, 2))
    return pf.Transitions(
        states, rng.uniform(-1, 1, (n, 1)), np.arange(1.0, n + 1), states + 0.1, terminals,
        np.repeat(np.arange(len(lengths)), lengths), action_space=Box(-1.0, 1.0, (1,), np.float64),
    )  # fmt: skip


@dataclass
class Promises:
    """A judge that promises what it is told, by the policy's constant action, to every member and start."""

    of: dict[float, float]
    episodes: dict[float, float] = field(default_factory=dict)

    def _value(self, policy, table):
        return table[round(float(policy.act_batch(np.zeros((1, 2)))[0, 0]), 3)]

    def values(self, policy, first_member=0):
        return np.full((4, 24), self._value(policy, self.of)) + 1e-6 * np.arange(24)

    def returns(self, policy, starts, n_steps, first_member=0):
        return np.full((4, len(starts)), self._value(policy, self.episodes or self.of))


def played(action: float, *returns: float) -> ShownPolicy:
    return ShownPolicy(constant_policy(samples(), [action]), np.zeros((len(returns), 2)), (4,) * len(returns), returns)


def chosen(policy: pf.Policy) -> float:
    return round(float(policy.act_batch(np.zeros((1, 2)))[0, 0]), 3)


def test_only_whole_episodes_count():
    data = samples()
    shown = shown_policy(constant_policy(data, [0.0]), data, [0, 2, 3, 7], 0.5)
    assert shown.lengths == (4, 3)  # the third was cut by a budget, the eighth is none
    assert shown.returns == pytest.approx((1 + 1 + 3 / 4 + 4 / 8, 11 + 6 + 13 / 4))
    np.testing.assert_array_equal(shown.starts, data.states[[0, 10]])


def test_episodes_of_one_policy_are_gathered_from_all_its_plans(tmp_path):
    data = samples((4, 4, 4, 4, 4), (False,) * 5)
    a, b = constant_policy(data, [0.1]), constant_policy(data, [0.2])
    a.save(tmp_path / "a.pforest")

    def plan(episode, policy, explores=False):
        return StoredPlan(episode, 1, policy, "trajectories", explores, None, {})

    plans = [plan(0, a), plan(1, b, explores=True), plan(2, pf.load(tmp_path / "a.pforest"))]
    final, first = shown_policies(b, plans, data, 0.9)
    assert final.returns == ()  # what it explored is no measure of it
    assert len(first.returns) == 3
    np.testing.assert_array_equal(first.starts, data.states[[4, 12, 16]])
    assert len(shown_policies(b, [], data, 0.9)) == 1
    many = [plan(0, constant_policy(data, [i / 100])) for i in range(20)]
    assert len(shown_policies(b, many, data, 0.9)) == 1 + REMEMBERED


def test_the_policy_that_earned_most_is_remembered_however_long_ago():
    n = 2 * REMEMBERED
    data = samples((4,) * (n + 1), (False,) * (n + 1))
    data = replace(data, rewards=np.where(data.episodes == 3, 10.0, 1.0))
    plans = [StoredPlan(i, 1, constant_policy(data, [i / 100]), "trajectories", False, None, {}) for i in range(n)]
    shown = shown_policies(constant_policy(data, [0.5]), plans, data, 0.9)
    assert len(shown) == 2 + REMEMBERED
    assert shown[1].policy is plans[2].policy is earned_most(shown)


def test_the_policy_that_earned_most_competes_although_the_last_model_condemns_it():
    """MountainCarContinuous-v0: after 23 episodes of 94 in a row the last model was wrong, and preferred policies that
    had never reached the goal; then the validation chose to do nothing."""
    good, bad, worse = played(0.1, 10.0, 9.0), played(0.2, -1.0), played(0.3)
    judge = Promises({0.1: -500.0, 0.2: 7.0, 0.3: 3.0})
    assert [chosen(policy) for policy in best_of_run([worse, good, bad], judge, 2)] == [0.1, 0.2]
    assert [chosen(policy) for policy in best_of_run([worse, good, bad], judge, 3)] == [0.1, 0.2, 0.3]
    assert [chosen(policy) for policy in best_of_run([worse], judge, 3)] == [0.3]
    assert best_of_run([good], judge, 0) == []
    assert best_of_run([], judge, 2) == []


def test_policies_are_the_same_by_their_forests():
    data = samples()
    one, other = constant_policy(data, [0.1]), constant_policy(data, [0.2])
    assert same_policy(one, one.with_info(replace(one.info, method="another")))
    assert not same_policy(one, other)


def test_a_policy_that_was_played_stays_unless_another_promises_much_more():
    tried, untried, idle = played(0.1, 10.0), played(0.2), constant_policy(samples(), [0.0])
    assert chosen(reliable([untried, tried], idle, Promises({0.0: 5.0, 0.1: 10.0, 0.2: 10.9}))) == 0.1
    assert chosen(reliable([untried, tried], idle, Promises({0.0: 5.0, 0.1: 10.0, 0.2: 11.1}))) == 0.2
    assert chosen(reliable([untried], idle, Promises({0.2: 1.0}))) == 0.2
    # Members that promise too little of what was played may promise too little of it from other starts, too.
    judge = Promises({0.0: 5.0, 0.1: 10.0, 0.2: 20.0}, {0.0: 5.0, 0.1: 2.0, 0.2: 20.0})
    assert chosen(reliable([untried, tried], idle, judge)) == 0.1


def test_what_episodes_earned_corrects_what_was_promised():
    fell, held = played(0.1, 2.0, 4.0), played(0.2, 9.0)
    judge = Promises({0.0: 0.0, 0.1: 10.0, 0.2: 9.5})
    assert surprise(fell, judge) == -7.0
    assert surprise(held, judge) == -0.5
    assert chosen(reliable([fell, held], constant_policy(samples(), [0.0]), judge)) == 0.2


def test_a_single_episode_that_went_well_is_not_taken_for_all():
    """A policy that fell after a good beginning does not replace one that did what was promised."""
    lucky, steady = played(0.1, 10.0), played(0.2, 9.6)
    # Episodes begin where much is promised of the first; in the mean it is little.
    judge = Promises({0.0: 0.0, 0.1: 9.4, 0.2: 9.6}, {0.1: 9.7, 0.2: 9.6})
    assert believed(surprise(lucky, judge), 1) == pytest.approx(0.15)
    assert chosen(reliable([lucky, steady], constant_policy(samples(), [0.0]), judge)) == 0.2
    assert believed(-0.3, 1) == -0.3
    assert believed(1.0, 9) == 0.9


def test_episodes_may_begin_near_where_they_began():
    data = pf.collect("policyforest/CartPoleSwingUp-v0", episodes=6, steps=None, max_steps=10, seed=0)
    model = ModelPlanner().learn_model(data, 0)
    seen, found = first_states(data), likely_starts(model, 400, 1.5, np.random.default_rng(1))
    np.testing.assert_array_equal(found[:6], seen)
    apart = within_half_a_turn(found[6:] - seen[0], data.periodic)
    spread = within_half_a_turn(seen - seen[0], data.periodic).std(axis=0)
    assert (apart.std(axis=0) < 2.5 * spread).all()
    assert (apart.std(axis=0) > 1.2 * spread).all()
    box = data.state_box()
    assert (found >= box[:, 0]).all()
    assert (found <= box[:, 1]).all()


def test_where_episodes_begin_at_one_state_they_always_do():
    data = pf.collect("policyforest/SwingUp-v0", episodes=4, seed=0)
    model = ModelPlanner().learn_model(data, 0)
    np.testing.assert_allclose(
        likely_starts(model, 10, 1.5, np.random.default_rng(1)), np.repeat(first_states(data)[:1], 14, 0)
    )
