"""Runs that survive: killed at any moment, on a full disk, with a damaged file, or asked for by two."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from exploring import PENDULUM, Corridor, same_behaviour, same_samples, small_agent, small_planner

EPISODES = 12
TESTS = Path(__file__).parents[1]


def run_to_the_end(folder, seed):
    """What a user's script does: begin, or go on where the last process was killed."""
    agent = pf.resume(folder) if (folder / "settings.json").exists() else small_agent(seed=seed, run_dir=folder)
    agent.learn(episodes=EPISODES)


def killed(folder, seed, after):
    """Runs it in a process that is killed after so many seconds; whether it was."""
    child = multiprocessing.get_context("fork").Process(target=run_to_the_end, args=(folder, seed))
    child.start()
    child.join(after)
    if child.exitcode is None:
        os.kill(child.pid, signal.SIGKILL)
        child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode != 0


def test_killed_at_random_moments_it_ends_with_the_same_bits(tmp_path):
    moments = random.Random(1)
    kills = seed = 0
    while kills < 20:
        folder = tmp_path / str(seed)
        # Half of the time early, when it reads and plans again, half of the time anywhere.
        while killed(folder, seed, moments.choice([0.15, 0.6]) * moments.random()):
            kills += 1
        expected = small_agent(seed=seed).learn(episodes=EPISODES)
        found = pf.resume(folder)
        assert same_samples(found.transitions, expected.transitions)
        assert same_behaviour(found, expected)
        np.testing.assert_array_equal(found.known.leaves(2).boxes, expected.known.leaves(2).boxes)
        logged = [json.loads(line)["episode_return"] for line in (folder / "log.jsonl").read_text().splitlines()]
        assert len(logged) <= EPISODES  # a kill can cost a line of the log, never an episode
        assert [report.episode_return for report in found.log] == [r.episode_return for r in expected.log]
        seed += 1


@pytest.mark.parametrize("name", ["disagreement", "mre", "epsilon-greedy", "random"])
@pytest.mark.parametrize("stop", [1, 4])
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, name, stop):
    small_agent(name=name, run_dir=tmp_path / "run").learn(episodes=stop).run.close()
    found = pf.resume(tmp_path / "run").learn(episodes=7)
    expected = small_agent(name=name).learn(episodes=7)
    assert same_samples(found.transitions, expected.transitions)
    assert found.settings() == expected.settings()
    if name != "random":
        assert same_behaviour(found, expected)
    assert [r.coverage for r in found.log] == [r.coverage for r in expected.log]


def test_every_finished_episode_is_on_disk_before_the_next_begins(tmp_path):
    agent = small_agent(run_dir=tmp_path)
    agent.learn(episodes=3, callback=lambda report: len(episode_files(tmp_path)) == report.episode + 1)
    assert agent.n_episodes == 3


def episode_files(folder):
    return sorted(folder.glob("episode-*.safetensors"))


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "header"])
def test_a_damaged_last_file_costs_its_episode_only(tmp_path, damage):
    small_agent(run_dir=tmp_path).learn(episodes=5).run.close()
    last = episode_files(tmp_path)[-1]
    content = bytearray(last.read_bytes())
    if damage == "flipped":
        content[-3] ^= 1
    elif damage == "header":
        content[3] ^= 0xFF
    last.write_bytes({"cut": content[:-9], "empty": b""}.get(damage, bytes(content)))
    found = pf.resume(tmp_path)
    assert found.n_episodes == 4
    assert last.with_suffix(".damaged").exists()
    assert same_samples(found.learn(episodes=6).transitions, small_agent().learn(episodes=6).transitions)


def test_damage_that_is_not_at_the_end_is_an_error(tmp_path):
    small_agent(run_dir=tmp_path).learn(episodes=3).run.close()
    first, second, _ = episode_files(tmp_path)
    second.write_bytes(b"")
    with pytest.raises(ValueError, match=r"episode-000001.safetensors is damaged"):
        pf.resume(tmp_path)
    second.unlink()
    with pytest.raises(ValueError, match=r"episode-000001.safetensors is missing"):
        pf.resume(tmp_path)
    first.unlink()


def test_two_processes_cannot_have_one_run(tmp_path):
    agent = small_agent(run_dir=tmp_path).learn(episodes=1)
    with pytest.raises(BlockingIOError, match="in use by another process"):
        pf.resume(tmp_path)
    code = f"import policyforest as pf; pf.resume({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "in use by another process" in done.stderr
    agent.run.close()
    assert pf.resume(tmp_path).n_episodes == 1


