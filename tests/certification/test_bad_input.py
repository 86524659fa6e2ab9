"""Wrong input is refused with the name of the argument, what it was and what it must be."""

from typing import Any

import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR, CAR_GAINS, LINE, PLANE, grown_policy, linear_policy
from policies import greedy_policy
from policyforest.certification.model_error import clopper_pearson, error_bound
from policyforest.environments.problems.native import NativeProblem

POLICY = grown_policy(CAR_GAINS, PLANE)
NAN = float("nan")
TWO = pf.Equations({"x": "0.5*x", "y": "y + u"}, ("u", "v"))


def _transitions(n: int = 100, spread: float = 1.0) -> pf.Transitions:
    rng = np.random.default_rng(0)
    states = rng.uniform(-spread, spread, (n, 2))
    return pf.Transitions(
        states, rng.uniform(-1, 1, (n, 1)), np.zeros(n), 0.9 * states, np.zeros(n, dtype=bool), np.arange(n) // 5,
        action_space=POLICY.action_space, observation_space=POLICY.observation_space, outside="keep",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": greedy_policy()}, "policy: is of the kind 'greedy'"),
        ({"policy": linear_policy([0.0], LINE), "box": LINE}, "model: has 2 states and 1 actions, must have 1 and 1"),
        ({"model": TWO, "disturbance": None}, "model: has 2 states and 2 actions"),
        ({"model": "pendulum", "disturbance": None}, "model: is 'pendulum', must be equations"),
        ({"box": [[-1.0, 1.0]]}, "box: has shape"),
        ({"box": [[-1.0, NAN], [-1.0, 1.0]]}, "box: dimension 0 has lo -1.0 and hi nan"),
        ({"box": [[-1.0, np.inf], [-1.0, 1.0]]}, "box: is .* must be finite"),
        ({"box": [[0.5, 0.5], [-1.0, 1.0]]}, "box: is .* lo < hi"),
        ({"box": [[-2.0, 1.0], [-1.0, 1.0]]}, "box: dimension 0 is .* must be within the policy's box"),
        ({"start": [[-0.5, 2.0], [-1.0, 1.0]]}, "start: dimension 0 is .* must be within the box"),
        ({"target": [[-0.5, 2.0], [-1.0, 1.0]]}, "target: dimension 0 is .* must be within the start box"),
        ({"horizon": 3}, "horizon: is 3, must be left out without a target"),
        ({"disturbance": None}, "disturbance: is None, must give the range of w"),
        ({"disturbance": NAN}, "disturbance: is nan"),
        ({"disturbance": {"v": (0, 1)}}, "disturbance: has v, must have w"),
        ({"disturbance": [(1.0, -1.0)]}, "disturbance: dimension 0 has lo 1.0"),
        ({"disturbance": np.inf}, "disturbance: is inf"),
        ({"error": [0.1, 0.1]}, "error, held_out: work with learned models only"),
        ({"precision": "float16"}, "precision: is 'float16'"),
        ({"steps": 0}, "steps: is 0"),
        ({"max_cells": 0}, "max_cells: is 0"),
        ({"tolerance": NAN}, "tolerance: is nan"),
        ({"model": _transitions(), "disturbance": 0.1}, "disturbance: works with equations only"),
        ({"model": _transitions(spread=0.001), "disturbance": None, "box": [[0.5, 1.0]] * 2}, "box: holds 0 of"),
        ({"model": _transitions(), "disturbance": None, "coverage": 0.0}, "coverage: is 0.0"),
        ({"model": _transitions(), "disturbance": None, "error": [0.1]}, "error: is .* must be 2 numbers"),
        ({"model": _transitions(), "disturbance": None, "error": [0.1, -1]}, "error: is .* at least 0"),
        ({"model": _transitions(40), "disturbance": None}, "held_out: has 12 steps"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"policy": POLICY, "model": CAR, "box": PLANE, "disturbance": 0.02} | change
    with pytest.raises((ValueError, TypeError), match=message):
        pf.certify(given.pop("policy"), given.pop("model"), **given)


def test_an_angle_box_of_more_than_a_turn_is_refused() -> None:
    pi = float(np.pi)
    turning = pf.Equations({"theta": "theta + u"}, ("u",), angles={"theta": (-pi, pi)})
    policy = linear_policy([1.0], [[-pi, pi]], periodic={0: (-pi, pi)})
    with pytest.raises(ValueError, match=r"must be at most one turn of 6\.28319"):
        pf.certify(policy, turning, box=[[-4.0, 4.0]])


def test_a_model_without_held_out_samples_or_a_bound_is_refused() -> None:
    model = pf.DynamicsForest().fit(_transitions())
    with pytest.raises(ValueError, match="held_out, error: are None"):
        pf.certify(POLICY, model, box=[[-0.5, 0.5]] * 2)
    found = pf.certify(POLICY, model, box=[[-0.5, 0.5]] * 2, error=0.001)
    assert found
    assert "this bound was given, and no held-out data was compared with it" in found.statement()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formulas": {}}, "formulas: is {}"),
        ({"formulas": {"x": "import os"}}, "formulas: x: "),
        ({"formulas": {"x": "x + z"}}, "formulas: x names z"),
        ({"formulas": {"x": "x.real"}}, "formulas: x: "),
        ({"actions": ("x",)}, "must differ from each other"),
        ({"method": "heun"}, "method: is 'heun'"),
        ({"substeps": 0}, "substeps: is 0"),
        ({"time_step": NAN}, "time_step: is nan"),
        ({"angles": {"y": (0.0, 1.0)}}, "angles: y is"),
        ({"angles": {"x": (1.0, 1.0)}}, "angles: x is"),
        ({"parameters": {"k": NAN}}, "parameters: k: is nan"),
    ],
)
def test_wrong_equations_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pf.Equations(**({"formulas": {"x": "x + u"}, "actions": ("u",)} | change))


