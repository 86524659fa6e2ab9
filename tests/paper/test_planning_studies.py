"""Planning with a learned model: what a cell holds, which seeds it has, and the table that is made from cells."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policyforest.data.transitions import Transitions
from policyforest.learning import contest
from policyforest.learning.improvement.rollout_improvement import RolloutImprovement
from policyforest.learning.improvement.simple_policies import constant_policy, middle_action
from policyforest.paper import STUDIES, planning_studies, result_tables
from policyforest.paper.cell_checks import check_cell
from policyforest.paper.exhibit_drawing import draw
from policyforest.paper.exhibits import planning_table
from policyforest.paper.finished_cells import Cells
from policyforest.paper.planning_requirements import LINES
from policyforest.paper.planning_studies import SIZES, PlannedCell, plan, plan_and_evaluate, plan_linear_quadratic
from policyforest.paper.studies import run_cell
from stored import write_cell

COLUMN = {name.split(",")[0].split(" ")[0]: i for i, name in enumerate(planning_table.COLUMNS)}
ABOUT = {"kept": True, "winner": "linear", "cpu_seconds": 9.0, "peak_mb": 100.0}
PLANS = [name for name, study in STUDIES.items() if study.kind == "plans"]


def push(data: Transitions, discount: float, seed: int) -> PlannedCell:
    """In place of learning: a policy that pushes, and one that does nothing."""
    nothing = constant_policy(data, middle_action(data))
    return PlannedCell(constant_policy(data, data.action_space.low), nothing, True, "push")


@pytest.fixture
def short_improvement(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(discount: float, **settings: Any) -> RolloutImprovement:
        return RolloutImprovement(discount, **settings | {"n_rounds": 1, "n_states": 100, "n_members": 2})

    monkeypatch.setattr(contest, "RolloutImprovement", short)


def put(out: Path, study: str, seed: int, planned: dict[str, Any], start: dict[str, Any], scale: str = "paper") -> None:
    rows = {"planned": ABOUT | planned, "start": start}
    write_cell(out, study, seed, rows, scale)


def line(out: Path, name: str, scale: str = "paper") -> tuple[str, ...]:
    (found,) = [row for row in planning_table.rows(Cells(out, scale))[1] if row[0].startswith(name)]
    return found


def test_the_studies_have_their_cells() -> None:
    assert {name: STUDIES[name].seeds["paper"] for name in PLANS} == {
        "planning-lqr": 120,
        "planning-double-integrator-50": 100,
        "planning-double-integrator-100": 100,
        "planning-double-integrator-300": 100,
        "planning-pendulum-6kg": 50,
        "planning-pendulum-8kg": 50,
        "planning-car-on-the-hill": 200,
        "planning-inverted-pendulum-v5": 20,
        "planning-reacher-v5": 20,
        "planning-pendulum-v1": 20,
    }
    assert {line.study for line in LINES} == set(PLANS)


@pytest.mark.parametrize("name", PLANS)
def test_seeds_begin_where_no_setting_was_chosen(name: str, tmp_path: Path) -> None:
    study = STUDIES[name]
    assert study.first_seed >= (1_000 if name == "planning-lqr" else 5_000)
    assert study.missing(tmp_path, "quick") == [study.first_seed]
    put(tmp_path, name, 999, {}, {})
    assert study.results(tmp_path) == []
    put(tmp_path, name, study.first_seed + 1, {}, {})
    assert list(study.by_seed(tmp_path)) == [study.first_seed + 1]
    assert study.missing(tmp_path, "paper")[:2] == [study.first_seed, study.first_seed + 2]


@pytest.mark.usefixtures("short_improvement")
def test_a_plan_is_a_policy_and_its_start() -> None:
    cell = plan_and_evaluate(900, problem="double-integrator", samples={"episodes": 5}, episodes=1)
    assert set(cell) == {"samples", "planned", "start"}
    assert cell["start"]["method"] == "fpf-pwl"
    assert cell["planned"]["cpu_seconds"] > 0
    assert cell["planned"]["peak_mb"] > 10
    assert isinstance(cell["planned"]["kept"], bool)
    assert (cell["planned"]["winner"] == "improved") == cell["planned"]["kept"]


@pytest.mark.usefixtures("short_improvement")
def test_costs_of_a_linear_quadratic_system_are_compared_with_its_optimum() -> None:
    cell = plan_linear_quadratic(913, steps=100)
    assert SIZES[913 % 12] == (2, 2)
    assert cell["optimum"]["ratio"] == 1
    assert (cell["optimum"]["n"], cell["optimum"]["m"]) == (2, 2)
    for row in (cell["planned"], cell["start"], cell["nothing"]):
        assert row["ratio"] == pytest.approx(row["return"] / cell["optimum"]["return"])
    assert 1 <= cell["planned"]["ratio"] < 0.1 * cell["nothing"]["ratio"]


@pytest.mark.usefixtures("short_improvement")
def test_the_same_seed_gives_the_same_plan() -> None:
    data = planning_studies.LinearQuadratic.draw(2, 2, 5).collect(100, 5)
    one, other = (plan(data, 0.98, 5).policy.act_batch(data.states) for _ in range(2))
    assert np.array_equal(one, other)


def test_systems_of_all_sizes_come_equally_often() -> None:
    seeds = STUDIES["planning-lqr"].all_seeds("paper")
    counts = [sum(SIZES[seed % len(SIZES)] == size for seed in seeds) for size in SIZES]
    assert counts == [10] * 12


@pytest.mark.parametrize("name", PLANS)
def test_a_cell_is_what_its_study_may_write(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not STUDIES[name].computable():
        pytest.skip(f"needs the extra {STUDIES[name].extra!r}")
    monkeypatch.setattr(planning_studies, "plan", push)
    study = pickle.loads(pickle.dumps(STUDIES[name]))  # as worker processes get it
    content = run_cell((study, 7, "paper"))
    check_cell(content, "plans", STUDIES[name].methods)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["result"]["planned"]["winner"] == "push"
    same = content["result"]["planned"]["return"] == content["result"]["start"]["return"]
    assert same == (name == "planning-car-on-the-hill")  # no constant push leaves the valley


def test_a_start_that_a_constant_action_beat_is_still_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the improvement is not kept, but the policy is not the start either."""
    monkeypatch.setattr(planning_studies, "plan", lambda *given: replace(push(*given), kept=False, winner="constant"))
    cell = plan_and_evaluate(900, problem="double-integrator", samples={"episodes": 5}, episodes=1)
    assert cell["start"]["return"] != cell["planned"]["return"]


