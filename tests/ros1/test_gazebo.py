"""The swing-up in a real Gazebo, `make test-gazebo`. All tests use one simulator; those that harm it come last."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import policyforest as pf
from loopback import EXAMPLE
from policies import forest_policy
from policyforest.ros.gazebo.chroot import mounts_below
from policyforest.ros.gazebo.rod import SimulatorLostError
from policyforest.ros.gazebo.server import Server
from policyforest.ros.gazebo.setup import Installation, default_folder
from ros_network import free_port

ID = "policyforest/SwingUpGazebo-v0"
INSTALLATION = Installation(default_folder())
pytestmark = pytest.mark.skipif(
    not INSTALLATION.ready, reason=f"Gazebo is not set up in {INSTALLATION.folder} (policyforest gazebo setup)"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server(INSTALLATION, "test")
    made.stop()
    os.environ |= {"ROS_MASTER_URI": made.start("dart", free_port(), free_port()), "ROS_IP": "127.0.0.1"}
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def env(server: Server) -> Iterator[gym.Env]:
    made = gym.make(ID, timeout=2.0)
    yield made
    made.close()


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized:UserWarning")
def test_it_passes_gymnasium_s_checks(env):
    check_env(env.unwrapped, skip_render_check=True)


def test_an_episode_depends_on_its_torques_alone(env):
    once, again = (pf.collect(env, episodes=1, seed=0, max_steps=40) for _ in range(2))
    np.testing.assert_array_equal(once.next_states, again.next_states)
    np.testing.assert_array_equal(once.rewards, again.rewards)


def test_it_is_what_dart_computes_in_process(env):
    gazebo = pf.collect(env, episodes=2, seed=1, max_steps=50)
    dart = pf.collect(gym.make("policyforest/SwingUp-v0", backend="dart"), episodes=2, seed=1, max_steps=50)
    np.testing.assert_array_equal(gazebo.actions, dart.actions)
    np.testing.assert_allclose(gazebo.next_states, dart.next_states, atol=1e-6)


def test_it_can_be_put_into_a_state(env):
    for state in ([3.0, -4.0], [0.0, 0.0], [-np.pi, 9.0]):
        seen, _ = env.reset(options={"state": state})
        np.testing.assert_array_equal(seen, state)
        after, *_ = env.step(np.array([1.0]))
        assert not np.array_equal(after, seen)


def test_the_node_drives_it(server, tmp_path):
    forest_policy(periodic={0: (-np.pi, np.pi)}).save(tmp_path / "policy.pforest")
    command = [sys.executable, "-m", "policyforest", "ros", "run", "policy.pforest", "--config", str(EXAMPLE)]
    command += ["--seconds", "4", "--record", "run.mcap", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["decisions"] > 50


def test_an_agent_learns_in_it(server, tmp_path):
    text = EXAMPLE.read_text().replace("steps = 100", "steps = 20")
    (tmp_path / "robot.toml").write_text(text)
    command = [sys.executable, "-m", "policyforest", "ros", "explore", "--config", "robot.toml", "--run-dir", "run"]
    command += ["--episodes", "3", "--record", "run.bag", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["samples"] == 60


def test_nothing_is_mounted_in_the_host(server):
    assert mounts_below(INSTALLATION.folder) == []


def test_a_second_start_is_refused(server):
    with pytest.raises(ValueError, match="is already running"):
        server.start()


def test_a_simulator_that_hangs_is_an_error_and_no_more(server, env):
    env.reset()
    gzserver = server.running()["gzserver"].pid
    os.kill(gzserver, signal.SIGSTOP)
    try:
        with pytest.raises(SimulatorLostError, match=r"has not answered the torque 1.0 within 2 s"):
            env.step(np.array([1.0]))
    finally:
        os.kill(gzserver, signal.SIGCONT)
    env.reset()
    env.step(np.array([2.0]))


def test_a_simulator_that_dies_is_an_error_that_says_so(server, env):
    env.reset()
    os.kill(server.running()["gzserver"].pid, signal.SIGKILL)
    with pytest.raises(SimulatorLostError, match="has died"):
        env.step(np.array([1.0]))
    assert server.stop() == ["roscore"]
    with pytest.raises(SimulatorLostError, match="policyforest gazebo start"):
        gym.make(ID, timeout=0.2)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ValueError, match="holds other files"):
        Installation(tmp_path).set_up(print, print)
    with pytest.raises(ValueError, match="nothing was removed"):
        Installation(tmp_path).remove()
    assert (tmp_path / "thesis.txt").exists()