def test_equations_in_files_are_checked() -> None:
    assert pf.Equations.from_text('{"formulas": {"x": "x + u"}, "actions": ["u"]}').states == ("x",)
    for text in ("[]", '{"formulas": {"x": "x"}}', '{"formulas": {"x": "x"}, "actions": [], "more": 1}', "{"):
        with pytest.raises(ValueError, match=r"equations|Expecting"):
            pf.Equations.from_text(text)


def test_problems_without_equations_are_refused() -> None:
    import gymnasium as gym

    with pytest.raises(TypeError, match="must be a problem of this library"):
        pf.certify(POLICY, gym.make("Pendulum-v1"), box=PLANE)
    sides = np.array(PLANE)
    other = NativeProblem(
        pf.problems.DoubleIntegrator().system, start=[0.0, 0.0], state_limits=sides, observation_limits=sides,
        action_limits=[[-1.0, 1.0]],
    )  # fmt: skip
    with pytest.raises(ValueError, match="NativeProblem, whose equations are not available"):
        pf.certify(POLICY, other, box=PLANE)


def test_the_share_of_steps_has_the_confidence_of_clopper_and_pearson() -> None:
    assert clopper_pearson(300, 300, 0.99) == pytest.approx(0.01 ** (1 / 300), rel=1e-12)
    assert clopper_pearson(0, 10, 0.99) == 0.0
    assert clopper_pearson(90, 100, 0.975) == pytest.approx(0.8237774, abs=1e-6)  # R's binom.test


def test_the_bound_of_errors_holds_the_share_that_was_asked() -> None:
    errors = np.random.default_rng(0).standard_normal((1000, 2)) * [0.1, 3.0]
    for coverage in (0.5, 0.95, 1.0):
        bound = error_bound(errors, np.array([0.1, 3.0]), coverage)
        assert (np.abs(errors) <= bound).all(axis=1).mean() == pytest.approx(coverage, abs=1e-3)
