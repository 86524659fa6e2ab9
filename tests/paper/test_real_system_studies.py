"""Real systems: what cells hold, and the table with its requirements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policyforest.learning import contest
from policyforest.learning.improvement.rollout_improvement import RolloutImprovement
from policyforest.paper import STUDIES, real_system_studies
from policyforest.paper.cell_checks import check_cell
from policyforest.paper.exhibits import real_systems_table
from policyforest.paper.finished_cells import Cells
from stored import write_cell

NAMES = list(real_system_studies.STUDIES)


@pytest.fixture
def short_improvement(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(discount: float, **settings: Any) -> RolloutImprovement:
        return RolloutImprovement(discount, **settings | {"n_rounds": 1, "n_states": 100, "n_members": 2})

    monkeypatch.setattr(contest, "RolloutImprovement", short)
    monkeypatch.setattr(real_system_studies, "EPISODES", 1)


def line(out: Path, name: str) -> tuple[str, ...]:
    (found,) = [row for row in real_systems_table.rows(Cells(out, "paper"))[1] if row[0] == name]
    return found


def put(out: Path, study: str, seed: int, rows: dict[str, Any]) -> None:
    write_cell(out, study, seed, {name: {"steps": 10.0} | row for name, row in rows.items()}, "paper")


def test_twenty_seeds_from_a_thousand() -> None:
    for name in NAMES:
        if name != "real-delay-limits":
            assert len(STUDIES[name].all_seeds("paper")) == 20
            assert STUDIES[name].first_seed >= 2_000
    assert {line.study for line in real_systems_table.LINES} | {"real-delay-limits"} == set(NAMES)


@pytest.mark.usefixtures("short_improvement")
def test_cells_hold_what_their_study_says() -> None:
    cells = {
        "real-delay-1": real_system_studies.delayed_pendulum(900, delay=1, samples=30),
        "real-pid": real_system_studies.improved_pid(900, samples=10, steps=30),
        "real-known-reward-inverted-pendulum": real_system_studies.known_reward(
            900, problem="inverted-pendulum", samples=10
        ),
        "real-c-bits": real_system_studies.equal_bits(900, steps=2_000),
    }
    for name, result in cells.items():
        check_cell({"result": result}, "returns", STUDIES[name].methods)
    assert cells["real-delay-1"]["found"]["delay"] == 1
    assert cells["real-c-bits"]["float64"]["return"] == cells["real-c-bits"]["float32"]["return"] == 0.0
    assert cells["real-pid"]["worse"]["statement"] != "better"


def test_known_costs_are_the_environments_own() -> None:
    import policyforest as pf
    from policyforest.environments.named_problems import named_problem

    for problem, cost in real_system_studies.COSTS.items():
        data = pf.collect(named_problem(problem).id, episodes=10, seed=0)
        assert data.with_known(cost).rewards == pytest.approx(data.rewards)


def test_prediction_makes_up_for_late_commands() -> None:
    class Law:
        problem = real_system_studies._grid().problem

        def act(self, state: Any) -> Any:
            return np.array([100 * state[0]])

    grid: Any = real_system_studies.PredictingGrid(Law(), 2)
    grid.predict([0.1, 0.0], episode_start=[True])
    first = grid._pending
    assert len(first) == 2
    assert first[0] == 0.0
    grid.predict([0.1, 0.1], episode_start=[False])
    assert grid._pending[0] == first[1]


def test_requirements_are_met_or_not(tmp_path: Path) -> None:
    assert line(tmp_path, "PID improved")[5].endswith("no cells")
    rows = {
        "improved": {"return": -120.0, "statement": "better"},
        "baseline": {"return": -200.0, "statement": ""},
        "worse": {"return": -900.0, "statement": "worse"},
    }
    put(tmp_path, "real-pid", 2_000, rows)
    assert line(tmp_path, "PID improved")[5].endswith("met so far")
    put(tmp_path, "real-pid", 2_001, rows | {"worse": {"return": -900.0, "statement": "better"}})
    assert line(tmp_path, "PID improved")[5].endswith("not met so far")
    late = {"found": {"return": -105.0, "delay": 1}, "ignored": {"return": -1e3}, "angle": {"return": -130.0}}
    put(tmp_path, "real-delay-1", STUDIES["real-delay-1"].first_seed, late)
    assert line(tmp_path, "commands 1 step late")[5].endswith("needs the limit")
    assert line(tmp_path, "commands 1 step late, angle alone")[5].endswith(": met so far")
    limit = {"problem": "inverted-pendulum-6kg", "return": -100.0, "steps": 3e3}
    write_cell(tmp_path, "real-delay-limits", 1, limit, "paper")
    assert line(tmp_path, "commands 1 step late")[5].endswith("met so far")
    put(
        tmp_path,
        "real-delay-1",
        STUDIES["real-delay-1"].first_seed + 1,
        late | {"found": {"return": -105.0, "delay": 2}},
    )
    assert line(tmp_path, "commands 1 step late")[5].endswith("not met so far")
    bits = {"float64": {"return": 0.0}, "float32": {"return": -1.0}}
    put(tmp_path, "real-c-bits", 2_000, bits)
    assert line(tmp_path, "steps of C that differ")[5].endswith("not met so far")


def test_known_rewards_are_judged_by_the_difference_within_cells(tmp_path: Path) -> None:
    study, name = "real-known-reward-inverted-pendulum-6kg", "known reward, inverted-pendulum-6kg"
    first = STUDIES[study].first_seed
    for seed, apart in enumerate((1.0, -2.0, 0.5)):  # worse in the mean, but for chance
        put(tmp_path, study, first + seed, {"known": {"return": -120.0 + apart}, "learned": {"return": -120.0}})
    found = line(tmp_path, name)
    assert "difference -0.167 [" in found[4]
    assert found[5].endswith(": met so far")
    for seed, apart in enumerate((-1.0, -1.1, -0.9)):
        put(tmp_path, study, first + 10 + seed, {"known": {"return": -120.0 + apart}, "learned": {"return": -120.0}})
    for seed in range(3):
        put(tmp_path, study, first + 13 + seed, {"known": {"return": -121.0}, "learned": {"return": -120.0}})
    assert line(tmp_path, name)[5].endswith(": not met so far")
