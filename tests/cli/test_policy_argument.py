"""A policy file that does not exist is refused by the argument's name, with the nearest file of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from policies import forest_policy
from policyforest.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("pendulum", "runs/cart"):
        forest_policy().save(tmp_path / f"{name}.pforest")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "show pendulm.pforest",
            "POLICY: is 'pendulm.pforest' (did you mean 'pendulum.pforest'?), must be a policy file",
        ),
        ("evaluate pendulum", "POLICY: is 'pendulum' (did you mean 'pendulum.pforest'?), must be a policy file"),
        ("export runs/card.pforest", "POLICY: is 'runs/card.pforest' (did you mean 'runs/cart.pforest'?), must be"),
        (
            "bench --policy pendulm.pforest",
            "--policy: is 'pendulm.pforest' (did you mean 'pendulum.pforest'?), must be",
        ),
        ("learn swing-up --baseline pendulm.pforest", "--baseline: is 'pendulm.pforest' (did you mean 'pendulum.pf"),
        ("certify arm.pforest", "POLICY: is 'arm.pforest', must be a policy file (.pforest)"),
        ("show nowhere/pendulum.pforest", "POLICY: is 'nowhere/pendulum.pforest', must be a policy file (.pforest)"),
        ("show runs", "POLICY: is 'runs', must be a policy file (.pforest)"),
    ],
)
def test_the_nearest_policy_of_the_same_folder_is_suggested(folder: Path, words: str, message: str) -> None:
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1
