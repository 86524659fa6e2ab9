"""Rollouts of any policy in the model: the loop in Python takes the steps of the core, bit for bit."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policyforest as pf
from logged_systems import disk, ending_line, line, logged, set_point, wheel
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.learning.improvement.simple_policies import constant_policy, linear_policy, middle_action
from strategies import SEEDS

SYSTEMS = {
    "line": lambda: line(noise=0.1),
    "ends": ending_line,
    "disk": disk,
    "wheel": wheel,
    "set point": set_point,
}


class OnlyActs:
    """A policy that hides what the core could roll out."""

    def __init__(self, policy):
        self._policy = policy

    def act_batch(self, states):
        return self._policy.act_batch(states)


@cache
def model_of(name):
    return pf.DynamicsForest(n_estimators=3).fit(SYSTEMS[name]())


@cache
def rollouts_of(name, discount=0.95, **more):
    return ModelRollouts(model_of(name), discount, 2, **more)


def policy_of(name, seed):
    data = model_of(name).transitions
    rng = np.random.default_rng(seed)
    return linear_policy(data, data.states, rng.uniform(-1, 1, (len(data), 1)), rng.random(len(data)))


def bits(parts):
    return [np.ascontiguousarray(part).tobytes() for part in parts]


@settings(max_examples=60)
@given(st.sampled_from(sorted(SYSTEMS)), SEEDS, st.integers(1, 12), st.booleans(), st.sampled_from([0.0, 0.05]))
def test_the_loop_in_python_takes_the_steps_of_the_core(name, seed, n_steps, with_first, action_noise):
    rollouts, policy = rollouts_of(name), policy_of(name, seed)
    rng = np.random.default_rng(seed)
    states = model_of(name).nearby.draw(20, rng)
    firsts = rng.uniform(-1, 1, (20, 1)) if with_first else None
    streams = rng.integers(0, 8, 20).astype(np.uint32)
    rest = (states, n_steps, seed * 2**31, seed % 2, firsts, streams, action_noise, True)
    assert bits(rollouts._roll(policy, *rest)) == bits(rollouts._roll(OnlyActs(policy), *rest))


def test_rollouts_without_noise_are_the_same_too():
    rollouts = ModelRollouts(model_of("ends"), 0.9, 1, noisy=False)
    policy, states = policy_of("ends", 0), model_of("ends").transitions.states[:20]
    values = rollouts.values(policy, states, n_steps=10, seed=0, member=0)
    assert values.tolist() == rollouts.values(OnlyActs(policy), states, n_steps=10, seed=3, member=0).tolist()
    assert values.tolist() != rollouts_of("ends", 0.9).values(policy, states, n_steps=10, seed=0, member=0).tolist()


def test_the_loop_in_python_gives_rows_of_a_stream_the_same_noise():
    rollouts, policy = rollouts_of("disk"), OnlyActs(policy_of("disk", 0))
    states = model_of("disk").transitions.states[:50]
    streams = np.arange(50, dtype=np.uint32) % 7
    order = np.random.default_rng(0).permutation(50)
    whole = rollouts._roll(policy, states, 8, 1, 0, None, streams, 0.1, True)
    part = rollouts._roll(policy, states[order], 8, 1, 0, None, streams[order], 0.1, True)
    assert bits(a[order] for a in whole) == bits(part)


def test_threads_change_no_bit():
    policy, states = policy_of("ends", 0), np.repeat(model_of("ends").transitions.states[:10], 40, axis=0)
    one, two = (
        rollouts_of("ends", n_jobs=jobs).values(policy, states, n_steps=10, seed=1, member=0) for jobs in (1, 2)
    )
    assert one.tobytes() == two.tobytes()


def drifting():
    """A number that ends above 1, beside an unstable one that leaves the data."""
    return logged(
        lambda s, a, rng: np.array([s[0] + 0.2 * a[0], 1.3 * s[1] + 0.2 * a[0]]),
        lambda rng: rng.uniform(-1, 1, 2),
        lambda s, a, ahead: -abs(s[1]),
        end=lambda s: bool(s[0] > 1),
        n_episodes=60,
        length=3,
    )


def test_a_known_end_that_says_what_was_learned_changes_no_bit():
    """The loop for known functions charges for leaving the data as the core does."""
    data = drifting()
    learned = pf.DynamicsForest(n_estimators=3).fit(data)
    assert learned.end.kind == "thresholds"

    def ends(states, actions, next_states):
        return np.any([sign * next_states[:, d] > limit for d, sign, limit in learned.end.thresholds], axis=0)

    known = pf.DynamicsForest(n_estimators=3, terminal=ends).fit(data)
    policy = constant_policy(data, middle_action(data))
    for seed in range(3):
        plain, told = (
            ModelRollouts(model, 0.9, 2)._roll(policy, data.states, 12, seed, 1, None, None, 0.05, True)
            for model in (learned, known)
        )
        assert bits(plain) == bits(told)
        assert (plain[2] < 12).mean() > 0.5  # most of them leave the data


def test_known_rewards_are_summed_exactly():
    paid = []

    def reward(states, actions, next_states):
        paid.append(np.sin(9 * states[:, 0]) + actions[:, 0])
        return paid[-1]

    data = line()
    model = pf.DynamicsForest(n_estimators=3, reward=reward).fit(data)
    paid.clear()
    states = 0.1 * data.states[:5]  # no rollout leaves the data from here
    policy = constant_policy(data, middle_action(data))
    values = ModelRollouts(model, 0.5, 1).values(policy, states, n_steps=3, seed=0, member=0)
    assert values.tolist() == (paid[0] + 0.5 * paid[1] + 0.25 * paid[2]).tolist()


def test_a_known_end_stops_the_rollout_and_pays_the_known_reward():
    data = line()
    model = pf.DynamicsForest(
        n_estimators=3,
        reward=lambda s, a, ahead: np.full(len(s), -2.0),
        terminal=lambda s, a, ahead: ahead[:, 0] < 0.1,
    ).fit(data)
    rollouts = ModelRollouts(model, 0.5, 1)
    policy = constant_policy(data, middle_action(data))
    values, _, alive = rollouts._roll(policy, np.array([[0.05], [0.2], [0.8]]), 3, 0, 0, None, None, 0.0, True)
    assert alive.tolist() == [0, 3, 3]
    assert values[0] == -2.0
    assert values[2] == -2.0 - 1.0 - 0.5


@pytest.mark.parametrize("outside", [1e6, -1e6])
def test_leaving_the_data_pays_no_more_than_its_worst_rewards(outside):
    """A known reward that is high out there, where nothing is known, counts for nothing."""
    data = logged(
        lambda s, a, rng: 1.5 * s + 0.2 * a, lambda rng: rng.uniform(-1, 1, 1), lambda s, a, ahead: -abs(s[0]), length=1
    )

    def reward(states, actions, next_states):
        return np.where(np.abs(next_states[:, 0]) > 2.0, outside, -np.abs(states[:, 0]))

    rollouts = ModelRollouts(pf.DynamicsForest(n_estimators=3, reward=reward).fit(data), 0.9, 1)
    edge = rollouts.model.edge(0.9)
    assert edge.left(np.array([[2.0], [0.0], [np.nan]])).tolist() == [True, False, True]
    assert edge.kept(np.array([[2.0], [0.0], [np.nan]]))[:, 0].tolist() == [edge.box[0, 1], 0.0, edge.box[0, 0]]
    policy = constant_policy(data, middle_action(data))
    values = rollouts.values(policy, np.array([[1.5], [0.5]]), n_steps=1, seed=0, member=0)
    assert values.tolist() == [min(outside, edge.reward), -0.5]


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1])
def test_any_seed_will_do(seed):
    improve = pf.RolloutImprovement(n_rounds=1, n_states=20, n_members=1, n_estimators=2, random_state=seed)
    model = model_of("line")
    policy = constant_policy(model.transitions, middle_action(model.transitions))
    assert np.isfinite(improve.improve(model, policy).gain)
