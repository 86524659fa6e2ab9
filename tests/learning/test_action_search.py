"""Searching the best action while Q is learned: exactly, bounded or in merged trees."""

from dataclasses import replace

import numpy as np
import pytest

import policyforest as pf
from small_learning import learner, line_samples, same_forest, two_action_samples


def test_one_action_is_searched_exactly_and_several_by_the_bounded_search():
    for samples, search in ((line_samples, "exact"), (two_action_samples, "bounded")):
        data = samples(100)
        auto, named, other = (
            learner(horizon=2, action_search=word).fit(data)
            for word in ("auto", search, {"exact": "merged", "bounded": "exact"}[search])
        )
        assert same_forest(auto.forest, named.forest)
        assert not same_forest(auto.forest, other.forest)
        assert auto.policy().action_search == search
        assert auto.policy("merged").action_search == "merged"


def test_the_best_of_several_actions_is_found_as_well_as_by_the_exact_search():
    data = two_action_samples(500)
    wanted = data.states * [1.0, -0.5]
    errors = []
    for search in ("bounded", "exact"):
        q = learner(discount=0.0, horizon=1, n_estimators=20, action_search=search).fit(data)
        errors.append(np.abs(q.policy().act_batch(data.states) - wanted).mean())
    assert errors[0] < 1.2 * errors[1]  # measured: the same to 10%
    assert errors[0] < 0.2


def test_a_greedy_policy_of_several_actions_is_kept_in_a_file(tmp_path):
    policy = learner(horizon=2).fit(two_action_samples(100)).policy()
    policy.save(tmp_path / "greedy.pforest")
    loaded, states = pf.load(tmp_path / "greedy.pforest"), two_action_samples(30, seed=1).states
    assert loaded.action_search == "bounded"
    assert np.array_equal(loaded.act_batch(states), policy.act_batch(states))


@pytest.mark.parametrize(("search", "n_forests"), [("auto", 3), ("exact", 1)])
def test_forests_of_several_actions_are_averaged_where_the_maximum_is_cheap(search, n_forests):
    settings = learner(discount=0.5, horizon="auto", n_averaged=3, n_estimators=4, action_search=search)
    q = settings.fit(two_action_samples(150))
    assert len(q.forest) == 4 * n_forests


@pytest.mark.parametrize("search", ["exact", "bounded", "merged"])
@pytest.mark.parametrize("samples", [line_samples, two_action_samples])
def test_the_same_seed_gives_the_same_bits_with_any_number_of_threads(search, samples):
    data = samples(80)
    settings = learner(horizon=2, n_estimators=4, action_search=search, max_leaves=10, min_samples_leaf=5)
    one, two = settings.fit(data), replace(settings, n_jobs=2).fit(data)
    assert same_forest(one.forest, two.forest)
    assert not same_forest(one.forest, replace(settings, random_state=1).fit(data).forest)
    drawn = replace(settings, resample=50)
    assert same_forest(drawn.fit(data).forest, replace(drawn, n_jobs=2).fit(data).forest)


def test_the_merged_search_with_many_leaves_is_nearly_exact():
    data = line_samples(100)
    exact = learner().fit(data).value(data.states)
    many, few = (
        learner(action_search="merged", max_leaves=leaves).fit(data).value(data.states) for leaves in (1000, 2)
    )
    assert np.allclose(many, exact, atol=1e-9)
    assert few.mean() < exact.mean()  # pruned leaves are averages, so their maximum is lower
