"""Fitted Policy Forest: from Q to a policy, also on a circle."""

from dataclasses import replace

import numpy as np
import pytest

import policyforest as pf
from circle import PI, circle_samples
from small_learning import ACTIONS, LINE, learner, line_samples, same_forest, two_action_samples


def test_learning_finds_the_way_to_the_middle():
    data = line_samples(400, terminal=0.0)
    q = learner(discount=0.5, horizon=5, n_estimators=25).fit(data)
    states = np.linspace(-1, 1, 21)[:, None]
    for policy in (q.policy(), pf.FittedPolicyForest(n_states=500).fit(q)):
        ahead = states + policy.act_batch(states) / 2
        assert np.abs(ahead[np.abs(states) <= 0.4]).max() < 0.3
        assert np.abs(ahead).mean() < 0.5 * np.abs(states).mean()


def test_policies_keep_the_names_of_the_dimensions_that_were_given_and_only_these():
    numbered = line_samples(200, terminal=0.0)
    named = pf.Transitions(
        numbered.states, numbered.actions, numbered.rewards, numbered.next_states, numbered.terminals,
        action_space=ACTIONS, observation_space=LINE, plant=pf.Plant(("position",), ("force",)),
    )  # fmt: skip
    for data, names in ((numbered, {}), (named, {"state_names": ["position"], "action_names": ["force"]})):
        q = learner(horizon=2).fit(data)
        for policy in (q.policy(), pf.FittedPolicyForest(n_states=50).fit(q), pf.learn(data, discount=0.5)):
            assert {key: value for key, value in policy.info.settings.items() if key.endswith("_names")} == names


def test_one_sample_is_enough_to_run():
    data = line_samples(5)[1:2]
    q = pf.FittedQIteration(horizon=3).fit(data)
    assert np.isfinite(pf.FittedPolicyForest(n_states=50).fit(q).act(np.zeros(1))).all()


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
@pytest.mark.parametrize("states", ["uniform", "visited"])
@pytest.mark.parametrize("samples", [line_samples, two_action_samples])
def test_the_policy_is_near_the_best_actions(leaf_model, states, samples):
    settings = learner(discount=0.0, horizon=1, n_estimators=20, min_samples_leaf=2, action_search="exact")
    q = settings.fit(samples(500))
    policy = pf.FittedPolicyForest(leaf_model=leaf_model, states=states, n_states=800, n_estimators=10).fit(q)
    assert policy.info.method == {"constant": "fpf-pwc", "linear": "fpf-pwl"}[leaf_model]
    assert len(policy.forests) == q.transitions.actions.shape[1]
    assert all(forest.leaf_model == leaf_model for forest in policy.forests)
    rng = np.random.default_rng(5)
    at = q.transitions.states[rng.integers(500, size=200)] * 0.9
    best = q.maxima(at).action
    middle = best.mean(axis=0)
    error = ((policy.act_batch(at) - best) ** 2).mean(axis=0)
    assert (error < 0.5 * ((best - middle) ** 2).mean(axis=0)).all()  # it explains more than half of them


def test_several_actions_are_learned_each_by_its_forest():
    policy = pf.FittedPolicyForest(n_states=1500, q_learner=learner(discount=0.0, n_estimators=20)).fit(
        two_action_samples(1500)
    )
    states = np.random.default_rng(3).uniform(-0.8, 0.8, (200, 2))
    assert np.abs(policy.act_batch(states) - states * [1.0, -0.5]).mean() < 0.2


def test_fit_on_samples_does_both_steps():
    data, q_learner = line_samples(), learner(random_state=4)
    settings = pf.FittedPolicyForest(n_states=100, q_learner=q_learner, random_state=5)
    at_once, in_two = settings.fit(data), settings.fit(q_learner.fit(data))
    assert same_forest(at_once.forests[0], in_two.forests[0])
    assert at_once.info.n_samples == len(data)
    assert at_once.info.settings["iterations"] == 3


