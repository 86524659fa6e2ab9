"""The swing-up in MuJoCo: the same system as the equation in the core, with frames of its own."""

from __future__ import annotations

import math
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import policyforest as pf

pytest.importorskip("mujoco")
ID = "policyforest/SwingUp-v0"


@pytest.mark.parametrize("seed", range(3))
def test_both_backends_agree_over_ten_seconds_of_random_torque(seed):
    systems = [gym.make(ID, backend=backend).unwrapped.system for backend in ("equation", "mujoco")]
    states = [np.array([[-math.pi, 0.0]])] * 2
    for torque in np.random.default_rng(seed).uniform(-15, 15, 100):
        action, noise = np.array([[torque]]), np.zeros((1, 0))
        results = [system.step_many(state, action, noise) for system, state in zip(systems, states, strict=True)]
        states = [result[0] for result in results]
        apart = (states[0][0, 0] - states[1][0, 0] + math.pi) % (2 * math.pi) - math.pi
        assert abs(apart) < 5e-3
        assert results[0][1] == pytest.approx(results[1][1], abs=5e-3)
        assert results[0][2] == results[1][2]


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized:UserWarning")
@pytest.mark.parametrize("backend", ["equation", "mujoco"])
def test_it_passes_gymnasium_s_checks(backend):
    check_env(gym.make(ID, backend=backend).unwrapped, skip_render_check=True)


def test_the_loop_and_whole_episodes_give_the_same_samples():
    plain, mujoco = (pf.collect(gym.make(ID, backend=b), episodes=2, seed=0) for b in ("equation", "mujoco"))
    np.testing.assert_array_equal(plain.actions, mujoco.actions)
    np.testing.assert_allclose(plain.next_states, mujoco.next_states, atol=5e-3)
    policy = pf.FittedPolicyForest(
        n_states=200, n_estimators=2, q_learner=pf.FittedQIteration(horizon=2, n_estimators=2, resample=None)
    ).fit(plain)
    judged = [pf.evaluate(policy, gym.make(ID, backend=b), episodes=1).mean for b in ("equation", "mujoco")]
    assert judged[0] == pytest.approx(judged[1], abs=1e-2)


FRAMES = """
import gymnasium as gym, math, numpy as np, policyforest
env = gym.make("policyforest/SwingUp-v0", backend="mujoco", render_mode="rgb_array")
for theta in (-math.pi / 2, math.pi / 2):
    env.reset(options={"state": [theta, 0.0]})
    frame = env.render()
    blue = frame[..., 2].astype(int) - frame[..., 0] > 60
    print(*frame.shape, np.argwhere(blue)[:, 1].mean())
env.close()
"""


def test_frames_show_the_rod_where_it_is():
    """In a process of its own: MuJoCo chooses how to render when it is first imported."""
    done = subprocess.run([sys.executable, "-c", FRAMES], capture_output=True, text=True)
    if done.returncode and "GL" in done.stderr:
        pytest.skip("no off-screen rendering on this machine")
    left, right = (line.split() for line in done.stdout.splitlines())
    assert left[:3] == right[:3] == ["400", "600", "3"]
    assert float(left[3]) < 250 < 350 < float(right[3])


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="backend: is 'gazebo'"):
        gym.make(ID, backend="gazebo")
