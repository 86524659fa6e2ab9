"""robot.toml: what a configuration means, and that everything wrong in it is named."""

from __future__ import annotations

import copy
import importlib
import math
import re
import subprocess
import sys
import tomllib

import pytest

from loopback import EXAMPLE
from policyforest._support.formulas import Formula
from policyforest.ros.config import StateDimension, load_config, parse_config, wrapped


@pytest.fixture
def content():
    return copy.deepcopy(tomllib.loads(EXAMPLE.read_text()))


def test_the_example_says_what_the_swing_up_is():
    config = load_config(EXAMPLE)
    assert [d.name for d in config.state] == ["theta", "omega"]
    assert config.rate is None
    assert config.periodic == {0: (-math.pi, math.pi)}
    assert config.state_limits == [[-math.pi, math.pi], [-10.0, 10.0]]
    assert (config.action_space.low.tolist(), config.action_space.high.tolist()) == ([-15.0], [15.0])
    assert config.safe_action == (0.0,)


def test_a_state_is_scaled_shifted_and_wrapped():
    degrees = StateDimension("a", "j", "position", scale=math.pi / 180, offset=math.pi, wrap=(-math.pi, math.pi))
    assert degrees.value(0.0) == -math.pi
    assert degrees.value(90.0) == pytest.approx(-math.pi / 2)
    assert degrees.value(-90.0) == pytest.approx(math.pi / 2)
    assert StateDimension("a", "j", "velocity", scale=-2.0, offset=1.0).value(3.0) == -5.0


@pytest.mark.parametrize("value", [-1e9, -7.0, -math.pi, math.pi, 3.2, 1e300, math.nextafter(-math.pi, -9)])
def test_wrapping_stays_within_the_turn(value):
    assert -math.pi <= wrapped(value, -math.pi, math.pi) < math.pi


def broken(content, change):
    change(content)
    with pytest.raises(ValueError) as error:
        parse_config(content, "robot.toml")
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda c: c.pop("robot"), "robot.joint_states: is missing"),
        (lambda c: c.pop("state"), "state: is [], must be at least one"),
        (lambda c: c.update(action=[]), "action: is [], must be at least one"),
        (lambda c: c.update(state=3), "state: is 3"),
        (lambda c: c["robot"].update(rate=0), "robot.rate: is 0, must be"),
        (lambda c: c["robot"].pop("rate"), "robot.rate: is missing"),
        (lambda c: c["robot"].update(rate="often"), "robot.rate: is 'often'"),
        (lambda c: c["robot"].update(max_age=math.nan), "robot.max_age: is nan"),
        (lambda c: c["robot"].update(transport="ros3"), "robot.transport: is 'ros3', must be one of 'ros1', 'dds'"),
        (lambda c: c["robot"].update(joint_states="a b"), "robot.joint_states: is 'a b'"),
        (lambda c: c["robot"].update(speed=1), "robot.speed: is not known"),
        (lambda c: c["state"][0].update(field="angle"), "state[0].field: is 'angle'"),
        (lambda c: c["state"][0].update(scale=0), "state[0].scale: is 0.0"),
        (lambda c: c["state"][0].update(scale=True), "state[0].scale: is True"),
        (lambda c: c["state"][0].update(wrap=[1, 0]), "state[0].wrap: is [1, 0]"),
        (lambda c: c["state"][0].update(low=1), "state[0].low, high"),
        (lambda c: c["state"][1].update(low=11), "state[1].low: is 11.0, must be below high"),
        (lambda c: c["state"][1].update(name="theta"), "'theta' is used more than once"),
        (lambda c: c["action"][0].pop("safe"), "action[0].safe: is missing"),
        (lambda c: c["action"][0].update(safe=16), "action[0].safe: is 16.0, must be within low and high"),
        (lambda c: c["action"][0].update(high=-16), "action[0].low: is -15.0, must be below high"),
        (lambda c: c["episode"].update(reward="-thta**2"), "episode.reward: has 'thta'"),
        (lambda c: c["episode"].update(reward=3), "episode.reward: is 3"),
        (lambda c: c["episode"].update(steps=0), "episode.steps: is 0"),
        (lambda c: c["episode"].update(discount=1.0), "episode.discount: is 1.0"),
        (lambda c: c["episode"].update(reset_topic="/r"), "exactly one of the two"),
        (lambda c: c["episode"].pop("reset_service"), "exactly one of the two"),
        (lambda c: c.update(robto={}), "robto: is not known"),
        (lambda c: c["robot"].update(rate="often"), 'must be "state", or a finite number'),
        (lambda c: c["action"][0].update(safe=10**400), "action[0].safe: is 1000"),
        (lambda c: c["episode"].update(steps=10**400), "episode.steps: is 1000"),
        (lambda c: c["state"][0].update(wrap=[0, 10**400]), "state[0].wrap: is [0, 1000"),
        (lambda c: c["state"][0].update(wrap=0), "state[0].wrap: is 0"),
        (lambda c: c["state"][1].update(name="next_theta"), "'next_theta' is used more than once"),
        (lambda c: c["action"][0].update(name="pi"), "'pi' means something else in a formula"),
        (lambda c: c["action"][0].update(name="if"), "'if' means something else in a formula"),
        (lambda c: c["action"].append(c["action"][0] | {"name": "u"}), "action[1].topic: is '/pendulum/pivot"),
        (lambda c: c["action"][0].update(topic="pendulum/joint_states"), "another than that of robot.joint_states"),
        (lambda c: c["action"][0].update(topic="/policyforest/action"), "must not lie below /policyforest"),
        (lambda c: c["episode"].update(reset_values=[0.0]), "episode.reset_values: is [0.0], must be left out"),
    ],
)
def test_what_is_wrong_is_named(content, change, named):
    assert named in broken(content, change)


