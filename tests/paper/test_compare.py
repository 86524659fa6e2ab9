"""The comparison with SAC: what is weighed, and that its cells can be seen without torch."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.paper import STUDIES, sac_studies
from policyforest.paper.exhibit_drawing import figure
from policyforest.paper.exhibits import sac_figure
from policyforest.paper.finished_cells import Cells
from policyforest.paper.registry import EXHIBITS
from stored import write_cell

PROBLEM = "policyforest/DoubleIntegrator-v0"


def test_a_policy_is_weighed_as_it_is_and_as_one_tree() -> None:
    data = pf.collect(PROBLEM, episodes=20, seed=0)
    policy = pf.FittedPolicyForest(n_estimators=5).fit(pf.FittedQIteration(horizon=2, resample=None).fit(data))
    weighed = sac_studies.weigh(policy, gym.make(PROBLEM), data, episodes=1)
    assert weighed["tree_bytes"] < weighed["bytes"]
    assert 0 < weighed["tree_action_us"] < 1_000
    assert weighed["tree_return"] <= 0


def test_the_bare_actor_is_a_network_scaled_to_the_action_box() -> None:
    first = (np.array([[1.0, 0.0], [0.0, -1.0]], np.float32), np.array([0.0, 0.5], np.float32))
    last = (np.array([[1.0, 1.0]], np.float32), np.array([0.25], np.float32))
    actor = sac_studies.BareActor([first, last], Box(-2.0, 6.0, (1,), np.float64))
    hidden = max(0.3, 0.0) + max(-0.1 + 0.5, 0.0)
    assert actor.act(np.array([0.3, 0.1]))[0] == pytest.approx(2.0 + 4.0 * np.tanh(hidden + 0.25), rel=1e-6)


def test_stored_comparisons_are_drawn_without_torch(tmp_path: Path) -> None:
    for name in sac_studies.STUDIES:
        learner = name.split("-")[1]
        problem = next(p for p in sac_studies.STOPS if sac_studies.study_name(learner, p) == name)
        curve = [{"steps": s, "return": -200.0, "train_seconds": 1.0} for s in sac_studies.STOPS[problem][learner]]
        for seed in range(2):
            costs = {
                "tree_return": -210.0,
                "action_us": 3.0,
                "tree_action_us": 2.0,
                "bare_action_us": 4.0,
                "bytes": 5_000,
                "tree_bytes": 6_000,
            }
            write_cell(tmp_path, name, seed, {"curve": curve} | costs)
    drawn = figure(EXHIBITS["figure-sac"], Cells(tmp_path))
    bars = [bar.get_height() for axes in drawn.axes for bar in axes.patches]
    assert sorted(bars) == [1.0] * 4 + [2.0] * 2 + [3.0] * 4 + [4.0] * 2 + [5.0] * 4 + [6.0] * 2

    found = sac_figure.rows(Cells(tmp_path))[1]
    assert sum(row[1] == "its single tree" and row[3].startswith("-210") for row in found) == 2
    # torch is not needed, at any scale: what is stored is drawn.
    assert figure(EXHIBITS["figure-sac"], Cells(tmp_path, "quick")).axes


def test_a_study_without_its_extra_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    study = STUDIES["compare-sac-pendulum-v1"]
    monkeypatch.setattr("policyforest.paper.studies.EXTRAS", {"compare": ("no_such_library",)})
    assert not study.computable()
    assert STUDIES["compare-forest-pendulum-v1"].computable()


def test_sac_is_trained_and_weighed() -> None:
    pytest.importorskip("stable_baselines3", reason="the extra 'compare' is not installed")
    cell = sac_studies.train_sac(0, problem="Pendulum-v1", stops=(120, 240), episodes=1)
    assert [point["steps"] for point in cell["curve"]] == [120, 240]
    assert cell["bytes"] == 4 * (3 * 256 + 256 + 256 * 256 + 256 + 256 + 1)
    assert cell["bare_action_us"] < cell["action_us"]