def test_the_policy_has_the_same_bits_with_any_number_of_threads():
    q = learner(horizon=1).fit(two_action_samples(80))
    settings = pf.FittedPolicyForest(n_states=300)
    one, two, other = (
        replace(settings, **changes).fit(q).forests for changes in ({}, {"n_jobs": 2}, {"random_state": 1})
    )
    assert all(map(same_forest, one, two))
    assert not any(map(same_forest, one, other))


def test_visited_states_are_the_samples_own():
    """Samples in two far corners: a policy on visited states spends no leaf on the empty middle."""
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.uniform(-2, -1.9, (100, 1)), rng.uniform(1.9, 2, (100, 1))])
    data = pf.Transitions(
        states,
        rng.uniform(-1, 1, (200, 1)),
        rng.random(200),
        states,
        np.zeros(200, dtype=bool),
        action_space=ACTIONS,
        observation_space=LINE,
    )
    q = learner(horizon=1).fit(data)
    forest = pf.FittedPolicyForest("constant", 200, "visited", min_samples_leaf=1).fit(q).forests[0]
    thresholds = forest.arrays["split"][forest.arrays["feature"] == 0]
    in_the_middle = np.abs(thresholds) < 1.5
    assert in_the_middle.sum() <= len(forest)  # at most the one split of each tree that parts the corners


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"leaf_model": "cubic"}, ValueError),
        ({"states": "all"}, ValueError),
        ({"n_states": 0}, ValueError),
        ({"n_states": 2.5}, TypeError),
        ({"n_estimators": 0}, ValueError),
        ({"min_samples_leaf": 0}, ValueError),
        ({"max_features": 9}, ValueError),
        ({"random_state": -1}, ValueError),
    ],
)
def test_bad_parameters_of_the_policy_are_named(changes, error):
    with pytest.raises(error, match=next(iter(changes))):
        pf.FittedPolicyForest(**{"n_states": 50, **changes}).fit(learner(horizon=1).fit(line_samples(10)))


@pytest.fixture(scope="module")
def circle():
    return circle_samples()


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_a_policy_on_a_circle_has_no_seam(circle, leaf_model):
    q = learner(discount=0.5, horizon=4, n_estimators=25).fit(circle)
    policy = pf.FittedPolicyForest(leaf_model=leaf_model, n_states=2000).fit(q)
    assert policy.periodic == {0: (-PI, PI)}
    angles = np.linspace(-PI, PI, 721)
    actions = policy.act_batch(angles[:, None])[:, 0]
    steps = np.abs(np.diff(actions))
    for eps in (1e-9, 1e-3):
        low, high = (policy.act(np.array([side]))[0] for side in (-PI + eps, PI - eps))
        assert abs(low - high) <= steps.max()
        assert abs(low - high) < 0.25
    # Turning to `pi` is up from below and down from above, through the seam.
    assert policy.act(np.array([PI - 0.4]))[0] > 0.3
    assert policy.act(np.array([-PI + 0.4]))[0] < -0.3
    # An angle that was counted on is the same angle.
    assert policy.act(np.array([PI + 0.4]))[0] == pytest.approx(policy.act(np.array([-PI + 0.4]))[0], abs=1e-9)
    ahead = q.value([[-PI + 1e-6], [PI - 1e-6]])
    assert ahead[0] == pytest.approx(ahead[1], abs=0.1)
    assert q.policy().act(np.array([3 * PI - 0.4]))[0] == pytest.approx(q.policy().act(np.array([PI - 0.4]))[0])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: learner(warm_start=3), "warm_start"),
        (lambda: learner(callback=3), "callback"),
        (lambda: learner(n_averaged=0), "n_averaged"),
        (lambda: pf.FittedPolicyForest(q_learner=3), "q_learner"),
    ],
)
def test_parts_that_are_none_are_refused_at_once(make, name):
    with pytest.raises((TypeError, ValueError), match=name):
        make()
