"""Options of the command line for where work runs and what is kept on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from policyforest.cli import main
from policyforest.policy.policy_files import load

QUICK = ["learn", "double-integrator", "--episodes", "20", "--preset", "paper", "--jobs", "1"]


def run(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


def test_learning_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    once, again = tmp_path / "once.pforest", tmp_path / "again.pforest"
    run(*QUICK, "-o", once, "--checkpoint-dir", tmp_path / "q")
    assert (tmp_path / "q" / "iteration-000010.safetensors").exists()
    run(*QUICK, "-o", again, "--checkpoint-dir", tmp_path / "q")
    states = [[0.5, 0.1], [-0.2, 0.3]]
    assert (load(once).act_batch(states) == load(again).act_batch(states)).all()
    refused = run(*QUICK, "--seed", "1", "-o", again, "--checkpoint-dir", tmp_path / "q", code=2)
    assert "seed is 0 there and 1 here" in refused.stderr
    with_bas = [*QUICK[:4], "--method", "bas", "-o", again, "--checkpoint-dir", tmp_path / "q"]
    assert "--checkpoint-dir: needs Fitted Q Iteration" in run(*with_bas, code=2).stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--jobs", "0"], "--jobs: is 0, must be a positive number, -1 for all cores, -2 for all but one"),
        (
            ["--seed", "99999999999999999999999"],
            "--seed: is 99999999999999999999999, must be between 0 and 4611686018427387904",
        ),
        (["--seed", "4611686018427387905"], "--seed: is 4611686018427387905, must be between 0 and"),
        (["--seed", "-1"], "--seed: is -1, must be between 0 and 4611686018427387904"),
    ],
)
@pytest.mark.parametrize("command", ["learn", "explore"])
def test_wrong_numbers_are_refused_by_the_name_of_the_option(
    tmp_path: Path, command: str, options: list[str], words: str
) -> None:
    refused = run(command, "double-integrator", "-o", tmp_path / "p.pforest", *options, code=2)
    assert words in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_all_cores_but_one_can_be_asked_for(tmp_path: Path) -> None:
    run(*QUICK[:-1], "-2", "-o", tmp_path / "p.pforest")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--executor", "cloud"], "executor: is 'cloud', must be one of 'threads', 'processes', 'ray'"),
        (["--address", "127.0.0.1:6379"], "--address: is '127.0.0.1:6379', must be left out without --executor ray"),
        (["--workers", "0"], "--workers: is 0, must be a positive number, -1 for all cores, -2 for all but one"),
        (
            ["--executor", "ray", "--address", "a:1", "--workers", "2"],
            "--workers: is 2, must be left out with --address",
        ),
    ],
)
def test_executors_that_cannot_be_are_refused(tmp_path: Path, options: list[str], words: str) -> None:
    refused = run("reproduce", "double-integrator-paper", "--out", tmp_path, *options, code=2)
    assert words in refused.stderr.replace("\n", " ")
