"""What is told of signals: how a delay was found, which control period a log has, and what files keep."""

import csv
import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from cli_runs import run

PENDULUM = "policyforest/InvertedPendulum6kg-v0"


def write_log(path, times=None, n=120):
    """A log of an angle and a torque, with or without the times of its rows."""
    rng = np.random.default_rng(0)
    theta, omega, rows = 0.05, 0.0, []
    for i in range(n):
        torque = rng.uniform(-1, 1)
        rows.append([*([] if times is None else [times[i]]), theta, torque, -(theta**2)])
        theta, omega = theta + 0.1 * omega, omega + 0.1 * (torque - omega - theta)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*([] if times is None else ["time"]), "theta", "u", "reward"], *rows])
    return path


def read(path, **options):
    return pf.read_log(path, state=["theta"], action=["u"], **options)


def test_samples_keep_the_evidence_for_their_delay(tmp_path):
    late = pf.DelayedActions(gym.make(PENDULUM), 1)
    found = pf.collect(late, episodes=30, seed=0, delay="auto")
    assert found.plant.delay == found.delay_search.delay == 1
    assert [row.delay for row in found.delay_search.table] == [0, 1, 2, 3, 4, 5]
    assert found.with_known(reward="-theta**2").delay_search is found.delay_search
    told = pf.collect(late, episodes=30, seed=0)
    assert told.delay_search is None
    assert told.with_signals(delay=1).delay_search is None
    none = pf.collect(PENDULUM, episodes=30, seed=0, delay="auto")  # nothing is late: the states stay what they are
    assert none.delay_search.delay == 0
    assert none.plant.signals is None
    found.save(tmp_path / "found.npz")
    assert pf.Transitions.load(tmp_path / "found.npz").delay_search is None


def test_learn_shows_the_evidence_for_a_delay_of_an_environment(tmp_path):
    options = ("learn", "inverted-pendulum-6kg", "--episodes", "12", "--delay", "auto", "-o", tmp_path / "p.pforest")
    shown = run(*options)
    assert "commands act 0 steps late" in shown.stderr
    assert "5 steps: held-out error" in shown.stderr
    report = json.loads(run(*options, "--json").stdout)
    assert report["delay"] == report["delay_search"]["delay"] == 0
    assert len(report["delay_search"]["table"]) == 6


def test_a_delay_is_a_number_or_auto():
    with pytest.raises(ValueError, match="delay: is 'soon', must be a whole number or 'auto'"):
        pf.collect(PENDULUM, episodes=3, delay="soon")


def test_a_log_without_times_takes_its_control_period(tmp_path):
    log = write_log(tmp_path / "log.csv")
    with pytest.raises(ValueError, match=r"derive: omega: names dt, .* give it as period \(dt of a log, --dt\)"):
        read(log, derive=["omega = diff(theta, dt)"])
    data = read(log, derive=["omega = diff(theta, dt)"], dt=0.1).transitions
    assert data.plant.signals.period == 0.1
    theta = data.states[:, 0]
    assert data.states[1:, 1] == pytest.approx(np.diff(theta) / 0.1)
    read(log).transitions.save(tmp_path / "log.npz")
    again = pf.read_transitions(tmp_path / "log.npz", derive=["omega = diff(theta, dt)"], dt=0.1)
    assert np.array_equal(again.states, data.states)
    for bad in (0.0, -1.0):
        with pytest.raises(ValueError, match="dt: is "):
            read(log, derive=["omega = diff(theta, dt)"], dt=bad)


