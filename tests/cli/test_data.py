"""``policyforest data`` and ``learn --data``: a log is looked at, and learned from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import policyforest as pf
from policyforest.cli import main

COLUMNS = ["--state", "p,v", "--action", "a", "--bounds", "a=-1:1"]


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = pf.collect("policyforest/DoubleIntegrator-v0", episodes=20, seed=1)
    path = tmp_path_factory.mktemp("data") / "log.csv"
    rows = np.column_stack([data.episodes, data.states, data.actions, data.rewards, data.terminals, data.next_states])
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    path.write_text("\n".join(["episode,p,v,a,reward,terminal,np,nv", *lines]))
    return path


def test_a_log_is_described(log: Path) -> None:
    shown = run("data", log, "--describe", *COLUMNS, "--next-state", "np,nv").stdout
    assert "in 20 episodes" in shown
    assert "state p" in shown
    content = json.loads(run("data", log, *COLUMNS, "--next-state", "np,nv", "--json").stdout)
    assert content["n_episodes"] == 20
    assert content["n_malformed"] == 0


def test_malformed_rows_are_one_line_of_error(log: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(log.read_text().replace("\n", "\nx,", 2))
    result = run("data", bad, *COLUMNS, code=2)
    assert "line 2" in result.stderr
    assert "--on-error skip" in result.stderr
    assert result.stderr.count("\n") == 1
    skipped = run("data", bad, *COLUMNS, "--on-error", "skip")
    assert "2 rows are malformed" in skipped.stderr


def test_a_policy_is_learned_from_a_log(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "policy.pforest"
    quick = ["double-integrator", "--preset", "paper", "--jobs", "1", "-o", output]
    run("learn", "--data", log, *COLUMNS, "--next-state", "np,nv", *quick)
    policy = pf.load(output)
    assert policy.info.settings["data"] == "log.csv"
    assert policy.action_space.high.tolist() == [1]


def test_samples_of_a_log_can_be_saved(log: Path, tmp_path: Path) -> None:
    run("data", log, *COLUMNS, "-o", tmp_path / "samples.npz")
    assert len(pf.Transitions.load(tmp_path / "samples.npz")) > 0
    assert "transitions" in run("data", tmp_path / "samples.npz").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "no.csv"], "must be a file, a folder or a pattern"),
        (
            ["learn", "double-integrator", "--reward", "a"],
            "reward: 'a' names a, the known names are p, v, u, next_p, next_v",
        ),
        (["learn", "double-integrator", "--truncated", "a"], "--truncated: is a, must be left out without --data"),
        (["learn", "double-integrator", "--bounds", "a=1"], "--bounds: is 'a=1', must be name=low:high"),
        (["learn", "double-integrator", "--angle", "p"], "--angle: is 'p', must be the number"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: list[str], message: str) -> None:
    assert message in run(*arguments, code=2).stderr


def test_show_tells_what_a_policy_reaches_and_why(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "policy.pforest"
    run("learn", "--data", log, *COLUMNS, "double-integrator", "--preset", "paper", "--jobs", "1", "-o", output)
    content = json.loads(run("show", output, "--no-picture", "--explain", "0.5, 0", "--json").stdout)
    found = pf.load(output).range()
    assert content["reaches"] == [[found.low[0], found.high[0]]]
    assert len(content["sensitivity"]) == 2
    assert "because" in content["explanation"][0]
    assert "because" in run("show", output, "--no-picture", "--explain", "0.5, 0").stdout
    assert "--explain: is 'a'" in run("show", output, "--no-picture", "--explain", "a", code=2).stderr


def test_a_model_that_is_too_poor_is_said_not_to_be_used(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4)).round(3).tolist()
    noise = tmp_path / "noise.csv"
    noise.write_text("\n".join(["p,v,a,reward", *(",".join(map(str, row)) for row in rows)]))
    quick = ["--method", "fpf-pwc", "--discount", "0.1", "--jobs", "1", "-o", tmp_path / "policy.pforest"]
    shown = run("learn", "--data", noise, "--state", "p,v", "--action", "a", *quick).stdout
    assert "resampling   none: the learned model was not used, because its lowest R² on held-out steps is " in shown
    assert "must be at least 0.8" in shown
    assert "samples from a model" not in shown


def test_a_policy_keeps_the_names_of_its_columns(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "policy.pforest"
    quick = ["--method", "fpf-pwc", "--discount", "0.1", "--jobs", "1", "-o", output]
    run("learn", "--data", log, "--state", "place=p,speed=v", *COLUMNS[2:], *quick)
    shown = run("show", output, "--no-picture", "--explain", "0.5, 0").stdout
    assert "place in [" in shown
    assert "a is " in shown
    assert "state_names" not in shown
    assert "place" in pf.load(output).explain([0.5, 0.0])[0].names