def test_another_problem_or_other_settings_are_refused_with_the_difference(tmp_path):
    agent = small_agent(run_dir=tmp_path).learn(episodes=1)
    agent.run.close()
    with pytest.raises(ValueError, match="already holds a run"):
        small_agent(run_dir=tmp_path)
    with pytest.raises(ValueError, match=r"problem\.id is 'policyforest/InvertedPendulum6kg-v0' there"):
        pf.resume(tmp_path, gym.make("policyforest/SwingUp-v0"))
    other = small_agent(planner=small_planner(max_points=7), seed=5).settings()
    with pytest.raises(ValueError, match=r"planner\.max_points is 10 there and 7 here; .*seed is 0 there and 5 here"):
        pf.resume(tmp_path, expected=other)
    assert pf.resume(tmp_path, gym.make(PENDULUM), expected=agent.settings()).n_episodes == 1


def test_a_setting_that_came_with_a_later_version_counts_as_its_default(tmp_path):
    agent = small_agent(run_dir=tmp_path).learn(episodes=1)
    agent.run.close()
    settings = json.loads((tmp_path / "settings.json").read_text())
    for part in (settings["planner"]["q"], settings["final"]["q"]):
        del part["max_leaves"]
    del settings["planner"]["max_points"]
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    found = pf.resume(tmp_path, expected=agent.settings())
    assert found.settings() == agent.settings()
    found.run.close()
    other = small_agent(planner=small_planner(max_points=7, warm_start=True)).settings()
    with pytest.raises(ValueError, match=r"another run: planner\.max_points is 10 there and 7 here$"):
        pf.resume(tmp_path, expected=other)


def test_an_environment_that_raises_leaves_the_finished_episodes_on_disk(tmp_path):
    with pytest.raises(OSError, match="the cable came off"):
        small_agent(Corridor(breaks_at=(2, 3)), run_dir=tmp_path).learn(episodes=4)
    assert len(episode_files(tmp_path)) == 2
    with pytest.raises(FileNotFoundError, match="holds no run"):
        pf.resume(tmp_path / "elsewhere")


FULL_DISK = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from exploring import small_agent, same_samples
import policyforest as pf
folder = Path(sys.argv[2])
agent = small_agent(run_dir=folder / "run").learn(episodes=2)
filler = folder / "filler"
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(512))
    except OSError:
        pass
try:
    agent.learn(episodes=4)
    raise SystemExit("the disk was not full")
except OSError as error:
    print("refused:", error)
print("kept:", agent.n_episodes, len(list((folder / "run").glob("episode-*"))), len(list((folder / "run").glob(".*"))))
filler.unlink()
agent.learn(episodes=4)  # the episode that could not be written is kept now
agent.run.close()
expected = small_agent().learn(episodes=4).transitions
print("same:", same_samples(agent.transitions, expected), same_samples(pf.resume(folder / "run").transitions, expected))
"""


def test_a_full_disk_loses_no_episode(tmp_path):
    script, disk = tmp_path / "script.py", tmp_path / "disk"
    script.write_text(FULL_DISK)
    disk.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("unshare is needed for a small file system")
    command = f"mount -t tmpfs -o size=64k tmpfs {disk} && {sys.executable} {script} {TESTS} {disk}"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", command], capture_output=True, text=True)
    if done.returncode and "refused:" not in done.stdout and "script.py" not in done.stderr:
        pytest.skip(f"no small file system here: {done.stderr}")
    assert "No space left on device" in done.stdout, done.stderr
    assert "kept: 2 2 0" in done.stdout
    assert "same: True True" in done.stdout, done.stderr


def test_time_to_act_does_not_grow_with_the_samples():
    agent = small_agent(name="mre").learn(episodes=30)
    agent.begin_episode()
    state = agent.transitions.states[0]
    started = time.perf_counter()
    for _ in range(200):
        agent.act(state)
    assert (time.perf_counter() - started) / 200 < 2e-3


def test_no_run_directory_makes_resume_import_a_module(tmp_path):
    small_agent(run_dir=tmp_path).learn(episodes=1).run.close()
    settings = json.loads((tmp_path / "settings.json").read_text())
    settings["problem"]["id"] = "policyforest.never_imported:Env-v0"
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(ValueError, match="would import a module"):
        pf.resume(tmp_path)
