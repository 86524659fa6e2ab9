"""One model in several engines: ten seconds of random torque, against what Gazebo did with the same SDF file.

The trajectories of Gazebo were recorded by `tests/ros1/record_gazebo_trajectory.py`, whose docstring says how.
"""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import policyforest as pf

RECORDED = json.loads((Path(__file__).parent / "gazebo_swing_up.json").read_text())
ID = "policyforest/SwingUp-v0"
# Largest distance of the angle over ten seconds, in rad. DART in-process is Gazebo's DART; the others round and stop
# the rod by friction in ways of their own.
AGREEMENT = {
    ("dart", "dart"): 1e-6,
    ("mujoco", "dart"): 2e-4,
    ("equation", "dart"): 2e-4,
    ("dart", "ode"): 5e-3,
    ("mujoco", "ode"): 5e-3,
    ("equation", "ode"): 5e-3,
}


def trajectory(backend: str) -> np.ndarray:
    pytest.importorskip({"dart": "dartpy", "mujoco": "mujoco"}.get(backend, "numpy"))
    system = gym.make(ID, backend=backend).unwrapped.system
    states = [np.array(RECORDED["start"])]
    for torque in RECORDED["torques"]:
        states.append(system.step_many(states[-1][None], np.array([[torque]]), np.zeros((1, 0)))[0][0])
    return np.array(states[1:])


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The largest distance of the angles, the short way round."""
    return float(np.abs((a[:, 0] - b[:, 0] + np.pi) % (2 * np.pi) - np.pi).max())


@pytest.mark.parametrize(("backend", "engine"), AGREEMENT)
def test_backends_follow_what_gazebo_did(backend, engine):
    recorded = np.array(RECORDED["states"][engine])
    assert len(recorded) == 100
    distance = apart(trajectory(backend), recorded)
    print(f"{backend} and Gazebo's {engine}: {distance:.1e} rad")
    assert distance < AGREEMENT[backend, engine]


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized:UserWarning")
def test_dart_passes_gymnasium_s_checks():
    pytest.importorskip("dartpy")
    check_env(gym.make(ID, backend="dart").unwrapped, skip_render_check=True)


def test_dart_plays_the_same_twice_and_whole_episodes():
    pytest.importorskip("dartpy")
    env = gym.make(ID, backend="dart")
    once, again = (pf.collect(env, episodes=1, seed=0, max_steps=30) for _ in range(2))
    np.testing.assert_array_equal(once.next_states, again.next_states)
    assert not once.terminals.any()