def test_the_command_takes_the_control_period_of_a_log(tmp_path):
    log = write_log(tmp_path / "log.csv")
    done = run(
        "data", log, "--state", "theta", "--action", "u", "--derive", "omega = diff(theta, dt)", "--dt", "0.1",
        "-o", tmp_path / "samples.npz",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert pf.Transitions.load(tmp_path / "samples.npz").plant.signals.period == 0.1


def test_a_control_period_that_contradicts_the_times_of_a_log_is_refused(tmp_path):
    log = write_log(tmp_path / "log.csv", 0.1 * np.arange(120))
    assert read(log, time="time", history=2, dt=0.1).transitions.plant.signals.period == 0.1
    with pytest.raises(ValueError, match=r"dt: is 0\.2, must be left out or agree with the 0\.1 s between rows"):
        read(log, time="time", dt=0.2)


def test_a_few_rows_that_come_late_are_counted_where_history_counts_rows(tmp_path):
    steps = np.where(np.arange(120) % 30 == 7, 0.2, 0.1)
    log = write_log(tmp_path / "log.csv", steps.cumsum())
    assert "irregular" not in {w.code for w in read(log, time="time").description.warnings}
    found = read(log, time="time", history=2).description
    assert found.n_irregular == 4
    (warning,) = [w for w in found.warnings if w.code == "irregular"]
    assert "4 rows do not come 0.1 s after the row before" in str(warning)
    cut = read(log, time="time", history=2, max_gap=0.15).description  # as it advises
    assert (cut.n_irregular, cut.n_gaps) == (0, 4)
    assert cut.n_lost == 5  # one row at the beginning of each part
    brought = read(log, time="time", history=2, period=0.1).description
    assert "irregular" not in {w.code for w in brought.warnings}


def test_one_late_row_is_counted_in_the_singular(tmp_path):
    log = write_log(tmp_path / "log.csv", np.where(np.arange(120) == 7, 0.2, 0.1).cumsum())
    (warning,) = [w for w in read(log, time="time", history=2).description.warnings if w.code == "irregular"]
    assert "1 row does not come 0.1 s after the row before" in str(warning)


@pytest.mark.parametrize("steps", [
    np.where(np.arange(120) < 60, 0.1, 0.2), np.where(np.arange(120) % 2, 0.1, 0.2),
    np.where(np.arange(120) < 110, 0.1, 0.15),
])  # fmt: skip
def test_a_log_whose_period_changes_is_refused_and_the_rows_are_counted(steps, tmp_path):
    log = write_log(tmp_path / "log.csv", steps.cumsum())
    late = int((np.abs(np.diff(steps.cumsum()) - np.median(np.diff(steps.cumsum()))) > 0.02).sum())
    counted = rf"period: the time between rows varies by .* \({late} of 120 rows come early or late\), must be the same"
    with pytest.raises(ValueError, match=counted):
        read(log, time="time", history=2)
    assert read(log, time="time", history=2, period=0.1).transitions.plant.signals.period == 0.1


def test_files_keep_an_action_without_a_rate_limit(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(41, 1)).cumsum(axis=0)
    data = pf.Transitions(
        rows[:-1], rng.uniform(-2, 2, (40, 2)), np.zeros(40), rows[1:], np.zeros(40, bool),
        action_space=Box(-2.0, 2.0, (2,), np.float64), max_rate=[0.5, np.inf],
    )  # fmt: skip
    forests = [pf.grow_forest(data.states, data.actions[:, j], n_estimators=2) for j in range(2)]
    policy = pf.Policy(tuple(forests), data.observation_space, data.action_space, signals=data.plant.signals)
    policy.save(tmp_path / "p.pforest")
    assert pf.load(tmp_path / "p.pforest").signals == policy.signals
    for name in ("data.npz", "data.parquet"):
        data.save(tmp_path / name)
        assert pf.Transitions.load(tmp_path / name).plant.signals == policy.signals
    controller = policy.controller()
    controller.reset()
    assert abs(controller.step([rows[0, 0]])[0]) <= 0.5


def test_an_unknown_option_is_named_next_to_each_known_one_once():
    with pytest.raises(TypeError, match="memory: is not an option") as refused:
        pf.collect(PENDULUM, episodes=1, memory=3)
    names = str(refused.value).partition("must be one of ")[2].split(", ")
    assert len(names) == len(set(names)) == 13
