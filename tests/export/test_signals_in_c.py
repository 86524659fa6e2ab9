"""Signals in C: derived columns, history and actuators compute the bits of the Python controller."""

import subprocess

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.export.host import HostPolicy
from policyforest.export.int16 import quantise
from policyforest.export.signal_text import measured_rows, runner_controller

ACTIONS = Box(-2.0, 2.0, (1,), np.float64)
ALL_OF_IT = {
    "history": 3, "history_actions": 2, "period": 0.02, "max_rate": 0.3, "dead_zone": 0.05, "idle": 0.25,
    "derive": [
        "w = diff(theta, dt)", "f = ema(w, 0.2)", "s = sin(theta)", "c = cos(3*theta + 1)", "m = wrap(2*theta)",
        "g = clip(x, -1, 1) + abs(x) * sign(w) - min(x, w) / max(2, abs(w) + 1)",
        "h = 1 if x > 0.5 and not w < 0 or theta >= 1 else -x**3",
    ],
}  # fmt: skip


def example(seed=0, **options):
    """A policy over random walks of an angle and a number, with signals."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=60).cumsum() * 0.4
    measured = np.stack([(theta + np.pi) % (2 * np.pi) - np.pi, rng.normal(size=60).cumsum() * 0.2], axis=1)
    actions = rng.uniform(-2, 2, (59, 1))
    data = pf.Transitions(
        measured[:-1], actions, np.zeros(59), measured[1:], np.zeros(59, bool), action_space=ACTIONS,
        periodic={0: (-np.pi, np.pi)}, plant=pf.Plant(("theta", "x"), ("u",)),
    ).with_signals(**options)  # fmt: skip
    wanted = 2 * np.tanh(data.states.sum(axis=1))
    forest = pf.grow_forest(
        data.states, wanted, n_estimators=4, leaf_model="linear", min_samples_leaf=8, periodic=data.periodic
    )
    space = data.observation_space
    return pf.Policy((forest,), space, ACTIONS, data.periodic, signals=data.plant.signals)


def python_run(controller, rows):
    controller.reset()
    return np.array([controller.step(row) for row in rows])


CASES = {
    "history": {"history": 2, "history_actions": 1},
    "delay": {"delay": 2},
    "filters": {"derive": ["w = diff(theta, 0.1)", "f = ema(ema(w, 0.5), 0.25)"], "history": 2},
    "channels": {"derive": ["w = diff(x, 0.1)", "z = sin(theta) + clip(x, 0, 1)"], "channels": ["theta", "w"]},
    "rate": {"max_rate": 0.2},
    "steps": {"quantum": 0.125, "max_rate": 0.3, "dead_zone": 0.2},
    "all": ALL_OF_IT,
}


@pytest.mark.parametrize("style", ["table", "branches"])
@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
@pytest.mark.parametrize("case", CASES)
def test_c_steps_as_python_does_bit_for_bit(case, precision, style, tmp_path):
    policy = example(**CASES[case])
    policy.export_c(tmp_path, precision=precision, style=style)
    rows = measured_rows(policy, 2_000, np.random.default_rng(1))
    runner = {"float64": policy, "float32": policy.astype("float32")}.get(precision) or quantise(policy)
    expected = python_run(runner_controller(policy, runner), rows)
    compiled = HostPolicy(tmp_path)
    found = compiled.step_many(rows)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()
    assert compiled.step_many(rows).tobytes() == expected.tobytes()  # a reset forgets everything
    assert len(np.unique(found)) > 10


def test_the_self_test_runs_steps_too_and_fails_on_a_change(tmp_path):
    policy = example(**ALL_OF_IT)
    policy.export_c(tmp_path)
    done = subprocess.run(["make", "-C", tmp_path, "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    source = (tmp_path / "policy.c").read_text()
    assert "malloc" not in source
    (tmp_path / "policy.c").write_text(source.replace("own.seen <= 1u", "own.seen <= 2u"))
    assert subprocess.run(["make", "-C", tmp_path, "test"], capture_output=True, check=False).returncode != 0


def test_a_step_before_the_first_reset_is_idle_and_remembers_nothing(tmp_path):
    import ctypes

    policy = example(derive=["f = ema(x, 0.5)"], max_rate=0.2, idle=0.5)  # a reset alone would let it act at once
    policy.export_c(tmp_path)
    compiled = HostPolicy(tmp_path)
    action = (ctypes.c_double * 1)()
    for _ in range(3):
        compiled._loaded["policy_step"]((ctypes.c_double * 2)(0.9, 0.9), action)
        assert action[0] == 0.5
    rows = measured_rows(policy, 50, np.random.default_rng(1))
    assert compiled.step_many(rows).tobytes() == python_run(policy.controller(), rows).tobytes()


@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
@pytest.mark.parametrize("case", ["all", "divisions", "filters"])
def test_c_is_idle_where_python_refuses_and_fills_its_history_again(case, precision, tmp_path):
    options = CASES.get(case) or {
        "history": 2, "max_rate": 0.4, "idle": 0.5, "derive": [
            "a = clip(x / (1 - theta), -2, 2)", "b = min(1 / a, 3) + max(a, 0)", "d = diff(a, 0.1)",
            "e = 1 if x / theta > 0 else sign(b)", "f = ema(e, 0.5)", "g = x > 0 and 1 / theta or not a <= 1",
        ],
    }  # fmt: skip
    policy = example(**options)
    policy.export_c(tmp_path, precision=precision)
    rows = measured_rows(policy, 400, np.random.default_rng(1))
    rows[rng_rows(0)], rows[rng_rows(1), 1] = np.nan, np.inf
    rows[rng_rows(2), 0], rows[rng_rows(3), 0] = 0.0, 1.0
    runner = {"float64": policy, "float32": policy.astype("float32")}.get(precision) or quantise(policy)
    controller, expected, refused = runner_controller(policy, runner), [], 0
    controller.reset()
    for row in rows:
        try:
            controller.step(row)
        except ValueError:
            refused += 1
        expected.append(controller.last_action)
    assert refused >= (20 if case == "divisions" else 10)
    found = HostPolicy(tmp_path).step_many(rows)
    assert found.tobytes() == np.array(expected).tobytes()
    assert len(np.unique(found)) > 10


def rng_rows(seed):
    return np.random.default_rng(seed).choice(400, 6, replace=False)


def test_a_rate_below_the_resolution_of_int16_is_refused(tmp_path):
    policy = example(max_rate=1e-6)
    with pytest.raises(ValueError, match=r"max_rate\[0\]: is 1e-06, below the resolution 6.1\d+e-05 of int16"):
        policy.export_c(tmp_path, precision="int16")
    policy.export_c(tmp_path, precision="float32")


def test_a_policy_without_signals_has_no_memory_in_c(tmp_path):
    example(history=2).with_signals(None).export_c(tmp_path)
    assert "_step" not in (tmp_path / "policy.c").read_text()


def test_the_example_sketch_steps_with_what_is_measured_at_the_period_of_the_policy(tmp_path):
    example(history=2, period=0.02).export_c(tmp_path, precision="float32")
    sketch = (tmp_path / "examples" / "policy_example" / "policy_example.ino").read_text()
    assert "policy_reset();" in sketch
    assert "policy_step(observation, action);" in sketch
    assert "observation[POLICY_MEASURED]" in sketch
    assert "PERIOD_US = 20000UL;" in sketch
    assert "policy_act" not in sketch
    assert "re-entrant" not in (tmp_path / "README.md").read_text().partition("policy_reset")[0]
    example(history=2).with_signals(None).export_c(tmp_path / "plain")
    sketch = (tmp_path / "plain" / "examples" / "policy_example" / "policy_example.ino").read_text()
    assert "policy_act(state, action);" in sketch
    assert "policy_reset" not in sketch


def test_onnx_takes_the_stacked_state(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    policy = example(history=2, history_actions=1)
    policy.export_onnx(tmp_path / "p.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx")
    assert session.get_inputs()[0].shape[-1] == policy.signals.n_states
