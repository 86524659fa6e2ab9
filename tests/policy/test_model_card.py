"""The card beside a saved policy."""

from __future__ import annotations

from pathlib import Path

import yaml

import policyforest as pf
from policies import forest_policy


def parts(path: Path) -> tuple[dict[str, object], str]:
    _, head, body = path.read_text().split("---\n", 2)
    return yaml.safe_load(head), body


def test_a_card_is_written_only_when_asked_for(tmp_path: Path) -> None:
    policy = forest_policy()
    policy.save(tmp_path / "pole.pforest")
    assert [file.name for file in tmp_path.iterdir()] == ["pole.pforest"]
    policy.save(tmp_path / "pole.pforest", card=True)
    head, body = parts(tmp_path / "pole.md")
    assert head["library_name"] == "policyforest"
    assert "fpf-pwl" in head["tags"]  # type: ignore[operator]
    assert 'pf.load("pole.pforest")' in body
    found = policy.range()
    assert f"[{found.low[0]:.6g}, {found.high[0]:.6g}]" in body


def test_words_of_a_policy_cannot_leave_their_place(tmp_path: Path) -> None:
    hostile = "x\n---\ntags: [stolen]\n<script>`|"
    info = pf.PolicyInfo(hostile, {hostile: hostile}, 1, hostile, hostile, hostile)
    policy = forest_policy()
    object.__setattr__(policy, "info", info)
    policy.save(tmp_path / "pole.pforest", card=True)
    head, body = parts(tmp_path / "pole.md")
    assert set(head) == {"library_name", "pipeline_tag", "tags"}
    assert head["tags"][-1] == hostile  # type: ignore[index]
    assert "<script>" not in body
    assert "\n---\n" not in body
