"""Samples that a learned model draws for Fitted Q Iteration."""

import numpy as np
import pytest

import policyforest as pf
from small_learning import ACTIONS, LINE, learner, line_samples, same_forest, two_action_samples


def test_every_iteration_draws_new_samples(monkeypatch):
    drawn, sample = [], pf.DynamicsModel.sample
    monkeypatch.setattr(pf.DynamicsModel, "sample", lambda *a, **k: drawn.append(sample(*a, **k)) or drawn[-1])
    data = line_samples(100)
    q = learner(horizon=3, resample=50).fit(data)
    assert q.resampling.n_drawn == 50
    watched, *batches = drawn
    assert [len(batch) for batch in batches] == [50, 50, 50]
    states = [batch.states.tobytes() for batch in batches]
    assert len(set(states)) == 3
    assert watched.states.tobytes() not in states[1:]


def test_samples_of_several_actions_are_drawn_where_the_model_is_good():
    q = learner(horizon=1, resample="auto").fit(two_action_samples(400))
    assert q.resampling.n_drawn > 0


def test_a_fitted_model_takes_the_place_of_a_new_one(monkeypatch):
    data = line_samples(200)
    expected = learner(horizon=2, resample="auto").fit(data)
    model = pf.DynamicsForest(random_state=0).fit(data)
    monkeypatch.setattr(pf.DynamicsForest, "fit", lambda *_: pytest.fail("fitted again"))
    q = learner(horizon=2, resample=model).fit(data)
    assert same_forest(q.forest, expected.forest)
    assert q.resampling == expected.resampling
    again = pf.Transitions.concatenate([data])  # equal samples in another object
    assert same_forest(learner(horizon=2, resample=model).fit(again).forest, expected.forest)


def test_a_model_of_other_samples_is_refused():
    model = pf.DynamicsForest().fit(line_samples(60, seed=1))
    with pytest.raises(ValueError, match="resample: is a model of 60 other samples, must be a model of the 50 that"):
        learner(resample=model).fit(line_samples(50))


def test_a_model_that_predicts_badly_draws_nothing():
    rng = np.random.default_rng(9)
    data = line_samples(100)
    noise = pf.Transitions(
        data.states, data.actions, rng.random(100), rng.uniform(-1, 1, (100, 1)), data.terminals, data.episodes,
        action_space=ACTIONS, observation_space=LINE,
    )  # fmt: skip
    q = learner(horizon=2, resample=pf.DynamicsForest().fit(noise)).fit(noise)
    assert q.resampling.n_drawn == 0
    assert same_forest(q.forest, learner(horizon=2).fit(noise).forest)


def test_drawn_samples_are_added_and_reported():
    data = line_samples(200)
    plain, drawn = learner(horizon=1).fit(data), learner(horizon=1, resample=500).fit(data)
    assert plain.resampling is None
    assert drawn.resampling.n_drawn == 500
    assert drawn.transitions is data
    assert drawn.forest.n_leaves > plain.forest.n_leaves
    assert learner(horizon=1, resample="auto").fit(data).resampling.state_scores == drawn.resampling.state_scores
