"""The folder of a run: files of the user in it, files that are missing or changed, and names that are no folder's."""

from __future__ import annotations

import json
import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import register, registry

import policyforest as pf
from exploring import Corridor, same_samples, small_agent
from planning_agents import agent
from policyforest.exploration.run_directory import RunDirectory, holds_run


@pytest.fixture
def run(tmp_path):
    """The folder of a run of three episodes."""
    small_agent(run_dir=tmp_path / "run").learn(episodes=3).run.close()
    return tmp_path / "run"


def test_other_files_in_the_folder_are_ignored_and_kept(run):
    mine = [
        ".notes",
        "episode-000001 (copy).safetensors",
        "episode-1.safetensors",
        "plan-best.pforest",
        "log (1).jsonl",
    ]
    for name in mine:
        (run / name).write_text("mine")
    (run / ".git").mkdir()
    killed = [".episode-000003.safetensors.0123abcd", ".settings.json.89abcdef", ".plan-000002.pforest.01234567"]
    for name in killed:
        (run / name).write_text("half")
    found = pf.resume(run)
    assert found.n_episodes == 3
    assert all((run / name).read_text() == "mine" for name in mine)
    assert (run / ".git").is_dir()
    assert not any((run / name).exists() for name in killed)


def test_files_next_to_plans_are_ignored_and_kept(tmp_path, small_plans):
    agent(seed=5, run_dir=tmp_path).learn(episodes=3).run.close()
    plan = next(tmp_path.glob("plan-*.pforest"))
    for name in ("plan-best.pforest", f"{plan.stem} (copy).pforest"):
        (tmp_path / name).write_bytes(plan.read_bytes())
    found = pf.resume(tmp_path, Corridor())
    assert len(found.plans) == len(list(tmp_path.glob("plan-??????.pforest")))
    assert (tmp_path / "plan-best.pforest").exists()


@pytest.mark.parametrize("left", ["episode-000000.safetensors", "plan-000001.pforest"])
def test_a_run_without_its_settings_is_refused_by_name(run, left):
    (run / "settings.json").unlink()
    for path in run.iterdir():
        if path.name != left:
            path.unlink()
    (run / left).touch()
    message = re.escape(f"run_dir: {run / 'settings.json'} is missing, but {run} holds {left} of a run")
    for attempt in (pf.resume, holds_run, lambda folder: small_agent(run_dir=folder)):
        with pytest.raises(ValueError, match=message):
            attempt(run)


def test_names_that_are_no_folder_s_are_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for begin in (pf.resume, lambda folder: small_agent(run_dir=folder)):
        with pytest.raises(ValueError, match="run_dir: is '', must be the name of a folder"):
            begin("")
        with pytest.raises(TypeError, match="run_dir: is 7, must be the name of a folder"):
            begin(7)
    with pytest.raises(FileExistsError, match=r"run_dir: .*file is a file, must be a folder that can be written to"):
        small_agent(run_dir=file)
    with pytest.raises(NotADirectoryError, match=r"run_dir: .* cannot be created \(Not a directory\)"):
        small_agent(run_dir=file / "run")
    with pytest.raises(FileNotFoundError, match="holds no run"):
        pf.resume(file)


def test_settings_that_cannot_be_written_leave_an_empty_folder_that_can_be_used(tmp_path):
    register("Test/Corridor-v0", lambda breaks_at=None: Corridor())
    try:
        env = gym.make("Test/Corridor-v0", breaks_at=float("nan"))
        with pytest.raises(ValueError, match=r"run_dir: the settings of the agent must be numbers, texts .*float"):
            small_agent(env, run_dir=tmp_path)
    finally:
        del registry["Test/Corridor-v0"]
    assert not holds_run(tmp_path)
    assert small_agent(Corridor(), run_dir=tmp_path).learn(episodes=1).n_episodes == 1


def test_the_log_has_one_line_per_episode_whatever_was_lost_of_it(run):
    log = run / "log.jsonl"
    first, second, third = whole = log.read_text().splitlines()
    log.write_text(f"{third}\nnot a line\n{first}\n{second[:20]}")
    found = pf.resume(run)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["episode"] for line in lines] == [0, 1, 2]
    assert lines[0] == json.loads(whole[0])
    assert [line["episode_return"] for line in lines] == [json.loads(line)["episode_return"] for line in whole]
    found.learn(episodes=4)
    assert len(log.read_text().splitlines()) == 4


def test_a_key_that_is_missing_in_the_settings_is_named_with_their_file(run):
    settings = json.loads((run / "settings.json").read_text())
    for changed, message in (
        ({k: v for k, v in settings.items() if k != "problem"}, "lacks the key 'problem'"),
        (settings | {"problem": 5}, "is not the settings of a run"),
        (settings | {"version": 99}, "is not the settings of a run"),
    ):
        (run / "settings.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=rf"run_dir: .*settings\.json {message}"):
            pf.resume(run)
    (run / "settings.json").write_text(json.dumps(settings))
    assert pf.resume(run).n_episodes == 3  # every refusal has released the folder


def test_an_environment_that_only_another_module_registers_must_be_given(run):
    settings = json.loads((run / "settings.json").read_text())
    settings["problem"]["id"] = "somewhere:Env-v0"
    (run / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=r"^env: is None, must be given: .*would import a module"):
        pf.resume(run)


def test_a_resumed_run_continues_after_a_file_of_a_later_episode_was_half_written(run):
    (run / ".episode-000003.safetensors.0123abcd").write_bytes(b"half")
    found = pf.resume(run).learn(episodes=4)
    assert same_samples(found.transitions, small_agent().learn(episodes=4).transitions)
    records = list(RunDirectory(run, found.run._lock).records())
    np.testing.assert_array_equal(records[3].episode.states, found.episodes[3].states)
