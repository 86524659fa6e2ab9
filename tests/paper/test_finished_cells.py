"""Finished cells: only what a study would have written is kept and read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from policyforest.paper import STUDIES, run_studies
from square_studies import small
from stored import write_cell, write_line


def test_a_cell_that_is_no_number_is_not_kept(tmp_path):
    broken = replace(small(), run=lambda seed: {"fqi": {"return": float("nan")}})
    with pytest.raises(ValueError, match="JSON"):
        run_studies([broken], tmp_path, scale="quick", workers=1)
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_cell_that_is_damaged_is_named(tmp_path):
    run_studies([small()], tmp_path, scale="quick", workers=1)
    lines = small().file(tmp_path).read_text().splitlines()
    small().file(tmp_path).write_text("\n".join([lines[0], '{"result": ', lines[2]]) + "\n")
    with pytest.raises(
        ValueError, match=r"squares\.jsonl, line 2: is not a finished cell of squares .*must be deleted"
    ):
        small().results(tmp_path, "quick")
    small().file(tmp_path).write_text(f"{lines[2]}\n{lines[0]}\n")
    assert small().missing(tmp_path, "quick") == [1]
    run_studies([small()], tmp_path, scale="quick", workers=1)
    assert [json.loads(line)["seed"] for line in small().file(tmp_path).read_text().splitlines()] == [0, 1, 2]


GOOD = {"fpf-pwl": {"return": -1.0, "steps": 3.0}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[1]", "no object"),
        ("[" * 5_000, "recursion"),
        ('{"study": "pendulum-6kg", "seed": 0, "result": []}', "no result"),
        ('{"study": "pendulum-6kg", "seed": 0, "result": {}}', "no method 'fpf-pwl'"),
        ('{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": 3}}', "no method 'fpf-pwl'"),
        ('{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": {"return": -1}}}', "no number 'steps'"),
        (
            '{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": {"return": "x", "steps": 1}}}',
            "no number 'return'",
        ),
        ('{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": {"return": NaN, "steps": 1}}}', "the number nan"),
        (
            '{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": {"return": 1e308, "steps": 1}}}',
            r"the number 1e\+308",
        ),
        (
            '{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": {"return": 1%s, "steps": 1}}}' % ("0" * 400),
            "the number 1000+…",
        ),
        (
            '{"study": "pendulum-6kg", "seed": 0, "result": {"fpf-pwl": {"return": true, "steps": 1}}}',
            "no number 'return'",
        ),
        (json.dumps({"study": "pendulum-6kg", "seed": 0, "cpu_seconds": "3", "result": GOOD}), "'cpu_seconds' is of"),
        (json.dumps({"study": "pendulum-8kg", "seed": 0, "result": GOOD}), "of the study 'pendulum-8kg'"),
        (json.dumps({"study": "pendulum-6kg", "seed": "1", "result": GOOD}), "of the seed '1'"),
        (json.dumps({"study": "pendulum-6kg", "seed": -1, "result": GOOD}), "of the seed -1"),
        (json.dumps({"study": "pendulum-6kg", "seed": 1, "result": GOOD}), "the second line of 1"),
        ("", "Expecting value"),
    ],
    ids=range(17),
)
def test_only_what_a_study_would_have_written_is_read(tmp_path, content, told):
    write_cell(tmp_path, "pendulum-6kg", 1, GOOD)
    write_line(tmp_path, "pendulum-6kg", content)
    with pytest.raises(
        ValueError, match=rf"pendulum-6kg\.jsonl, line 2: is not a finished cell of pendulum-6kg \(.*{told}"
    ):
        STUDIES["pendulum-6kg"].results(tmp_path)


def test_bytes_that_are_no_text_are_named(tmp_path):
    write_cell(tmp_path, "pendulum-6kg", 1, GOOD).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"pendulum-6kg\.jsonl, line 1: is not a finished cell"):
        STUDIES["pendulum-6kg"].results(tmp_path)


@pytest.mark.parametrize(
    ("study", "result", "told"),
    [
        ("limits", {"problem": "swing-up", "return": -21.0}, "'steps'"),
        ("limits", {"problem": "swing-up", "return": True, "steps": 9}, "'return' is missing or of another type"),
        ("limits", {"problem": "swing-up", "return": 0.0, "steps": 9}, "must be below 0 on swing-up"),
        ("limits", {"problem": "moon", "return": -1.0, "steps": 9}, "'problem' is 'moon', must be one of"),
        ("portraits", {"problem": "swing-up", "how": "batch", "samples": 1, "maps": []}, "'maps'"),
        ("compare-forest-pendulum-6kg", {"curve": [], "action_us": 1.0, "bytes": 1}, "curve are empty"),
        ("compare-sac-pendulum-6kg", {"curve": [{"steps": 1}], "action_us": 1.0, "bytes": 1}, "no number 'return'"),
        ("swing-up-ours", {"mean of 10": {"return": -1.0, "steps": 1.0}}, "no list 'returns'"),
        ("planning-time", {"samples": 3}, "no method 'plan'"),
    ],
)
def test_cells_of_every_kind_are_checked(tmp_path, study, result, told):
    write_line(tmp_path, study, json.dumps({"study": study, "seed": 0, "result": result}))
    with pytest.raises(ValueError, match=told):
        STUDIES[study].results(tmp_path)


def test_all_stored_cells_are_what_their_studies_write():
    stored = Path(__file__).parents[2] / "docs" / "results"
    assert sum(len(study.results(stored)) for study in STUDIES.values()) > 1_000


def test_a_line_that_could_not_be_written_again_is_refused_before_cells_are_computed(tmp_path):
    line = '{"study": "squares", "seed": 9, "cpu_seconds": NaN, "result": {}}'
    small().file(tmp_path).write_text(line + "\n")
    with pytest.raises(ValueError, match=r"squares\.jsonl, line 1: is not a finished cell of squares .*the number nan"):
        small().missing(tmp_path, "quick")
