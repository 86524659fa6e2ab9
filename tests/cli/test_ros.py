"""`policyforest ros`: what is wrong is one line, before anything is published."""

from __future__ import annotations

import json
import signal
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import policyforest as pf
from loopback import EXAMPLE, Loopback
from policies import forest_policy
from policyforest.cli import main
from policyforest.cli.ros import _beside, _on_signals
from policyforest.cli.ros_arguments import split_arguments
from policyforest.ros.config import load_config
from policyforest.ros.control import Decision
from policyforest.ros.recording import Recording
from policyforest.ros.simulator import SimulatedPendulum


def run(*arguments: object):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def policy(tmp_path):
    forest_policy().save(tmp_path / "policy.pforest")
    return tmp_path / "policy.pforest"


def refused(result) -> str:
    assert result.exit_code == 2
    lines = result.output.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_a_wrong_configuration_is_named(tmp_path, policy):
    (tmp_path / "robot.toml").write_text(EXAMPLE.read_text().replace('rate = "state"', "rate = -1"))
    assert "robot.rate: is -1" in refused(run("ros", "run", policy, "--config", tmp_path / "robot.toml"))
    assert "robot.rate: is -1" in refused(
        run("ros", "explore", "--config", tmp_path / "robot.toml", "--run-dir", tmp_path / "run")
    )
    assert "none.toml" in refused(run("ros", "run", policy, "--config", tmp_path / "none.toml"))


def test_a_policy_of_another_robot_is_refused(tmp_path):
    forest_policy(n_actions=2).save(tmp_path / "two.pforest")
    assert "the policy has 2" in refused(run("ros", "run", tmp_path / "two.pforest", "--config", EXAMPLE))


def test_exploring_needs_to_know_what_an_episode_is(tmp_path):
    (tmp_path / "robot.toml").write_text(EXAMPLE.read_text().partition("[episode]")[0])
    arguments = ("ros", "explore", "--config", tmp_path / "robot.toml", "--run-dir", tmp_path / "run")
    assert "[episode]: is missing" in refused(run(*arguments))
    assert not (tmp_path / "run").exists()
    (tmp_path / "robot.toml").write_text(EXAMPLE.read_text())
    assert "--output" in refused(run(*arguments, "-o", tmp_path / "policy.txt"))


def test_numbers_that_cannot_be_meant_are_refused_before_the_robot_moves(tmp_path, policy):
    explore = ("ros", "explore", "--config", EXAMPLE, "--run-dir", tmp_path / "run")
    assert "--policies: is 0" in refused(run(*explore, "-o", tmp_path / "p.pforest", "--policies", 0))
    assert "--episodes: is 0" in refused(run(*explore, "--episodes", 0))
    assert not (tmp_path / "run").exists()
    for seconds in ("nan", "inf", "-1"):
        assert "--seconds: is" in refused(run("ros", "run", policy, "--config", EXAMPLE, "--seconds", seconds))
        assert "--seconds: is" in refused(run("ros", "simulate", "--seconds", seconds))


@pytest.mark.parametrize("domain", [" ", "abc", "-1", "9999"])
def test_a_domain_that_dds_does_not_have_is_named(monkeypatch, domain):
    pytest.importorskip("cyclonedds")
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    assert "ROS_DOMAIN_ID: is" in refused(run("ros", "simulate", "--transport", "dds", "--seconds", 0))


def test_a_signal_stops_even_those_who_hold_the_lock_that_stopping_needs():
    lock, stopped, done = threading.Lock(), [], threading.Event()

    def stop() -> None:
        stopped.append(lock.acquire(timeout=5.0))
        done.set()

    with _on_signals(_beside(stop)):
        with lock:
            signal.raise_signal(signal.SIGTERM)
        assert done.wait(10.0)
    assert stopped == [True]


