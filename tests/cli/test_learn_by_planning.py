"""``policyforest learn`` plans by default, shows what it compared, and is clear about data that teach nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from typer.testing import CliRunner

import policyforest as pf
from policyforest.cli import main
from policyforest.cli.output import ProgressDisplay
from policyforest.learning.improvement.simple_policies import constant_policy
from policyforest.report.candidates import comparison_of

QUICK = ["--discount", "0.8", "--jobs", "1"]
Change = Callable[[dict[str, Any]], dict[str, Any]]


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


def samples(n: int = 80, change: Change | None = None) -> pf.Transitions:
    """A point that two actions push towards 0, in episodes of 20 steps, with something changed.

    Two actions: without Fitted Q Iteration, a fit takes a second."""
    rng = np.random.default_rng(0)
    states, actions = np.empty((n, 2)), rng.uniform(-1, 1, (n, 2))
    ahead = np.empty((n, 2))
    for i in range(n):
        states[i] = rng.uniform(-1, 1, 2) if i % 20 == 0 else ahead[i - 1]
        ahead[i] = 0.95 * states[i] + 0.2 * actions[i]
    columns: dict[str, Any] = {
        "states": states,
        "actions": actions,
        "rewards": -(states**2).sum(axis=1) - 0.1 * (actions**2).sum(axis=1),
        "next_states": ahead,
        "terminals": np.zeros(n, dtype=bool),
        "episodes": np.arange(n) // 20,
    }
    columns |= {} if change is None else change(columns)
    return pf.Transitions(**columns, action_space=Box(-1.0, 1.0, (2,), np.float64))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planned") / "data.npz"
    samples().save(path)
    return path


@pytest.fixture(scope="module")
def planned(data: Path) -> Path:
    path = data.with_name("planned.pforest")
    run("learn", "--data", data, *QUICK, "-o", path)
    return path


def test_learn_shows_the_candidates_with_gains_errors_and_the_winner(data: Path, tmp_path: Path) -> None:
    shown = run("learn", "--data", data, *QUICK, "-o", tmp_path / "p.pforest").stdout
    header = next(line for line in shown.splitlines() if "standard error" in line)
    assert "value" in header
    assert "gain over the constant action" in header
    assert shown.count("(chosen)") == 1
    assert "best constant action" in shown
    assert "more than the best constant action" in shown
    content = json.loads(run("learn", "--data", data, *QUICK, "-o", tmp_path / "p.pforest", "--json").stdout)
    assert {"name", "value", "gain", "error"} == set(content["candidates"][0])
    assert content["winner"] in [candidate["name"] for candidate in content["candidates"]]
    assert content["note"] == ""


def test_the_stages_of_planning_are_shown_on_a_terminal(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Recorded(ProgressDisplay):
        def stage(self, text: str) -> None:
            stages.append(text)

    stages: list[str] = []
    module = sys.modules["policyforest.cli.learn"]  # the package has the command under that name
    monkeypatch.setattr(module, "progress", lambda quiet: nullcontext(Recorded()))
    run("learn", "--data", data, *QUICK, "-o", tmp_path / "p.pforest")
    assert stages[0] == "collecting samples"
    assert "learning the model" in stages
    assert stages[-1].startswith("improving")


def test_the_page_of_a_policy_has_the_table_of_its_candidates(planned: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = run("show", planned, "--page", page, "--picture", tmp_path / "picture.png").stdout
    assert "(chosen)" in shown
    text = page.read_text(encoding="utf-8").split("How it was chosen")[1]
    assert "(chosen)" in text
    assert "<th>standard error</th>" in text


def test_a_preset_implies_fitted_q_iteration(tmp_path: Path) -> None:
    out = tmp_path / "p.pforest"
    run("learn", "double-integrator", "--episodes", "10", "--preset", "paper", "--jobs", "1", "-o", out)
    assert pf.load(out).info.method == "fpf-pwl"


@pytest.mark.parametrize("option", ["--checkpoint-dir", "--tensorboard"])
def test_what_only_fitted_q_iteration_fills_is_refused_with_the_method_to_give(
    data: Path, tmp_path: Path, option: str
) -> None:
    refused = run("learn", "--data", data, option, tmp_path / "q", "-o", tmp_path / "p.pforest", code=2)
    assert f"{option}: needs Fitted Q Iteration, must be left out with the method 'plan'" in refused.stderr
    assert "--method fpf-pwl" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_baseline_that_is_worse_is_compared_and_beaten(data: Path, tmp_path: Path) -> None:
    baseline, out = tmp_path / "baseline.pforest", tmp_path / "p.pforest"
    constant_policy(samples(), np.array([0.9, -0.9])).save(baseline)
    done = run("learn", "--data", data, *QUICK, "--baseline", baseline, "-o", out)
    assert "the given baseline" in done.stdout
    assert "warning" not in done.stderr
    assert pf.load(out).info.settings["winner"] != "baseline"


def test_a_baseline_that_nothing_beats_is_returned_with_a_warning(data: Path, planned: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.pforest"
    done = run("learn", "--data", data, *QUICK, "--baseline", planned, "-o", out)
    assert "warning: nothing beats the controller that was given; it is returned unchanged" in done.stderr
    assert "the given baseline (chosen)" in done.stdout
    states = samples().states
    assert np.array_equal(pf.load(out).act_batch(states), pf.load(planned).act_batch(states))


def test_a_baseline_that_cannot_be_compared_is_named(planned: Path, tmp_path: Path) -> None:
    out = ["-o", tmp_path / "p.pforest"]
    for options, words in [
        (["double-integrator", "--episodes", "5", "--baseline", planned], "--baseline: it acts in"),
        (["double-integrator", "--baseline", planned, "--method", "fqi"], "baseline: needs the method 'plan'"),
        (["double-integrator", "--baseline", tmp_path / "none.pforest"], "none.pforest"),
    ]:
        refused = run("learn", *options, *out, code=2)
        assert words in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_a_baseline_that_was_not_compared_is_told(planned: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise.npz"
    samples(change=lambda c: {"rewards": np.random.default_rng(1).standard_normal(len(c["states"]))}).save(noise)
    told = run("learn", "--data", noise, *QUICK, "--baseline", planned, "-o", tmp_path / "p.pforest").stderr
    assert "warning: planning was not used" in told
    assert "warning: the policy of --baseline was not compared with the result" in told


NOT_BETTER = "constant action"
NOT_USED = "planning was not used"
CHANGES: dict[str, tuple[int, Change, str]] = {
    "one sample": (1, lambda c: {}, NOT_USED),
    "two samples": (2, lambda c: {}, NOT_USED),
    "one episode": (40, lambda c: {"episodes": np.zeros(40, dtype=int)}, NOT_USED),
    "constant states": (
        80, lambda c: {"states": np.full((80, 2), 0.5), "next_states": np.full((80, 2), 0.5)}, NOT_USED
    ),
    "states that never change": (80, lambda c: {"next_states": c["states"].copy()}, NOT_BETTER),
    "constant rewards": (80, lambda c: {"rewards": np.ones(80)}, NOT_BETTER),
    "no rewards": (80, lambda c: {"rewards": np.zeros(80)}, NOT_BETTER),
    "rewards of 1e9": (80, lambda c: {"rewards": 1e9 * c["rewards"]}, ""),
    "rewards near 1e9": (80, lambda c: {"rewards": 1e9 + c["rewards"]}, ""),
    "terminal states only": (80, lambda c: {"terminals": np.ones(80, dtype=bool)}, ""),
    "actions without effect": (
        80,
        lambda c: {"next_states": 0.95 * c["states"], "rewards": -(c["states"] ** 2).sum(axis=1)},
        NOT_BETTER,
    ),
    "one and the same action": (80, lambda c: {"actions": np.full((80, 2), 0.5)}, NOT_USED),
    "a state dimension that is constant": (
        80,
        lambda c: {name: c[name] * [1.0, 0.0] for name in ("states", "next_states")}
        | {"rewards": -(c["states"][:, 0] ** 2)},
        "",
    ),
    "states of 1e12": (80, lambda c: {name: 1e12 * c[name] for name in ("states", "next_states")}, ""),
    "states of 1e-12": (80, lambda c: {name: 1e-12 * c[name] for name in ("states", "next_states")}, NOT_USED),
}  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", CHANGES)
def test_data_that_teach_little_give_a_policy_and_a_warning_where_it_is_no_better(tmp_path: Path, name: str) -> None:
    n, change, words = CHANGES[name]
    given = samples(n, change)
    given.save(tmp_path / "data.npz")
    done = run("learn", "--data", tmp_path / "data.npz", *QUICK, "-o", tmp_path / "p.pforest")
    assert "nan" not in done.stdout
    if words:
        assert words in "".join(line for line in done.stderr.splitlines() if line.startswith("warning: "))
    actions = pf.load(tmp_path / "p.pforest").act_batch(given.states)
    assert (np.abs(actions) <= 1.0).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: {"rewards": 1e140 * c["rewards"]}, "rewards: holds a number of size"),
        (lambda c: {"states": 1e140 * c["states"]}, "states: holds a number of size"),
    ],
)
def test_numbers_that_would_overflow_are_one_line_of_error(tmp_path: Path, change: Change, words: str) -> None:
    samples(change=change).save(tmp_path / "data.npz")
    refused = run("learn", "--data", tmp_path / "data.npz", *QUICK, "-o", tmp_path / "p.pforest", code=2)
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "p.pforest").exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("", "log.csv: has no samples (0 rows)"),
        ("0,0.1,0.5,1\n", "log.csv: has no samples (1 rows)"),
        ("0,0.1,0.5,nan\n0,0.2,0.4,1\n", "line 2: reward: 'nan' is not a finite number"),
    ],
)
def test_a_log_without_samples_is_one_line_of_error(tmp_path: Path, rows: str, words: str) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"episode,x,u,reward\n{rows}")
    refused = run("learn", "--data", log, "--state", "x", "--action", "u", "-o", tmp_path / "p.pforest", code=2)
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"winner": "a"},
        {"winner": 1, "candidates": [{"name": "a", "value": 1.0, "gain": 0.0, "error": 0.0}]},
        {"winner": "a", "candidates": {"a": 1.0}},
        {"winner": "a", "candidates": [{"name": "a", "value": "1", "gain": 0.0, "error": 0.0}]},
        {"winner": "a", "candidates": [["a", 1.0]]},
    ],
)
def test_settings_that_are_no_comparison_are_shown_as_settings(settings: dict[str, Any]) -> None:
    assert comparison_of(settings) is None
