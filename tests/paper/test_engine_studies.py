"""The swing-up in several engines: a trial in one, its policy in the others, and a trial that was killed."""

from __future__ import annotations

import pytest

from policyforest.paper import STUDIES, engine_studies, online_studies

pytest.importorskip("dartpy")
pytest.importorskip("mujoco")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(engine_studies, "EVALUATION_EPISODES", 1)
    monkeypatch.setattr(online_studies, "VALIDATION_EPISODES", 1)
    monkeypatch.setattr(engine_studies, "ENGINES", {name: engine_studies.ENGINES[name] for name in ("dart", "mujoco")})


def test_the_chosen_policy_is_judged_in_the_other_engines_too(tmp_path):
    settings = {"engine": "dart", "agent": "random", "max_steps": 15, "n_policies": 1}
    whole = engine_studies.explore_in_engine(0, **settings, episodes=2)
    here, there = whole["chosen of 1"], whole["chosen, in MuJoCo"]
    assert here["return"] == pytest.approx(there["return"], abs=0.1)
    assert here["return"] != there["return"]
    engine_studies.explore_in_engine(0, **settings, episodes=1, run_dir=tmp_path / "run")
    resumed = engine_studies.explore_in_engine(0, **settings, episodes=2, run_dir=tmp_path / "run")
    assert resumed["mean of 1"]["returns"] == whole["mean of 1"]["returns"]
    assert resumed["mean of 1"]["training_returns"] == whole["mean of 1"]["training_returns"]


def test_they_are_computed_only_when_they_are_asked_for():
    assert all(STUDIES[name].on_request for name in engine_studies.STUDIES)
    assert not any(study.on_request for name, study in STUDIES.items() if name not in engine_studies.STUDIES)
