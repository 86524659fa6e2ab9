"""Logs that are read with history, delay and derived columns."""

import numpy as np
import pytest

import policyforest as pf


def csv_log(path, delay=0, n=300, jitter=0.0):
    """A mass on a spring, pushed at random, as a CSV log; commands act some rows late."""
    rng = np.random.default_rng(0)
    x, v, time, pushes = 0.3, 0.0, 0.0, rng.uniform(-1, 1, n).tolist()
    rows = ["t,x,u,episode"]
    for t in range(n):
        rows.append(f"{time!r},{x!r},{pushes[t]!r},{t // 60}")
        u = pushes[t - delay] if t >= delay else 0.0
        v += 0.1 * (u - x)
        x += 0.1 * v
        time += 0.1 + jitter * float(rng.random())
    path.write_text("\n".join(rows))
    return path


LOG = {"state": ["x"], "action": ["u"], "episode": "episode", "time": "t", "reward": "-x**2"}


def test_a_log_is_read_with_history_and_counts_what_it_loses(tmp_path):
    path = csv_log(tmp_path / "log.csv", delay=2)
    log = pf.read_log(path, **LOG, delay="auto", history=2, derive=["v = diff(x, dt)"])
    assert log.transitions.plant.state_names == ("x", "v", "x_1", "v_1", "u_1", "u_2", "u_3")
    assert log.transitions.plant.signals.period == pytest.approx(0.1)
    assert log.description.n_lost == log.transitions.n_lost == 5 * 3
    assert "commands act 2 steps late (certain)" in log.description.delay
    plain = pf.read_log(path, **LOG)
    assert len(plain.transitions) == len(log.transitions) + 15


def test_a_log_whose_period_changes_is_refused_for_history_and_resampled_on_request(tmp_path):
    path = csv_log(tmp_path / "log.csv", jitter=0.2)
    with pytest.raises(ValueError, match=r"period: the time between rows varies by .* s around .* s \(160 of 300 rows"):
        pf.read_log(path, **LOG, history=2)
    assert pf.read_log(path, **LOG, history=2, period=0.2).transitions.plant.signals.period == 0.2
    assert len(pf.read_log(path, **LOG).transitions) > 0


def test_commands_take_history_and_report_lost_rows(tmp_path):
    import json

    from cli_runs import run

    path = csv_log(tmp_path / "log.csv", delay=1)
    options = ["--state", "x", "--action", "u", "--episode", "episode", "--time", "t", "--reward", "-x**2"]
    told = run("data", path, *options, "--delay", "auto", "--history", "2").stdout
    assert "10 samples lost, because their history is not known" in told
    assert "commands act 1 step late (certain)" in told
    output = tmp_path / "p.pforest"
    arguments = ["--history", "2", "--derive", "v = diff(x, dt)", "--max-rate", "0.5", "--json"]
    done = json.loads(run("learn", "--data", path, *options, *arguments, "-o", output).stdout)
    assert done["state"] == ["x", "v", "x_1", "v_1", "u_1"]
    assert done["lost"] == 10
    assert pf.load(output).signals.actuators.max_rate == (0.5,)
    message = run("learn", "inverted-pendulum-6kg", "--max-rate", "fast", code=2).stderr
    assert "--max-rate: is 'fast', must be numbers" in message
