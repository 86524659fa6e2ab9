"""The studies of online learning: what a cell holds, and that a plan is made in time."""

from __future__ import annotations

import numpy as np
import pytest

from policyforest.paper import STUDIES, online_studies


@pytest.mark.parametrize(
    ("agent", "settings"),
    [("disagreement", {}), ("random", {}), ("greedy", {"planning": "ours"}), ("mre", {"final": "ours"})],
)
def test_a_trial_judges_all_policies_and_keeps_one(agent, settings, monkeypatch):
    monkeypatch.setattr(online_studies, "VALIDATION_EPISODES", 1)
    cell = {"problem": "inverted-pendulum-6kg", "agent": agent, "episodes": 4, "evaluation_episodes": 2}
    result = online_studies.explore_and_evaluate(0, max_steps=10, n_policies=2, **cell, **settings)
    rows = {name: row["return"] for name, row in result.items() if name != "samples"}
    assert list(rows) == ["mean of 2", "worst of 2", "chosen of 2"]
    returns = result["mean of 2"]["returns"]
    assert len(returns) == 2
    assert rows["mean of 2"] == pytest.approx(np.mean(returns))
    assert rows["worst of 2"] == min(returns)
    assert rows["chosen of 2"] in returns
    assert len(result["mean of 2"]["training_returns"]) == 4
    episodes = np.array(result["mean of 2"]["episode_returns"])
    np.testing.assert_allclose(episodes.mean(axis=1), returns)
    for name, extreme in (("worst", episodes.min()), ("best", episodes.max())):
        drawn = result["mean of 2"][f"{name}_played"]
        assert len(drawn["states"]) == len(drawn["actions"]) + 1 == len(drawn["rewards"]) + 1
        if len(drawn["rewards"]) < online_studies.MOST_DRAWN:
            assert sum(drawn["rewards"]) == pytest.approx(extreme, abs=1e-3)


def test_the_paper_s_protocol_is_there():
    assert {name: study.seeds["paper"] for name, study in STUDIES.items() if name in online_studies.STUDIES} == {
        "swing-up-ours": 5,
        "swing-up-mre": 5,
        "swing-up-mre-density-targets": 5,
        "swing-up-mre-original-leaves": 5,
        "swing-up-mre-original": 5,
        "swing-up-mre-our-final": 5,
        "swing-up-random": 5,
        "swing-up-epsilon-greedy": 5,
        "swing-up-random-our-planning": 5,
        "swing-up-epsilon-greedy-our-planning": 5,
        "swing-up-greedy": 5,
        "pendulum-online-ours": 10,
        "pendulum-online-mre": 80,
        "mountain-car-ours": 10,
        "planning-time": 10,
    }


def test_a_plan_of_1200_samples_takes_part_of_a_second():
    """0.2 s on an idle core; the bound leaves room for a busy one."""
    assert online_studies.plan_once(0, samples=1_200, horizon=15)["plan"]["return"] < 2.0
