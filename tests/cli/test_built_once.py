"""`learn` makes every object once: nothing is checked, built or compiled a second time on the way to the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import policyforest._core as _core
from policyforest.cli import main
from policyforest.data.transitions import Transitions
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.methods import Learner
from policyforest.policy.policy import Policy


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each kind of object was built since the test began."""
    counts: Counter[str] = Counter()

    def counted(name: str, build: Callable[..., Any]) -> Callable[..., Any]:
        def count_and_build(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return build(*arguments, **named)

        return count_and_build

    for cls in (Learner, FittedQIteration, FittedPolicyForest, Policy):
        monkeypatch.setattr(cls, "__post_init__", counted(cls.__name__, cls.__post_init__))
    monkeypatch.setattr(Transitions, "__init__", counted("Transitions", Transitions.__init__))
    # A subclass, since episodes are played by the core for a policy whose controller is an instance of the class.
    controller = type("Controller", (_core.Controller,), {"__init__": counted("Controller", _core.Controller.__init__)})
    monkeypatch.setattr(_core, "Controller", controller)
    return counts


def learn(*options: str | Path) -> None:
    result = CliRunner().invoke(main, ["learn", *map(str, options), "--preset", "paper", "--jobs", "1"])
    assert result.exit_code == 0, result.output + result.stderr


def test_learning_with_the_paper_s_settings_builds_each_object_once(tmp_path: Path, built: Counter[str]) -> None:
    learn("double-integrator", "--episodes", "20", "-o", tmp_path / "policy.pforest")
    assert built == {
        "Learner": 1,
        "FittedQIteration": 1,
        "FittedPolicyForest": 1,
        "Transitions": 1,
        "Policy": 1,
        "Controller": 1,
    }
