"""Kinds of models that are compared each time the samples have doubled, and used again in between."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import policyforest as pf
from exploring import Corridor, same_behaviour, same_samples
from planning_agents import agent
from policyforest.exploration import compared_kinds, resume
from policyforest.exploration.compared_kinds import REUSED_FROM, learned_again, reused
from policyforest.learning.dynamics import dynamics_forest


@dataclass(frozen=True)
class Plan:
    n_samples: int


def model_of(n_samples: int):
    return SimpleNamespace(transitions=range(n_samples))


def test_kinds_are_used_again_between_many_samples_and_twice_as_many():
    n = REUSED_FROM
    assert reused(None, 2 * n) is None
    few, many = model_of(n // 2 + 1), model_of(n)
    assert reused(few, n - 1) is None
    assert reused(few, n) is few
    assert reused(many, 2 * n - 1) is many
    assert reused(many, 2 * n) is None


@pytest.mark.parametrize(("sizes", "compared"), [((50,), 50), ((900, 1_100, 1_700), 900), ((900, 1_900, 3_000), 1_900)])
def test_which_plan_compared_kinds_follows_from_the_numbers_of_samples(sizes, compared):
    learned = []

    def learn(plan, like):
        learned.append((plan.n_samples, like))
        return model_of(plan.n_samples)

    last, found = learned_again([Plan(n) for n in sizes], learn)
    assert len(last.transitions) == sizes[-1]
    assert len(found.transitions) == compared
    assert [like for _, like in learned] == ([None] if compared == sizes[-1] else [None, found])


@pytest.mark.usefixtures("small_plans")
def test_a_run_that_uses_kinds_again_is_resumed_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(compared_kinds, "REUSED_FROM", 20)
    compared, choose = [], dynamics_forest.choose
    monkeypatch.setattr(dynamics_forest, "choose", lambda *a, **k: compared.append(len(a[1])) or choose(*a, **k))
    whole = agent(seed=4, growth=0.0).learn(episodes=5)
    assert len({plan.n_samples for plan in whole.plans}) > len(set(compared))  # some plans compared nothing
    agent(seed=4, growth=0.0, run_dir=tmp_path / "run").learn(episodes=4).run.close()
    found = resume(tmp_path / "run", Corridor()).learn(episodes=5)
    assert same_samples(found.transitions, whole.transitions)
    assert same_behaviour(found, whole)


@pytest.mark.parametrize("name", ["SwingUp-v0", "InvertedPendulum6kg-v0"])
def test_a_model_like_another_has_its_kinds_and_knows_what_it_misses(name):
    data = pf.collect(f"policyforest/{name}", episodes=12, seed=0)
    first = pf.DynamicsForest().fit(data[: len(data) * 2 // 3])
    again, alone = pf.DynamicsForest().fit(data, like=first), pf.DynamicsForest().fit(data)
    assert [choice.kind for choice in again.choices] == [choice.kind for choice in first.choices]
    assert again.reward.sources == first.reward.sources
    assert again.reward.choice.kind == first.reward.choice.kind
    for found, expected in zip(again.state_scores, alone.state_scores, strict=True):
        assert found == pytest.approx(expected, abs=0.05)
    assert again.residuals.shape == alone.residuals.shape


def test_kinds_of_another_system_are_not_used():
    data = pf.collect("policyforest/SwingUp-v0", episodes=6, seed=0)
    other = pf.DynamicsForest().fit(pf.collect("Pendulum-v1", episodes=2, seed=0))
    found, expected = pf.DynamicsForest().fit(data, like=other), pf.DynamicsForest().fit(data)
    assert [choice.kind for choice in found.choices] == [choice.kind for choice in expected.choices]
