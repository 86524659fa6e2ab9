"""What commands show on a terminal, which the tests stand in for with a pseudo-terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box
from typer.testing import CliRunner

import policyforest as pf
from policyforest._support.progress import STAGES, part_done, stages_shown
from policyforest.cli import main

pty = pytest.importorskip("pty", reason="pseudo-terminals are a part of Unix")
COMMAND = str(Path(sys.executable).with_name("policyforest"))
LEARN = ("learn", "double-integrator", "--episodes", "20", "--method", "fpf-pwl", "--jobs", "1")
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7])[0-9;]*m")


def on_terminal(*arguments: str, folder: Path, **environment: str) -> tuple[str, str]:
    """Standard output of a command, and what its terminal showed."""
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, env=env | environment, stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # on Linux: the other side has closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.stdout is not None
    result = process.stdout.read()
    assert process.wait(timeout=60) == 0, shown.decode()
    return result, shown.decode()


def test_learn_shows_a_bar_with_the_time_left(tmp_path: Path) -> None:
    result, shown = on_terminal(*LEARN, folder=tmp_path)
    assert "━" in shown
    assert "learning Q" in shown
    assert re.search(r"about \d+:\d\d left", shown)
    assert COLOUR.search(shown)
    assert "━" not in result


def test_no_color_turns_colours_off_and_keeps_the_bar(tmp_path: Path) -> None:
    _, shown = on_terminal(*LEARN, folder=tmp_path, NO_COLOR="1")
    assert "━" in shown
    assert not COLOUR.search(shown)


def test_quiet_shows_nothing_but_the_result(tmp_path: Path) -> None:
    result, shown = on_terminal(*LEARN, "--quiet", folder=tmp_path)
    assert shown == ""
    assert "policy.pforest" in result


def test_quiet_ends_with_its_command(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("x,u\n" + "".join(f"{i / 10},{i % 3}\n" for i in range(40)))
    arguments = ["data", str(log), "--state", "x", "--action", "u"]
    hushed = CliRunner().invoke(main, [*arguments, "--quiet"])
    told = CliRunner().invoke(main, arguments)
    assert (hushed.exit_code, told.exit_code) == (0, 0)
    assert hushed.stdout == told.stdout
    assert hushed.stderr == ""


def test_without_arguments_there_are_three_commands_to_try() -> None:
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 0
    assert len(re.findall(r"^  policyforest \w+ ", result.output, re.MULTILINE)) == 3


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (["lern"], "Did you mean 'learn'?"),
        (["learn", "--epsiodes", "3"], "Did you mean '--episodes'?"),
        (["data", "log.csv", "--fromat", "csv"], "Did you mean '--format'?"),
        (["learn", "--hlep"], "Did you mean '--help'?"),
        (["reproduce", "figre-exploration"], "NAME: is 'figre-exploration' (did you mean 'figure-exploration'?), must"),
        (["learn", "double-integrater"], "did you mean 'double-integrator'?"),
        (["learn", "double-integrator", "--method", "fpf-pw"], "did you mean 'fpf-pwl'?"),
    ],
)
def test_a_misspelling_gets_a_suggestion_on_one_line(arguments: list[str], suggested: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert suggested in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_option_that_resembles_no_other_gets_no_suggestion() -> None:
    """All options begin with two dashes, which make none of them alike."""
    result = CliRunner().invoke(main, ["export", "x.pforest", "--fromat", "c"])
    assert result.stderr.startswith("error: No such option: --fromat (see ")


def test_of_many_allowed_names_an_error_shows_the_number_the_nearest_and_where_all_are_listed() -> None:
    result = CliRunner().invoke(main, ["reproduce", "figure-explore"])
    assert re.search(r"must be one of \d{3} names \(listed by policyforest reproduce --list\)", result.stderr)
    assert result.stderr.count("'figure-exploration'") == 2
    assert len(result.stderr) < 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learn"], "PROBLEM: is missing, must be a problem such as double-integrator unless logs are given"),
        (["learn", "double-integrator", "--episodes", "x"], "--episodes: is 'x', must be a valid integer"),
        (["learn", "double-integrator", "--discount", "x"], "--discount: is 'x', must be a valid number"),
        (["show", "nofile.pforest"], "path: is 'nofile.pforest', must be a file"),
    ],
)
def test_an_error_has_the_argument_its_value_and_what_is_allowed(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


def test_the_stages_of_planning_follow_each_other() -> None:
    parts = [part_done(stage) for stage in STAGES]
    assert parts == sorted(part for part in parts if part is not None)
    assert part_done("improving fpf-pwl by rollouts") == STAGES["by rollouts"]
    assert part_done("playing episodes") is None


def test_learning_from_python_shows_progress_on_request_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (60, 2)), rng.uniform(-1, 1, (60, 2))
    ahead, ends = 0.95 * states + 0.2 * actions, np.zeros(60, dtype=bool)
    box = Box(-1.0, 1.0, (2,), np.float64)  # two actions: without Fitted Q Iteration, a fit takes a second
    data = pf.Transitions(states, actions, -(states**2).sum(axis=1), ahead, ends, np.arange(60) // 20, action_space=box)
    module = sys.modules["policyforest.learning.planned_learning"]
    monkeypatch.setattr(module, "stages_shown", partial(stages_shown, delay=0.0))
    pf.learn(data, discount=0.9)
    assert capsys.readouterr().err == ""
    pf.learn(data, discount=0.9, progress=True)
    assert "learning the model (after 0 s)" in capsys.readouterr().err


def test_progress_from_python_waits_for_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with stages_shown() as tell:
        tell("learning the model")
    assert capsys.readouterr().err == ""
