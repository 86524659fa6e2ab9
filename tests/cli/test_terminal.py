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
from policyforest._support.progress import stages_shown
from policyforest._support.time_left import Estimate, stage_number
from policyforest.cli import main
from policyforest.cli.episode_table import RunBudget, part_of_budget
from policyforest.cli.output import _TerminalDisplay

pty = pytest.importorskip("pty", reason="pseudo-terminals are a part of Unix")
COMMAND = str(Path(sys.executable).with_name("policyforest"))
LEARN = ("learn", "double-integrator", "--episodes", "20", "--method", "fpf-pwl", "--jobs", "1")
FEW = ("--max-steps", "20", "--policies", "2", "--validation-episodes", "1", "--jobs", "1")
EXPLORE = ("explore", "swing-up", "--agent", "mre", "--episodes", "6", *FEW)
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7])[0-9;]*m")
CONTROL = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


def on_terminal(*arguments: str, folder: Path, piped: bool = True, **environment: str) -> tuple[str, str]:
    """Standard output of a command if it is piped, and what its terminal showed."""
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color", "COLUMNS": "100"}
    output = subprocess.PIPE if piped else theirs
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, env=env | environment, stdout=output, stderr=theirs, text=True
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
    result = process.stdout.read() if process.stdout is not None else ""
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


def test_explore_shows_a_bar_with_the_time_left_below_its_table(tmp_path: Path) -> None:
    _, shown = on_terminal(*EXPLORE, folder=tmp_path, piped=False)
    lines = re.split(r"[\r\n]+", CONTROL.sub("", shown))
    exploring = [line for line in lines if " exploring " in line]
    assert "━" in exploring[0]
    assert any(re.search(r"about \d+:\d\d left", line) for line in exploring)
    rows = [line for line in lines if re.match(r" +\d+ +(random|optimistic) ", line)]
    assert [row.split()[0] for row in rows] == list("123456")
    assert not any("━" in row for row in rows)
    assert any("learning 2 policies" in line for line in lines)


def test_the_table_of_explore_stays_in_a_pipe_without_its_bar(tmp_path: Path) -> None:
    result, shown = on_terminal(*EXPLORE, folder=tmp_path)
    assert len(re.findall(r"^ +\d+ +(?:random|optimistic) ", result, re.MULTILINE)) == 6
    assert "━" not in result
    assert "exploring" in shown
    assert "optimistic" not in shown


