"""Standard streams that are closed, full, or no terminal."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium as gym
import pytest
from typer.testing import CliRunner

from policyforest._support.progress import stages_shown
from policyforest.cli import main

COMMAND = str(Path(sys.executable).with_name("policyforest"))
EXPLORE = "explore swing-up --agent random --episodes 1 --max-steps 3 --policies 1 --validation-episodes 1 --jobs 1"
FULL = Path("/dev/full")


def shell(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command with its redirections, as a shell runs it."""
    command = ["sh", "-c", f'"$0" {text}', COMMAND]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell of Unix")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_command_works_without_its_standard_streams(closed: str, tmp_path: Path) -> None:
    done = shell(f"{EXPLORE} {closed}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("saved" in done.stdout) == (closed == "2>&-")
    assert (tmp_path / "policy.pforest").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell of Unix")
def test_an_error_does_not_go_to_standard_output_if_standard_error_is_closed(tmp_path: Path) -> None:
    done = shell("show none.pforest 2>&-", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("text", [EXPLORE, f"{EXPLORE} --json", "--help", "--version", "explore --help"])
def test_a_full_standard_output_is_one_line_that_names_it(text: str, tmp_path: Path) -> None:
    done = shell(f"{text} > {FULL}", tmp_path)
    assert done.stderr == "error: standard output: cannot be written (No space left on device)\n"
    assert done.returncode == 2


def test_stages_are_shown_nowhere_without_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with stages_shown(delay=0.0) as tell:
        tell("learning the model")
    assert capsys.readouterr().out == ""


def test_the_colours_of_gymnasiums_warnings_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def warning(*_: object, **__: object) -> None:
        gym.logger.warn("the bounds are infinite")
        warnings.warn("\x1b[1;31mred\x1b[0m", stacklevel=1)
        raise ValueError("path: done")

    monkeypatch.setattr(sys.modules["policyforest.cli.data"], "read_log", warning)
    told = CliRunner().invoke(main, ["data", "x.csv"]).stderr
    assert "WARN: the bounds are infinite" in told
    assert "UserWarning: red\n" in told
    assert "\x1b" not in told