def test_a_recording_is_turned_into_transitions(tmp_path):
    config = load_config(EXAMPLE)
    recording = Recording(tmp_path / "run.bag", config)
    for i in range(5):
        recording.decision(Decision(0.0, np.array([1.0]), np.array([0.1 * i, 0.0]), "", None))
    recording.close()
    shown = run("ros", "read", tmp_path / "run.bag", "-o", tmp_path / "run.npz", "--json")
    assert json.loads(shown.output)["samples"] == 4
    samples = pf.Transitions.load(tmp_path / "run.npz")
    assert samples.periodic == config.periodic
    again = run("ros", "read", tmp_path / "run.bag", "-o", tmp_path / "again.npz", "--config", EXAMPLE)
    assert "4 samples" in again.output
    np.testing.assert_array_equal(pf.Transitions.load(tmp_path / "again.npz").rewards, samples.rewards)
    assert "does not exist" in refused(run("ros", "read", tmp_path / "no.bag", "-o", tmp_path / "no.npz"))


def test_arguments_of_ros_2_are_refused_where_nothing_takes_them(policy):
    arguments = ("--ros-args", "-r", "__ns:=/left")
    assert "--ros-args: is given, must be left out" in refused(
        run("ros", "run", policy, "--config", EXAMPLE, *arguments)
    )
    assert "--ros-args: is given" in refused(run("ros", "simulate", "--seconds", 0, *arguments))


@pytest.mark.parametrize(
    ("given", "own", "ros"),
    [
        ("a --seconds 5", "a --seconds 5", ""),
        ("a --ros-args -r __ns:=/left", "a", "--ros-args -r __ns:=/left"),
        ("--ros-args -r __ns:=/left -- a --seconds 5", "a --seconds 5", "--ros-args -r __ns:=/left"),
        ("--ros-args -p x:=1 -- a --ros-args -p y:=2", "a", "--ros-args -p x:=1 --ros-args -p y:=2"),
        ("a -- b", "a -- b", ""),
    ],
)
def test_arguments_of_ros_2_end_with_two_dashes_and_ours_are_kept(given, own, ros):
    assert split_arguments(given.split()) == (own.split(), ros.split())


def test_options_after_the_arguments_of_ros_2_are_not_lost(policy):
    shown = run("ros", "run", policy, "--config", EXAMPLE, "--ros-args", "-r", "__ns:=/left", "--", "--seconds", "-1")
    assert "--seconds" in refused(shown)


def test_a_node_without_its_files_is_refused(policy):
    assert "--config: is missing; give it, or" in refused(run("ros", "run", policy))
    assert "POLICY: is missing; give it, or" in refused(run("ros", "run", "--config", EXAMPLE))


@pytest.fixture
def simulated(tmp_path, monkeypatch):
    """A configuration with short episodes, and a robot in this process."""

    def open_transport(*words, **options):
        network = Loopback()
        SimulatedPendulum(network)._lock_step = True
        return network

    monkeypatch.setattr("policyforest.ros.transport.open_transport", open_transport)
    (tmp_path / "robot.toml").write_text(EXAMPLE.read_text().replace("steps = 100", "steps = 12"))
    return ("ros", "explore", "--config", tmp_path / "robot.toml", "--run-dir", tmp_path / "run", "--jobs", 1)


@pytest.mark.parametrize(("episodes", "plans"), [(1, 0), (2, 1)])
def test_a_robot_s_agent_that_plans_reports_its_plans_and_whether_it_has_a_goal(simulated, episodes, plans):
    told = run(*simulated, "--agent", "plan", "--episodes", episodes)
    assert told.exit_code == 0, told.output
    again = run(*simulated, "--agent", "plan", "--episodes", episodes, "--json")
    report = json.loads(again.stdout)
    assert (report["episodes"], report["plans"]) == (episodes, plans)
    why = "nothing beats a constant action" if plans else "there were too few samples for a plan"
    assert (f"none was found: {why}" in told.stdout) != report["goal_found"]


def test_an_agent_of_a_robot_that_makes_no_plans_reports_none(simulated):
    report = json.loads(run(*simulated, "--agent", "random", "--episodes", 1, "--json").stdout)
    assert "plans" not in report
    assert "goal_found" not in report


def test_a_folder_that_cannot_hold_a_robot_s_run_is_named_by_its_option(simulated, tmp_path):
    (tmp_path / "taken").touch()
    wrong = run(*simulated[:4], "--run-dir", tmp_path / "taken", "--agent", "random")
    assert f"--run-dir: {tmp_path / 'taken'} is a file" in refused(wrong)
    assert "--run-dir: is ''" in refused(run(*simulated[:4], "--run-dir", ""))