def test_a_bar_fits_on_one_line_of_a_narrow_terminal(tmp_path: Path) -> None:
    _, shown = on_terminal(*LEARN, folder=tmp_path, COLUMNS="60")
    lines = re.split(r"[\r\n]+", CONTROL.sub("", shown))
    assert any(re.match(r". learning Q .*… .*left", line) for line in lines)
    assert max(map(len, lines)) <= 60


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
        (["learn", "SWING-UP"], "did you mean 'swing-up'?"),
        (["learn", "swing-up", "--METHOD", "fqi"], "Did you mean '--method'?"),
        (["reproduce", "FIGURE-EXPLORATION"], "did you mean 'figure-exploration'?"),
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
        (["show", "nofile.pforest"], "POLICY: is 'nofile.pforest', must be a policy file (.pforest)"),
        (["learn", "swing-up", "--samples", "0"], "--samples: is 0, must be at least 1"),
        (["learn", "swing-up", "--episodes", "0"], "--episodes: is 0, must be at least 1"),
        (["learn", "swing-up", "--steps", "-1"], "--steps: is -1, must be at least 1"),
        (["learn", "swing-up", "--discount", "1"], "--discount: is 1.0, must be finite and at least 0 and below 1"),
        (["learn", "swing-up", "--method", "magic"], "--method: is 'magic', must be one of 'plan', "),
        (["learn", "swing-up", "--preset", "mine"], "--preset: is 'mine', must be one of 'paper'"),
        (["learn", "swing-up", "--reward", "height"], "--reward: 'height' names height, the known names are"),
        (["explore", "swing-up", "--max-steps", "0"], "--max-steps: is 0, must be at least 1"),
        (["explore", "swing-up", "--discount", "nan"], "--discount: is nan, must be finite"),
        (["explore", "swing-up", "--agent", "PLAN"], "--agent: is 'PLAN' (did you mean 'plan'?), must be one of"),
        (["explore", ""], "PROBLEM: is '', must be one of inverted-pendulum, "),
        (["explore", "a b"], "PROBLEM: is 'a b', must be one of inverted-pendulum, "),
        (["evaluate", "x.pforest", "--episodes", "0"], "--episodes: is 0, must be at least 1"),
        (["evaluate", "x.pforest", "--max-steps", "0"], "--max-steps: is 0, must be at least 1"),
        (["evaluate", "x.pforest", "--discount", "1.5"], "--discount: is 1.5, must be at least 0 and at most 1"),
        (["reproduce", "--scale", "huge"], "--scale: is 'huge', must be one of 'quick', 'paper'"),
    ],
)
def test_an_error_has_the_argument_its_value_and_what_is_allowed(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


class Recorded:
    """What a bar is told."""

    def __init__(self) -> None:
        self.text = ""
        self.estimates: list[Estimate] = []

    def begin(self, text: str, estimate: Estimate) -> None:
        self.estimates.append(estimate)
        self.describe(text)

    def describe(self, text: str) -> None:
        self.text = text


def test_the_stages_of_one_plan_share_an_estimate_that_ends_with_the_plan() -> None:
    bar = Recorded()
    shown = _TerminalDisplay(bar)  # type: ignore[arg-type]
    for text, estimates in (
        ("collecting samples", 1),
        ("learning the model", 2),
        ("improving grid by rollouts", 2),
        ("comparing with the baseline", 3),
        ("learning the model", 4),
    ):
        shown.stage(text)
        assert (bar.text, len(bar.estimates)) == (text, estimates)
    assert [estimate.left() is None for estimate in bar.estimates] == [True, False, True, False]


def test_parts_that_were_done_before_a_command_are_shown_as_done() -> None:
    bar = Recorded()
    advance = _TerminalDisplay(bar).counted("exploring", 1.0, 0.25)  # type: ignore[arg-type]
    assert bar.estimates[0].share() == 0.25
    advance(0.5, 1.0)
    assert bar.estimates[0].share() == 0.5


@pytest.mark.parametrize(
    ("budget", "episodes", "steps", "part"),
    [((10, None), 4, 999, 0.4), ((None, 100), 4, 25, 0.25), ((10, 100), 4, 50, 0.5), ((10, None), 12, 0, 1.0)],
)
def test_the_limit_that_is_reached_first_is_the_one_that_counts(
    budget: RunBudget, episodes: int, steps: int, part: float
) -> None:
    assert part_of_budget(budget, episodes, steps) == part


def few_samples() -> pf.Transitions:
    """Samples with two actions: without Fitted Q Iteration, a fit takes a second."""
    rng = np.random.default_rng(0)
    states, actions = rng.uniform(-1, 1, (60, 2)), rng.uniform(-1, 1, (60, 2))
    ahead, ends = 0.95 * states + 0.2 * actions, np.zeros(60, dtype=bool)
    box = Box(-1.0, 1.0, (2,), np.float64)
    return pf.Transitions(states, actions, -(states**2).sum(axis=1), ahead, ends, np.arange(60) // 20, action_space=box)


def test_planning_reports_stages_whose_usual_times_are_known_in_their_order() -> None:
    told: list[str] = []
    pf.PlannedLearning(0.9, reward="-abs(s0) - abs(s1)", callback=told.append).fit(few_samples())
    numbers = [stage_number(stage) for stage in told]
    assert len(told) > 1
    assert None not in numbers
    assert numbers == sorted(numbers, key=lambda number: number or 0)


def test_learning_from_python_shows_progress_on_request_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = few_samples()
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
