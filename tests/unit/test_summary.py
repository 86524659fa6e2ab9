"""The summary of the report: the paper's number beside ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyforest.paper import STUDIES, summary
from policyforest.paper.exhibits.cells import Cells


@pytest.mark.parametrize(("mean", "word"), [(-172.5, "agrees"), (-130.0, "better"), (-300.0, "worse")])
def test_ours_is_set_beside_the_paper_s(tmp_path: Path, mean: float, word: str) -> None:
    study = STUDIES["pendulum-6kg"]
    for seed, shift in enumerate((-1.0, 0.0, 1.0)):
        study.file(tmp_path, seed).parent.mkdir(exist_ok=True)
        study.file(tmp_path, seed).write_text(json.dumps({"result": {"fpf-pwl": {"return": mean + shift}}}))
    ((what, paper, ours, policies, limit, beside),) = summary.rows(Cells(tmp_path))
    assert (paper, policies, limit, beside) == ("-172", "3", "-", word)
    assert ours.startswith(f"{mean:.4g} [")
    assert "our defaults" in what


def test_one_policy_has_no_interval_and_no_verdict(tmp_path: Path) -> None:
    file = STUDIES["pendulum-6kg"].file(tmp_path, 0)
    file.parent.mkdir()
    file.write_text(json.dumps({"result": {"fpf-pwl": {"return": -130.0}}}))
    assert summary.rows(Cells(tmp_path))[0][2:] == ("-130", "1", "-", "none")


def test_all_studies_of_the_summary_exist() -> None:
    assert {line.study for line in summary.LINES} <= set(STUDIES)