@pytest.mark.parametrize("lost", ["kept", "cpu_seconds", "peak_mb", "return"])
def test_a_cell_without_its_numbers_is_refused(lost: str) -> None:
    row = {"return": -1.0, "steps": 1.0}
    planned = {key: value for key, value in (ABOUT | row).items() if key != lost}
    with pytest.raises(ValueError, match=f"'{lost}'"):
        check_cell({"result": {"planned": planned, "start": row}}, "plans", ("planned", "start"))


def test_the_pendulum_is_learned_by_its_angle(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(data: Transitions, discount: float, seed: int) -> PlannedCell:
        seen.append(data)
        return push(data, discount, seed)

    monkeypatch.setattr(planning_studies, "plan", noted)
    STUDIES["planning-pendulum-v1"].run(7)
    (data,) = seen
    assert (len(data), data.states.shape[1], list(data.periodic)) == (5_000, 2, [0])


def test_the_table_without_cells_shows_every_line_as_missing(tmp_path: Path) -> None:
    columns, rows = planning_table.rows(Cells(tmp_path))
    assert len(rows) == 12 + 9
    assert all(len(row) == len(columns) for row in rows)
    assert line(tmp_path, "Pendulum 6 kg")[1] == "0 of 50, 50 missing"
    assert "mean ≥ -126: no cells; worst ≥ -138: no cells" in line(tmp_path, "Pendulum 6 kg")[-1]
    assert planning_table.rows(Cells(tmp_path), missing=False)[1] == []
    assert result_tables.summary(tmp_path, "paper")["plans"] == []


def test_few_cells_are_judged_so_far(tmp_path: Path) -> None:
    write_cell(tmp_path, "limits", 1, {"problem": "inverted-pendulum-6kg", "return": -120.0, "steps": 3_000})
    first = STUDIES["planning-pendulum-6kg"].first_seed
    put(tmp_path, "planning-pendulum-6kg", first, {"return": -122.0}, {"return": -130.0})
    put(tmp_path, "planning-pendulum-6kg", first + 4, {"return": -142.0, "cpu_seconds": 31.0}, {"return": -140.0})
    found = line(tmp_path, "Pendulum 6 kg")
    assert found[COLUMN["cells"]] == "2 of 50, 48 missing"
    assert found[COLUMN["start"]] == "-135"
    assert found[COLUMN["mean"]].startswith("-132 [")
    assert (found[COLUMN["median"]], found[COLUMN["worst"]], found[COLUMN["limit"]]) == ("-132", "-142", "-120")
    assert found[COLUMN["kept"]] == "2 of 2"
    assert found[8] == "1 of 2 (10%)"
    assert found[COLUMN["CPU"]] == "20.0 (31.0)"
    assert found[-1] == "mean ≥ -126: not met so far; worst ≥ -138: not met so far; CPU ≤ 30 s: not met so far"


def test_a_complete_study_is_judged(tmp_path: Path) -> None:
    for k in range(20):
        put(tmp_path, "planning-inverted-pendulum-v5", 5_000 + k, {"return": 1_000.0 if k else 5.0}, {"return": 5.0})
    found = line(tmp_path, "InvertedPendulum-v5")
    assert found[1] == "20 of 20"
    assert found[-1] == "95% of the cells ≥ 990: met; CPU ≤ 30 s: met"


def test_systems_are_judged_by_size_and_less_is_better(tmp_path: Path) -> None:
    seeds = [seed for seed in STUDIES["planning-lqr"].all_seeds("paper") if SIZES[seed % 12] == (4, 2)]
    for k, seed in enumerate(seeds):
        put(tmp_path, "planning-lqr", seed, {"ratio": 1.3 if k == 0 else 1.02}, {"ratio": 300.0})
    found = line(tmp_path, "linear-quadratic, n = 4, m = 2")
    assert found[1] == "10 of 10"
    assert (found[COLUMN["median"]], found[COLUMN["worst"]]) == ("1.02", "1.3")
    assert found[8] == "0 of 10"
    assert found[-1].startswith("median ≤ 1.05: met; worst ≤ 1.25: not met;")
    assert line(tmp_path, "linear-quadratic, n = 4, m = 3")[1] == "0 of 10, 10 missing"


def test_a_car_that_fails_quickly_is_not_fast(tmp_path: Path) -> None:
    put(tmp_path, "planning-car-on-the-hill", 5_000, {"return": -1.0, "steps": 12.0}, {"return": 1.0, "steps": 25.0})
    found = line(tmp_path, "Car on the Hill")
    assert (found[COLUMN["worst"]], found[8]) == ("100", "1 of 1")
    assert "95% of the cells ≤ 22: not met so far" in found[-1]


def test_a_share_of_the_limit_needs_the_limit(tmp_path: Path) -> None:
    for k in range(2):
        put(tmp_path, "planning-pendulum-v1", 5_000 + k, {"return": -155.0}, {"return": -300.0})
    assert "mean within 5% of the limit: needs the limit;" in line(tmp_path, "Pendulum-v1")[-1]
    limit = {"problem": "Pendulum-v1", "return": -148.0, "steps": 200.0}
    write_cell(tmp_path, "planning-pendulum-v1-limit", 0, limit)
    assert STUDIES["planning-pendulum-v1-limit"].results(tmp_path) == [limit]
    assert "mean within 5% of the limit: met so far;" in line(tmp_path, "Pendulum-v1")[-1]


def test_a_loss_of_a_start_at_the_limit_is_told(tmp_path: Path) -> None:
    put(tmp_path, "planning-inverted-pendulum-v5", 5_000, {"return": 900.0}, {"return": 1_000.0})
    assert line(tmp_path, "InvertedPendulum-v5")[8] == "1 of 1 (a start is at the limit)"


def test_the_quick_table_lacks_the_sizes_that_it_does_not_compute(tmp_path: Path) -> None:
    rows = planning_table.rows(Cells(tmp_path, "quick"))[1]
    assert [row[0] for row in rows if row[0].startswith("linear")] == [
        "linear-quadratic, n = 4, m = 2 (cost / optimum)"
    ]


def test_the_table_is_written_as_markdown_and_into_the_results(tmp_path: Path) -> None:
    put(tmp_path, "planning-reacher-v5", 6_000, {"return": -5.0}, {"return": -20.0})
    (written,) = draw(["table-planning"], Cells(tmp_path))
    text = written.read_text()
    assert "| Reacher-v5 | 1 of 20, 19 missing | -20 | -5 |" in text
    result_tables.write_tables(tmp_path, "paper")
    assert "| Reacher-v5 | 1 of 20, 19 missing |" in (tmp_path / "results.md").read_text()
    assert "Pendulum 6 kg, 100 episodes |" not in (tmp_path / "results.md").read_text()
