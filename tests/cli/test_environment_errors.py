"""Errors of a user's environment have the exit code 2 and name its file and line; errors of our own have the code 3."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from typer.testing import CliRunner

from policyforest.cli import main
from policyforest.cli.environment_errors import place_in_environment

ID = "tests/Failing-v0"


class Arm(gym.Env[Any, Any]):
    """Works."""

    observation_space = Box(-1.0, 1.0, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2), 0.0, False, False, {}


class FailsInStep(Arm):
    def step(self, action: Any) -> Any:
        return {}["torque"]


class FailsInHelper(Arm):
    def step(self, action: Any) -> Any:
        return _solved(action)


class FailsInReset(Arm):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        raise ValueError("the motor\nis off")


class FailsInBase(Arm):
    """The method of Gymnasium raises; the line that calls it is named."""

    def step(self, action: Any) -> Any:
        return super().render()


class ReturnsStateAlone(Arm):
    def step(self, action: Any) -> Any:
        return np.zeros(2)


def _solved(action: Any) -> Any:
    raise RuntimeError("the solver diverged")


@pytest.fixture
def learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)

    def run(environment: type[gym.Env[Any, Any]], *debug: str) -> Any:
        gym.register(ID, environment, max_episode_steps=5)
        return CliRunner().invoke(main, [*debug, "learn", ID, "--episodes", "1", "--jobs", "1"])

    yield run
    gym.registry.pop(ID, None)


def place(environment: type[gym.Env[Any, Any]], name: str) -> str:
    """File and line of the last line of a method."""
    lines, first = inspect.getsourcelines(getattr(environment, name))
    return f"{Path(__file__).name}, line {first + len(lines) - 1}"


@pytest.mark.parametrize(
    ("environment", "method", "message"),
    [
        (FailsInStep, "step", "KeyError: 'torque'"),
        (FailsInHelper, "step", "RuntimeError: the solver diverged"),
        (FailsInReset, "reset", "ValueError: the motor is off"),
        (FailsInBase, "step", "NotImplementedError"),
    ],
)
def test_an_error_of_an_environment_names_its_file_and_line(
    learn: Any, environment: type[gym.Env[Any, Any]], method: str, message: str
) -> None:
    done = learn(environment)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: the environment raised {message}")
    assert f"({place(environment, method)}; policyforest --debug learn … shows the traceback)" in done.stderr
    assert done.stderr.count("\n") == 1


def test_debug_shows_the_traceback_of_an_environment(learn: Any) -> None:
    done = learn(FailsInStep, "--debug")
    assert done.exit_code == 2
    assert 'return {}["torque"]' in done.stderr


def test_what_gymnasium_refuses_of_an_environment_is_an_error_of_the_environment(learn: Any) -> None:
    done = learn(ReturnsStateAlone)
    assert done.exit_code == 2
    assert re.search(r"the environment raised .*\(passive_env_checker.py, line \d+;", done.stderr)


def test_an_error_of_this_library_is_one_while_an_environment_is_open(
    learn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect(*arguments: Any, **settings: Any) -> None:
        raise KeyError("states")

    monkeypatch.setattr("policyforest.cli.learning_samples.collect", collect)
    done = learn(Arm)
    assert done.exit_code == 3
    assert (
        "KeyError: 'states' (an error in policyforest: run policyforest --debug learn … and report it)" in done.stderr
    )


def test_an_error_inside_an_environment_of_this_library_is_none_of_the_user() -> None:
    env = gym.make("policyforest/SwingUp-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises((TypeError, ValueError)) as raised:
        env.step("left")
    assert place_in_environment(raised.value) is None


def test_an_error_without_an_environment_has_no_place() -> None:
    with pytest.raises(RuntimeError) as raised:
        _solved(None)
    assert place_in_environment(raised.value) is None
