"""The studies of exploration with a learned model: their cells, and the table that judges them."""

from __future__ import annotations

import numpy as np
import pytest

from policyforest.paper import STUDIES, exploration_rivals, exploration_studies
from policyforest.paper.exhibits import exploration_table
from policyforest.paper.exploration_requirements import LINES, RunRequirement
from policyforest.paper.exploration_studies import explore_and_evaluate, plan_and_evaluate
from policyforest.paper.finished_cells import Cells
from stored import write_cell

ROW = {"return": 50.0, "steps": 60.0, "balanced": 1.0, "cpu_seconds": 9.0, "plans": 5}


def test_every_study_has_a_line_and_seeds_from_a_thousand():
    assert {line.study for line in LINES} == {*exploration_studies.STUDIES, *exploration_rivals.STUDIES}
    for name in exploration_studies.STUDIES:
        later = {"cart-pole": 5_000, "pendulum-v1": 12_000, "swing-up": 12_000, "mountain-car": 13_000}
        assert STUDIES[name].first_seed == next((seed for part, seed in later.items() if part in name), 2_000)
        assert len(STUDIES[name].all_seeds("quick")) == 1
        assert ("known" in name) == ("reward known" in STUDIES[name].title)


def test_a_cell_says_what_the_run_reached_and_cost():
    result = explore_and_evaluate(1, problem="double-integrator", budget={"episodes": 2}, episodes=2)
    explored = result["explored"]
    assert result["samples"] > 0
    assert explored["episodes"] == len(explored["training_returns"]) == 2
    assert explored["balanced"] == 0.0
    assert 0 < explored["exploring_seconds"] <= explored["cpu_seconds"]


def test_a_cell_also_says_what_the_run_had_earlier():
    parts = {"budget": {"total_timesteps": 60}, "earlier": {"total_timesteps": 40}}
    result = explore_and_evaluate(1, problem="double-integrator", episodes=2, **parts)
    assert result["samples"] == 60
    assert sum(result["earlier"]["training_returns"]) == pytest.approx(
        sum(result["explored"]["training_returns"][: result["earlier"]["episodes"]])
    )
    assert result["earlier"]["exploring_seconds"] < result["explored"]["exploring_seconds"]


def test_a_cell_says_what_one_plan_costs_and_is_worth():
    result = plan_and_evaluate(1, problem="double-integrator", budget={"total_timesteps": 40}, episodes=2)
    explored = result["explored"]
    assert result["samples"] == 40
    assert 0 < explored["exploring_seconds"] == explored["cpu_seconds"] < 60
    assert explored["plans"] == 1


def test_requirements_count_cells_and_compare_with_the_limit():
    values = np.array([1.0, 1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert RunRequirement("share", 1.0, 0.9).holds(values, None)
    assert not RunRequirement("share", 1.0, 1.0).holds(values, None)
    assert RunRequirement("mean", 0.99).holds(values, None)
    assert not RunRequirement("worst", 0.95).holds(values, None)
    near = RunRequirement("share", 0.05, 1.0, of_limit=True)
    assert near.holds(np.array([-104.0]), -100.0)
    assert not near.holds(np.array([-106.0]), -100.0)
    assert near.holds(values, None) is None
    cost = RunRequirement("seconds", 300.0)
    assert cost.holds(np.array([299.0, 10.0]), None)
    assert not cost.holds(np.array([301.0, 10.0]), None)
    assert cost.text() == "at most 300 CPU s to explore"
    assert RunRequirement("seconds", 0.5, task="plan").text() == "at most 0.5 CPU s to plan"


def test_the_table_judges_what_is_there_and_counts_what_is_missing(tmp_path):
    study = "explore-cart-pole-known-600"
    for seed, balanced in ((5_000, 1.0), (5_001, 0.4)):
        parts = {"explored": ROW | {"balanced": balanced}, "earlier": ROW | {"balanced": 0.0, "cpu_seconds": 4.0}}
        write_cell(tmp_path, study, seed, {"samples": 600, **parts})
    columns, rows = exploration_table.rows(Cells(tmp_path, "paper"))
    found, earlier = (dict(zip(columns, row, strict=True)) for row in rows[:2])
    assert earlier["CPU s, median (largest)"] == "4 (4)"
    assert earlier["requirement or aim"] == "aim: 100% of the cells ≥ 1 balanced: not met so far"
    assert found["known"] == "reward"
    assert found["cells"] == "2 of 50, 48 missing"
    assert found["requirement or aim"] == "mean ≥ 0.9 balanced: not met so far"
    assert len(rows) == len(LINES)
    assert len(exploration_table.rows(Cells(tmp_path, "paper"), missing=False)[1]) == 2


def test_a_cell_without_its_numbers_is_refused(tmp_path):
    write_cell(tmp_path, "explore-swing-up-8", 12_000, {"samples": 600, "explored": {"return": -20.0}})
    with pytest.raises(ValueError, match="has no number"):
        STUDIES["explore-swing-up-8"].results(tmp_path)
