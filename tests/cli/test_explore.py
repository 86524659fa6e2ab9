"""``policyforest explore``: runs, goes on, refuses."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

import policyforest as pf
from policyforest.cli import main

OPTIONS = {"--max-steps": "10", "--policies": "1", "--validation-episodes": "1", "--jobs": "1", "--r-max": "0"}


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        others = [word for option in OPTIONS.items() if option[0] not in words for word in option]
        return CliRunner().invoke(main, ["explore", "inverted-pendulum-6kg", *others, *words])

    return run


def test_it_shows_a_line_an_episode_and_saves_the_best_policy(call, tmp_path):
    done = call("--episodes", "3", "--agent", "mre", "--output", "best.pforest", "--tensorboard", "curves")
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:4]] == [
        ["1", "random"],
        ["2", "optimistic"],
        ["3", "optimistic"],
    ]
    assert "coverage" in done.stdout.splitlines()[0]
    assert pf.load(tmp_path / "best.pforest").info.problem == "policyforest/InvertedPendulum6kg-v0"
    assert list((tmp_path / "curves").iterdir())


def test_a_run_directory_is_gone_on_with(call, tmp_path):
    whole = json.loads(call("--episodes", "4", "--json").stdout)
    assert call("--episodes", "2", "--run-dir", "run").exit_code == 0
    again = call("--episodes", "4", "--run-dir", "run", "--json")
    assert again.exit_code == 0, again.output
    found = json.loads(again.stdout)
    assert found["returns"] == whole["returns"]
    assert found["evaluation"] == whole["evaluation"]


def test_other_settings_on_the_same_directory_are_refused(call, tmp_path):
    assert call("--episodes", "1", "--run-dir", "run", "--agent", "random").exit_code == 0
    other = call("--episodes", "2", "--run-dir", "run", "--agent", "random", "--seed", "7")
    assert other.exit_code == 2
    assert other.stderr.startswith("error: --run-dir: run ")
    assert "seed is 0 there and 7 here" in other.stderr


def test_the_best_return_counts_the_episodes_before_a_run_was_resumed(tmp_path):
    """The second of these random episodes is the best of four."""
    words = ("swing-up", "--agent", "random", "--run-dir", str(tmp_path / "run"), "-o", str(tmp_path / "p.pforest"))
    few = ("--max-steps", "10", "--policies", "1", "--validation-episodes", "1", "--jobs", "1")
    shown = [CliRunner().invoke(main, ["explore", *words, *few, "--episodes", n]).stdout for n in ("2", "4")]
    rows = [line.split() for text in shown for line in text.splitlines() if line[:7].strip().isdigit()]
    returns, best = ([float(row[column]) for row in rows] for column in (3, 4))
    assert len(returns) == 4
    assert max(returns[2:]) < max(returns[:2])
    assert best == [max(returns[: i + 1]) for i in range(4)]


@pytest.mark.parametrize("agent", ["random", "plan"])
def test_a_known_reward_is_reported_whichever_agent_explores(agent, tmp_path):
    words = ("swing-up", "--agent", agent, "--episodes", "1", "--reward", "-abs(next_theta)")
    few = ("--max-steps", "10", "--policies", "1", "--validation-episodes", "1", "--jobs", "1")
    run = ("explore", *words, *few, "-o", str(tmp_path / "policy.pforest"), "--run-dir", str(tmp_path / "run"))
    assert re.search("^known +reward$", CliRunner().invoke(main, run).stdout, re.MULTILINE)
    assert json.loads(CliRunner().invoke(main, [*run, "--json"]).stdout)["known"] == ["reward"]


def test_without_a_known_function_none_is_reported(call):
    assert json.loads(call("--episodes", "1", "--agent", "random", "--json").stdout)["known"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agent", "other"], "--agent: is 'other'"),
        (["--output", "policy.txt"], "--output"),
        (["--episodes", "0"], "--episodes: is 0"),
        (["--policies", "0"], "--policies: is 0"),
        (["--validation-episodes", "0"], "--validation-episodes: is 0"),
        (["--r-max", "-5", "--agent", "mre"], "--r-max: is -5"),
        (["--run-dir", ""], "--run-dir: is '', must be the name of a folder"),
        (["--run-dir", "taken"], "--run-dir: taken is a file, must be a folder"),
        (["--run-dir", "old"], "--run-dir: old/settings.json is missing, but old holds episode-000000.safetensors"),
        (["--tensorboard", "taken"], "--tensorboard: is 'taken', must be a folder, but taken is a file"),
        (["--tensorboard", "taken/in"], "--tensorboard: is 'taken/in', must be a folder, but taken is a file"),
    ],
)
def test_bad_options_are_one_line(call, tmp_path, words, message):
    (tmp_path / "taken").touch()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "episode-000000.safetensors").touch()
    done = call(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize("option", ["--tensorboard", "--checkpoint-dir"])
def test_learning_refuses_a_file_in_place_of_a_folder_before_it_begins(option, tmp_path):
    (tmp_path / "taken").touch()
    words = ["learn", "swing-up", "--method", "fpf-pwl", option, str(tmp_path / "taken")]
    done = CliRunner().invoke(
        main, [*words, "--save-data", str(tmp_path / "data.npz"), "-o", str(tmp_path / "p.pforest")]
    )
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {option}: is ")
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_the_agent_that_plans_takes_steps_a_known_reward_and_says_what_it_was_told(call, tmp_path):
    words = ("--agent", "plan", "--steps", "24", "--max-steps", "12", "--reward", "-abs(next_theta)", "--json")
    found = CliRunner().invoke(
        main, ["explore", "swing-up", *words, "--policies", "1", "--validation-episodes", "1", "--jobs", "1"]
    )
    assert found.exit_code == 0, found.output
    report = json.loads(found.stdout)
    assert report["samples"] == 24
    assert report["known"] == ["reward"]
    assert report["plans"] == 1
    assert isinstance(report["goal_found"], bool)


def test_the_agent_that_plans_refuses_what_it_cannot_use(call):
    told = call("--agent", "plan", "--episodes", "1")
    assert told.exit_code == 2
    assert told.stderr == "error: --r-max: is 0.0, must be left out with --agent plan (it does not need it)\n"
    unknown = CliRunner().invoke(main, ["explore", "swing-up", "--agent", "plan", "--reward", "height"])
    assert unknown.exit_code == 2
    assert "reward: 'height' names height, the known names are" in unknown.stderr
    assert call("--agent", "mre", "--terminal", "height > 1").exit_code == 2
    assert call("--steps", "0").exit_code == 2


def test_the_agent_that_plans_reports_no_share_of_known_states_without_a_plan(tmp_path):
    few = ("--max-steps", "12", "--policies", "1", "--validation-episodes", "1", "--jobs", "1")
    words = ("explore", "swing-up", "--agent", "plan", "--steps", "1", *few, "-o", str(tmp_path / "p.pforest"))
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert re.search("^goal +none was found: there were too few samples for a plan$", done.stdout, re.MULTILINE)
    assert "by 1 validation episode each" in done.stdout


def test_a_run_with_a_formula_over_the_problem_s_names_is_resumed(call):
    told = ("--agent", "plan", "--reward", "-abs(next_theta)", "--run-dir", "run", "--json", "--max-steps", "10")
    few = ("--policies", "1", "--validation-episodes", "1", "--jobs", "1")

    def explored(episodes):
        words = ["explore", "inverted-pendulum-6kg", *told, *few, "--episodes", str(episodes)]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        return done

    first, again = explored(2), explored(3)
    returns = json.loads(again.stdout)["returns"]
    assert returns[:2] == json.loads(first.stdout)["returns"]
    assert all(-20.0 < earned <= 0.0 for earned in returns)  # by the formula; a fall of the problem's own costs 1000
    other = call("--episodes", "3", "--agent", "mre", "--run-dir", "run")
    assert other.exit_code == 2
    assert "agent is 'plan' there and 'mre' here" in other.stderr
    assert len(other.stderr.splitlines()) == 1


def test_quiet_shows_no_line_of_an_episode(call):
    done = call("--episodes", "2", "--agent", "random", "--quiet")
    assert done.exit_code == 0, done.output
    assert "coverage" not in done.stdout
    assert "policy" in done.stdout
