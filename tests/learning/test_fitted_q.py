"""Fitted Q Iteration: the algorithm, its horizon, warm starts, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

import policyforest as pf
from oracles.forest import Leaf, read_trees
from policyforest.learning import q_samples
from small_learning import learner, line_samples, same_forest, two_action_samples


def test_the_first_q_is_fitted_on_the_rewards_alone():
    data = line_samples()
    q = learner(horizon=1, min_samples_leaf=1, discount=0.99).fit(data)
    assert np.allclose(q.q(data.states, data.actions), data.rewards, atol=1e-12)


def test_the_second_adds_the_discounted_best_value_ahead_but_not_after_the_end():
    data = line_samples()
    settings = learner(min_samples_leaf=1)
    first, second = (replace(settings, horizon=h).fit(data) for h in (1, 2))
    expected = data.rewards + np.where(data.terminals, 0.0, 0.9 * first.value(data.next_states))
    assert np.allclose(second.q(data.states, data.actions), expected, atol=1e-12)
    assert not np.allclose(expected, data.rewards)


def test_the_end_of_an_episode_that_is_not_terminal_goes_on():
    """Time limits cut episodes; the value of the last state counts all the same."""
    data = line_samples(terminal=0.0)
    settings = learner(horizon=2, min_samples_leaf=1)
    last_of_episode = np.arange(len(data)) % 5 == 4
    ahead = replace(settings, horizon=1).fit(data).value(data.next_states)
    expected = data.rewards + 0.9 * ahead
    got = settings.fit(data).q(data.states, data.actions)
    assert np.allclose(got[last_of_episode], expected[last_of_episode], atol=1e-12)


def plain_best_value(trees, state, lo, hi):
    """max_a F(s, a), one action: tries a point of every interval between the thresholds that the trees hold."""

    def thresholds(tree):
        if isinstance(tree, Leaf):
            return []
        here = [tree.threshold] if tree.feature == len(state) else []
        return here + thresholds(tree.lower) + thresholds(tree.upper)

    def leaf(tree, x):
        while not isinstance(tree, Leaf):
            tree = tree.lower if x[tree.feature] <= tree.threshold else tree.upper
        return tree.model[-1]

    cuts = sorted({lo, hi, *(v for tree in trees for v in thresholds(tree) if lo < v < hi)})
    return max(sum(leaf(tree, [*state, a]) for tree in trees) / len(trees) for a in cuts)


def plain_fitted_q(data, settings):
    """Eqs. (FQI:input) and (FQI:output), literally; forest h has the seed random_state + h."""
    inputs = np.concatenate([data.states, data.actions], axis=1)
    box = np.concatenate([data.state_box(), [[-1.0, 1.0]]])
    forest = None
    for h in range(1, settings.horizon + 1):
        targets = []
        trees = None if forest is None else read_trees(forest.arrays)
        for reward, ahead, terminal in zip(data.rewards, data.next_states, data.terminals, strict=True):
            best = 0.0 if terminal or trees is None else plain_best_value(trees, ahead.tolist(), -1.0, 1.0)
            targets.append(reward + settings.discount * best)
        forest = pf.grow_forest(
            inputs,
            targets,
            n_estimators=settings.n_estimators,
            min_samples_leaf=settings.min_samples_leaf,
            score=settings.score,
            grid={1: q_samples.ACTION_GRID},
            box=box,
            random_state=settings.random_state + h,
        )
    return forest


@pytest.mark.parametrize("score", [None, "asinh"])
def test_it_is_the_plain_algorithm(score):
    data = line_samples(40)
    settings = learner(horizon=4, n_estimators=3, min_samples_leaf=3, score=score, random_state=11)
    expected, q = plain_fitted_q(data, settings), settings.fit(data)
    rows = np.random.default_rng(1).uniform([-2, -1], [2, 1], (200, 2))
    assert np.allclose(q.q(rows[:, :1], rows[:, 1:]), expected.predict(rows), rtol=1e-9)
    assert q.forest.n_leaves == expected.n_leaves


def test_without_a_future_the_discount_does_not_matter():
    data = line_samples(terminal=1.0)
    assert data.terminals.all()
    q = learner(horizon=3, min_samples_leaf=1).fit(data)
    assert np.allclose(q.q(data.states, data.actions), data.rewards, atol=1e-12)
    assert [it.change for it in q.history] == [0.0] * 3


def test_every_iteration_is_reported():
    seen = []
    q = learner(horizon=4, callback=seen.append).fit(line_samples())
    assert seen == list(q.history)
    assert [it.iteration for it in seen] == [1, 2, 3, 4]
    living = q.transitions.next_states[~q.transitions.terminals]
    assert seen[-1].value == pytest.approx(q.value(living).mean())
    assert seen[-1].n_leaves == q.forest.n_leaves
    assert all(it.seconds > 0 and it.change > 0 for it in seen)


def test_the_automatic_horizon_averages_the_forests_after_settling():
    data = line_samples(200, terminal=0.0)
    seen = []
    single = learner(horizon="auto", n_averaged=1).fit(data)
    q = learner(horizon="auto", n_averaged=3, callback=seen.append).fit(data)
    assert len(q.history) == len(single.history) + 2
    assert len(q.forest) == 3 * len(single.forest)
    parts = [learner(horizon=len(single.history) + i).fit(data) for i in range(3)]
    rows = np.random.default_rng(1).uniform([-2, -1], [2, 1], (100, 2))
    average = np.mean([part.forest.predict(rows) for part in parts], axis=0)
    assert np.allclose(q.forest.predict(rows), average, rtol=1e-12)
    assert seen == list(q.history)


def test_a_given_horizon_is_not_averaged():
    assert len(learner(horizon=3, n_averaged=3, n_estimators=4).fit(line_samples()).forest) == 4


def test_auto_stops_when_the_values_have_settled():
    data = line_samples(200, terminal=0.0)
    lengths = {}
    for discount in (0.0, 0.5, 0.95):
        q = learner(discount=discount, horizon="auto").fit(data)
        lengths[discount] = len(q.history)
        more = learner(discount=discount, horizon=len(q.history) + 10).fit(data)
        assert q.value(data.states).mean() == pytest.approx(more.value(data.states).mean(), rel=0.3)
    assert lengths[0.0] <= lengths[0.5] < lengths[0.95]
    # A discount of 0.99 forgets 98% of the future after 390 steps, but this way is short.
    assert len(learner(discount=0.99, horizon="auto").fit(data).history) < 200


def test_a_warm_start_goes_on_from_another_q():
    data = line_samples()
    settings = learner(horizon=1, min_samples_leaf=1)
    first = settings.fit(data)
    warm = replace(settings, warm_start=first).fit(data)
    assert same_forest(settings.fit(data).forest, first.forest)
    expected = data.rewards + np.where(data.terminals, 0.0, 0.9 * first.value(data.next_states))
    assert np.allclose(warm.q(data.states, data.actions), expected, atol=1e-12)


def test_a_warm_start_from_another_problem_is_refused():
    other = learner(horizon=1).fit(two_action_samples(30))
    with pytest.raises(ValueError, match="states: has 1 columns, must have 2"):
        learner(warm_start=other).fit(line_samples())


def test_a_generator_draws_the_seed():
    data = line_samples()
    forests = [learner(random_state=np.random.default_rng(s)).fit(data).forest for s in (3, 3, 4)]
    assert same_forest(forests[0], forests[1])
    assert not same_forest(forests[0], forests[2])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"discount": 1.0}, ValueError),
        ({"discount": -0.1}, ValueError),
        ({"discount": float("nan")}, ValueError),
        ({"discount": "high"}, TypeError),
        ({"horizon": 0}, ValueError),
        ({"horizon": 2.5}, TypeError),
        ({"horizon": "long"}, TypeError),
        ({"resample": 0}, ValueError),
        ({"resample": "often"}, TypeError),
        ({"action_search": "guess"}, ValueError),
        ({"settling": "soon"}, ValueError),
        ({"n_estimators": 0}, ValueError),
        ({"max_features": 3}, ValueError),
        ({"min_samples_leaf": 0}, ValueError),
        ({"min_variance": -1.0}, ValueError),
        ({"score": "rank"}, ValueError),
        ({"random_state": -1}, ValueError),
        ({"n_jobs": 0}, ValueError),
    ],
)
def test_bad_parameters_are_named(changes, error):
    name = next(iter(changes))
    with pytest.raises(error, match=name):
        learner(**changes).fit(line_samples(10))


def test_only_transitions_can_be_learned_from():
    with pytest.raises(TypeError, match="dataset: is a ndarray, must be Transitions"):
        learner().fit(np.zeros((5, 3)))
    with pytest.raises(TypeError, match="dataset: is a list, must be Transitions"):
        pf.FittedPolicyForest().fit([1, 2])


def test_q_refuses_rows_that_do_not_fit():
    q = learner(horizon=1).fit(line_samples(20))
    for states in (np.zeros((2, 2)), np.zeros(2), [[np.nan]]):
        with pytest.raises(ValueError, match="states"):
            q.value(states)
    for actions in (np.zeros((2, 2)), np.zeros((3, 1)), np.zeros(2), [[0.0], [np.nan]]):
        with pytest.raises(ValueError, match="actions"):
            q.q(np.zeros((2, 1)), actions)
