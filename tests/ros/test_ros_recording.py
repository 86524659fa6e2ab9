"""Recordings: what was decided comes back as Transitions, to the bit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from loopback import EXAMPLE
from policyforest._support.formulas import Formula
from policyforest.ros import recording as recording_module
from policyforest.ros.config import load_config
from policyforest.ros.control import Decision
from policyforest.ros.recording import Recording, problem_settings
from policyforest.ros.recording_reader import read_recording
from policyforest.ros.reward import Judge
from policyforest.ros.transport import JointSample

pytest.importorskip("rosbags")
CONFIG = load_config(EXAMPLE)
FORMATS = pytest.mark.parametrize("suffix", [".bag", ".mcap"])


def decision(theta, omega, torque):
    sample = JointSample(["pivot"], [theta], [omega], [torque], stamp=1.5)
    return Decision(0.0, np.array([torque]), np.array([theta, omega]), "", sample)


def fault():
    return Decision(0.0, np.array([0.0]), None, "old: the state is old", None)


def record(path, decisions, config=CONFIG):
    recording = Recording(path, config)
    for one in decisions:
        recording.decision(one)
    recording.close()
    return path


@FORMATS
def test_steps_come_back_with_their_rewards(tmp_path, suffix):
    rng = np.random.default_rng(0)
    numbers = rng.uniform(-3, 3, (20, 3))
    samples = read_recording(record(tmp_path / f"run{suffix}", [decision(*row) for row in numbers]))
    np.testing.assert_array_equal(samples.states, numbers[:-1, :2])
    np.testing.assert_array_equal(samples.next_states, numbers[1:, :2])
    np.testing.assert_array_equal(samples.actions, numbers[:-1, 2:])
    expected = -(np.abs(numbers[1:, 0]) / math.pi + (numbers[:-1, 2] / 15) ** 2)
    np.testing.assert_allclose(samples.rewards, expected, rtol=1e-15)
    assert samples.periodic == CONFIG.periodic
    assert not list(tmp_path.glob("*.active"))


@FORMATS
def test_a_fault_ends_an_episode_and_a_terminal_state_another(tmp_path, suffix):
    decisions = [decision(0.1, 0, 1), decision(0.2, 0, 2), fault(), fault(), decision(0.3, 0, 3), decision(0.4, 11, 4)]
    decisions += [decision(0.45, 12, 4), decision(0.5, 0, 5), decision(0.6, 0, 6)]
    samples = read_recording(record(tmp_path / f"run{suffix}", decisions))
    np.testing.assert_array_equal(samples.states[:, 0], [0.1, 0.3, 0.5])
    assert samples.rewards[1] == -50.0
    assert samples.terminals.tolist() == [False, True, False]
    assert samples.episodes.tolist() == [0, 1, 2]


def test_without_a_formula_a_reward_must_be_given(tmp_path):
    plain = replace(CONFIG, episode=None)
    path = record(tmp_path / "run.bag", [decision(0.1, 0, 1), decision(0.2, 0, 2)], plain)
    with pytest.raises(ValueError, match="holds no rewards"):
        read_recording(path)
    assert read_recording(path, Judge(CONFIG, CONFIG.episode)).rewards[0] == pytest.approx(-(0.2 / math.pi + 1 / 225))


@FORMATS
def test_a_step_without_a_reward_is_no_sample_and_stops_nothing(tmp_path, suffix):
    config = replace(CONFIG, episode=replace(CONFIG.episode, reward=Formula("log(next_theta)", ["next_theta"])))
    warnings = []
    recording = Recording(tmp_path / f"run{suffix}", config, warn=warnings.append)
    for theta in (0.1, 0.2, -0.3, -0.4, 0.5, 0.6):
        recording.decision(decision(theta, 0, 1))
    recording.close()
    samples = read_recording(recording.path)
    np.testing.assert_array_equal(samples.states[:, 0], [0.1, -0.4, 0.5])
    assert len(warnings) == 1
    assert "must be finite" in warnings[0]


@FORMATS
@pytest.mark.parametrize("stamp", [3e9, 1e30, math.nan, -math.inf])
def test_a_stamp_that_the_format_cannot_hold_costs_its_message_alone(tmp_path, suffix, stamp):
    warnings = []
    recording = Recording(tmp_path / f"run{suffix}", CONFIG, warn=warnings.append)
    for i in range(3):
        joints = JointSample(["pivot"], [0.1 * i], [0.0], stamp=stamp)
        recording.decision(replace(decision(0.1 * i, 0, 1), sample=joints))
    recording.close()
    assert len(read_recording(recording.path)) == 2
    assert len(warnings) == 1
    assert "/pendulum/joint_states does not fit" in warnings[0]


def test_a_disk_that_is_full_ends_the_recording_and_nothing_more_is_kept(tmp_path):
    warnings = []
    recording = Recording(tmp_path / "run.bag", CONFIG, warn=warnings.append)

    def full(*_):
        raise RuntimeError("no space")

    recording._file.write = full
    recording.decision(decision(0.1, 0, 1))
    recording._thread.join(5.0)
    for _ in range(10):
        recording.decision(decision(0.1, 0, 1))
    assert recording._waiting.qsize() == 0
    assert len(warnings) == 1
    assert "recording has ended" in warnings[0]
    recording.close()


def without(key):
    return lambda problem: {k: v for k, v in problem.items() if k != key}


@FORMATS
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without("action_limits"), "'action_limits' is missing"),
        (lambda p: p | {"state_limits": 5}, "not iterable"),
        (lambda p: p | {"periodic": {"7": [0, 1]}}, "dimension: is 7|out of range"),
        (lambda p: p | {"action_limits": [[0, 1]] * 3}, "shape"),
        (lambda p: [1], "recording"),
    ],
)
def test_a_recording_that_says_nonsense_is_refused_with_its_name(tmp_path, monkeypatch, suffix, change, reason):
    path = tmp_path / f"run{suffix}"
    settings = problem_settings(CONFIG)
    monkeypatch.setattr(recording_module, "problem_settings", lambda config: change(settings))
    record(path, [decision(0.1, 0, 1), decision(0.2, 0, 2)])
    with pytest.raises(ValueError, match=rf"run{suffix}.*({reason})"):
        read_recording(path)


def test_states_without_an_episode_are_refused(tmp_path):
    recording = Recording(tmp_path / "run.bag", CONFIG)
    for _ in range(2):
        recording._put([("/policyforest/state", [0.1, 0.2]), ("/policyforest/action", [1.0])])
    recording.close()
    with pytest.raises(ValueError, match="'episode' is missing"):
        read_recording(recording.path)


@FORMATS
def test_a_robot_s_own_topics_are_not_taken_for_ours(tmp_path, suffix):
    config = replace(CONFIG, action=(replace(CONFIG.action[0], topic="action"),))
    samples = read_recording(record(tmp_path / f"run{suffix}", [decision(0.1, 0, 1), decision(0.2, 0, 2)], config))
    assert samples.actions.tolist() == [[1.0]]


def test_the_reward_of_another_robot_is_refused(tmp_path):
    path = record(tmp_path / "run.bag", [decision(0.1, 0, 1), decision(0.2, 0, 2)])
    other = replace(CONFIG, state=CONFIG.state[::-1])
    with pytest.raises(ValueError, match=r"states: are \['theta', 'omega'\] in the recording, \['omega', 'theta'\]"):
        read_recording(path, Judge(other, other.episode))


def test_files_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "there.bag").touch()
    (tmp_path / "killed.bag.active").touch()
    for name, reason in (("run.txt", "must end in"), ("there.bag", "new file"), ("no/run.bag", "new file")):
        with pytest.raises(ValueError, match=reason):
            Recording(tmp_path / name, CONFIG)
    with pytest.raises(ValueError, match="was killed"):
        Recording(tmp_path / "killed.bag", CONFIG)


@FORMATS
def test_files_that_are_no_recordings_are_refused(tmp_path, suffix):
    whole = record(tmp_path / f"whole{suffix}", [decision(0.1, 0, 1), decision(0.2, 0, 2)]).read_bytes()
    for i, content in enumerate((b"", b"nonsense" * 100, whole[: len(whole) // 2])):
        path = tmp_path / f"{i}{suffix}"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read"):
            read_recording(path)
    with pytest.raises(ValueError, match="holds no step"):
        read_recording(record(tmp_path / f"one{suffix}", [decision(0.1, 0, 1)]))
    with pytest.raises(FileNotFoundError):
        read_recording(tmp_path / f"none{suffix}")


@FORMATS
def test_the_readers_of_logs_read_the_same_samples(tmp_path, suffix):
    import policyforest as pf

    numbers = np.random.default_rng(2).uniform(-1, 1, (12, 3))
    path = record(tmp_path / f"run{suffix}", [decision(*row) for row in numbers.tolist()])
    ours, theirs = read_recording(path), pf.read_log(path).transitions
    for name in ("states", "actions", "rewards", "next_states", "terminals"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert ours.periodic == theirs.periodic
    assert ours.action_space == theirs.action_space
