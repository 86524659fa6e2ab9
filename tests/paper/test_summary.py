"""The summary of the report: the paper's number next to our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyforest.paper import STUDIES, report_summary
from policyforest.paper.finished_cells import Cells
from stored import write_cell, write_line


@pytest.mark.parametrize(("mean", "word"), [(-172.5, "in our interval"), (-130.0, "better"), (-300.0, "worse")])
def test_ours_is_set_beside_the_paper_s(tmp_path: Path, mean: float, word: str) -> None:
    for seed, shift in enumerate((-1.0, 0.0, 1.0)):
        write_cell(tmp_path, "pendulum-6kg", seed, {"fpf-pwl": {"return": mean + shift}})
    ((what, paper, ours, policies, limit, beside),) = report_summary.rows(Cells(tmp_path))
    assert (paper, policies, limit, beside) == ("-172", "3", "-", word)
    assert ours.startswith(f"{mean:.4g} [")
    assert "our defaults" in what


def test_one_policy_has_no_interval_and_no_verdict(tmp_path: Path) -> None:
    write_cell(tmp_path, "pendulum-6kg", 0, {"fpf-pwl": {"return": -130.0}})
    assert report_summary.rows(Cells(tmp_path))[0][2:] == ("-130", "1", "-", "none")


def test_the_worst_policy_is_the_worst_of_all_trials(tmp_path: Path) -> None:
    for seed, returns in enumerate(([-40.0, -60.0], [-45.0, -100.0])):
        trial = {"return": -50.0, "steps": 100.0, "returns": returns, "training_returns": [-90.0]}
        rows = {name: {"return": -50.0, "steps": 100.0} for name in ("worst of 2", "chosen of 2")}
        content = {"study": "swing-up-mre", "seed": seed, "result": {"mean of 2": trial, **rows}}
        write_line(tmp_path, "swing-up-mre", json.dumps(content))
    found = {row[0]: row[1:] for row in report_summary.rows(Cells(tmp_path))}
    assert found["Swing-up, worst policy, MRE"] == ("-51", "-100", "4", "-", "worse")
    assert found["Swing-up, 100 episodes online, MRE"][2] == "4 of 2 trials"
    assert "Swing-up, worst policy, MRE" in report_summary.reasons(Cells(tmp_path))[0]


def test_all_studies_of_the_summary_exist() -> None:
    assert {line.study for line in report_summary.LINES} <= set(STUDIES)