def test_everything_wrong_is_named_at_once(content):
    def change(c):
        c["robot"]["rate"] = -1
        c["action"][0]["topic"] = ""
        c["state"][1]["joint"] = 5

    message = broken(content, change)
    assert all(key in message for key in ("robot.toml: ", "robot.rate", "action[0].topic", "state[1].joint"))


def test_keys_that_do_not_fit_together_are_named_beside_other_wrong_keys(content):
    def change(c):
        c["state"][1] |= {"name": "9", "low": 11}
        c["action"][0] |= {"topic": "a b", "safe": 16}
        c["episode"] |= {"steps": 0, "reward": "-thta**2", "reset_topic": "/r"}

    message = broken(content, change)
    assert "state[1].low: is 11.0, must be below high, 10.0" in message
    assert "action[0].safe: is 16.0, must be within low and high, [-15.0, 15.0]" in message
    assert "episode.reward: has 'thta'" in message
    assert "episode.reset_service, reset_topic: is ('/pendulum/reset', '/r'), must be exactly one" in message


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c["robot"].update(rate=0), 'robot.rate: is 0, must be "state", or a finite number above 0'),
        (lambda c: c["robot"].update(name="9"), r"robot.name: is '9', must be text that matches [A-Za-z]\w*"),
        (lambda c: c["state"][0].update(joint=""), "state[0].joint: is '', must be text"),
        (lambda c: c["state"][0].pop("field"), "state[0].field: is missing, must be one of 'position', 'velocity', "),
        (lambda c: c["state"][0].update(wrap=[1]), "state[0].wrap: is [1], must be true, or [low, high] with low"),
        (lambda c: c["state"][1].update(high=float("inf")), "state[1].high: is inf, must be a finite number"),
        (lambda c: c["state"].append(3), "state[2]: is 3, must be a table"),
        (lambda c: c["action"][0].update(low="x"), "action[0].low: is 'x', must be a finite number"),
        (lambda c: c.update(robot=3), "robot: is 3, must be a table"),
        (lambda c: c["episode"].update(lock_step=1), "episode.lock_step: is 1, must be true or false"),
        (lambda c: c["episode"].update(settle=-1), "episode.settle: is -1, must be a finite number at least 0"),
        (lambda c: c["robot"].update(speed=1), "robot.speed: is not known, must be one of age_by, joint_states,"),
    ],
)
def test_one_wrong_key_is_one_problem_in_full(content, change, problem):
    message = broken(content, change)
    assert message.startswith(f"robot.toml: {problem}")
    assert "; " not in message


def test_values_of_a_reset_topic_are_numbers(content):
    def change(c):
        del c["episode"]["reset_service"]
        c["episode"] |= {"reset_topic": "/pendulum/place", "reset_values": ["down", "up"]}

    problem = "episode.reset_values: is ['down', 'up'], must be a list of finite numbers"
    assert broken(content, change) == f"robot.toml: {problem}"
    content["episode"]["reset_values"] = [-3, 0.5]
    assert parse_config(content).episode.reset_values == (-3.0, 0.5)


def test_without_pydantic_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    monkeypatch.delitem(sys.modules, "policyforest.ros.config_keys")
    with pytest.raises(ImportError, match=r"pydantic is not installed; run `pip install 'policyforest\[ros\]'`"):
        importlib.import_module("policyforest.ros.config_keys")


def test_importing_the_package_does_not_import_pydantic():
    code = "import sys, policyforest.cli; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    for text in (b"[robot", b"\xff\xfe", b"rate = 1" + 5_000 * b"0", b"rate = " + 5_000 * b"["):
        (tmp_path / "robot.toml").write_bytes(text)
        with pytest.raises(ValueError, match="is not TOML"):
            load_config(tmp_path / "robot.toml")


def test_a_path_that_is_no_file_is_named(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(FileNotFoundError, match=f"^config: is '{re.escape(str(path))}', must be a file$"):
            load_config(path)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "theta.__class__",
        "[theta for theta in (1,)]",
        "lambda: 1",
        "abs(theta, key=theta)",
        "(theta := 3)",
        "'text'",
        "theta if",
        "abs",
        "1" * 2_000,
        "(" * 500 + ")" * 500,
    ],
)
def test_a_formula_is_arithmetic_and_nothing_else(text):
    with pytest.raises(ValueError):
        Formula(text, ["theta"])({"theta": 1.0})


def test_formulas_compute():
    assert Formula("-(abs(theta)/pi + (tau/15)**2)", ["theta", "tau"])({"theta": -math.pi, "tau": 15.0}) == -2.0
    assert Formula("abs(w) > 10 or w < -3", ["w"])({"w": -4.0}) == 1.0
    assert Formula("1 if w > 0 else -1", ["w"])({"w": -4.0}) == -1.0


@pytest.mark.parametrize("text", ["9**9**9", "1/w", "log(w)", "exp(1000 + w)"])
def test_a_formula_without_a_finite_value_says_so(text):
    with pytest.raises(ValueError, match=r"must be finite|exponent"):
        Formula(text, ["w"])({"w": 0.0})
