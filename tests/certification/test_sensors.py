"""Policies that read functions of the state: sines and cosines of an angle, from equations and from samples."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box

import policyforest as pf
import policyforest._core as _core
from certified_loops import LINE, linear_policy
from policyforest.certification.certified_policy import native_policy
from policyforest.certification.checker.forms import unknown
from policyforest.certification.checker.successors import RunningPolicy
from policyforest.certification.step_compiler import compile_equations
from policyforest.export.int16 import quantise

PI = float(np.pi)
READS = {"c": "cos(theta)", "s": "sin(theta)", "omega": "omega"}
PENDULUM = pf.Equations(
    {"theta": "omega", "omega": "9.8*sin(theta) + u"}, ("u",), method="runge-kutta", time_step=0.05,
    angles={"theta": (-PI, PI)}, sensors=READS,
)  # fmt: skip
UPRIGHT = [[-1.0, 1.0], [-4.0, 4.0]]
LIMITS = np.array([[-1.0, 1.0], [-1.0, 1.0], [-8.0, 8.0]])


def _policy(gain: float = 25.0) -> pf.Policy:
    """Balances a pendulum, from its cosine, sine and speed."""
    rng = np.random.default_rng(0)
    theta, omega = rng.uniform(-PI, PI, 4000), rng.uniform(-8.0, 8.0, 4000)
    rows = np.stack([np.cos(theta), np.sin(theta), omega], axis=1)
    labels = np.clip(-gain * np.sin(theta) - 7.0 * omega, -40.0, 40.0)
    forest = pf.grow_forest(
        rows, labels, n_estimators=5, min_samples_leaf=200, leaf_model="linear", box=LIMITS, random_state=0
    )
    return pf.Policy((forest,), Box(LIMITS[:, 0], LIMITS[:, 1], dtype=np.float64), Box(-40.0, 40.0, (1,), np.float64))


def _samples(policy: pf.Policy, order: tuple[int, ...] = (0, 1, 2), n: int = 1500) -> pf.Transitions:
    """Steps of the pendulum with its angle as a cosine and a sine, in any order."""
    rng = np.random.default_rng(1)
    states, actions = rng.uniform([-1.2, -5.0], [1.2, 5.0], (n, 2)), rng.uniform(-40.0, 40.0, (n, 1))
    after = PENDULUM.step(states, actions, np.empty((n, 0)))

    def seen(rows: np.ndarray) -> np.ndarray:
        return np.stack([np.cos(rows[:, 0]), np.sin(rows[:, 0]), rows[:, 1]], axis=1)[:, order]

    names = [("cos", "sin", "omega")[k] for k in order]
    plant = pf.Plant(state_names=tuple(names), action_names=("u",))
    return pf.Transitions(
        seen(states), actions, np.zeros(n), seen(after), np.zeros(n, dtype=bool), np.arange(n) // 20,
        action_space=policy.action_space, observation_space=policy.observation_space, outside="keep", plant=plant,
    )  # fmt: skip


def _stays(found: pf.Certificate, policy: pf.Policy, steps: int = 40) -> bool:
    """Whether no simulated trajectory of the true pendulum leaves the set."""
    rng = np.random.default_rng(2)
    lo, hi = found.sides
    rows = rng.integers(len(lo), size=500)
    here = hi[rows] - rng.random((500, 2)) * (hi[rows] - lo[rows])
    for _ in range(steps):
        here = PENDULUM.step(here, policy.act_batch(found.model.read(here)), np.empty((500, 0)))
        if not found.contains(here).all():
            return False
    return True


@pytest.mark.parametrize("precision", ["float64", "float32", "int16"])
def test_a_policy_of_sine_and_cosine_is_certified_on_the_angle(precision: str, tmp_path: Path) -> None:
    policy = _policy()
    found = pf.certify(policy, PENDULUM, box=UPRIGHT, tolerance=0.1, max_cells=4000, precision=precision)
    assert found.share > 0.8
    assert _stays(found, policy)
    found.save(tmp_path / "upright.pfcert")
    assert pf.check_certificate(
        tmp_path / "upright.pfcert", policy, pf.load_certificate(tmp_path / "upright.pfcert").model
    )
    assert not pf.check_certificate(tmp_path / "upright.pfcert", _policy(gain=24.0))


def test_a_box_of_an_angle_may_cross_its_seam(tmp_path: Path) -> None:
    """The same pendulum, with its angle counted from the other side: upright is the end of the turn."""
    hanging = pf.Equations(
        {"theta": "omega", "omega": "-9.8*sin(theta) + u"}, ("u",), method="runge-kutta", time_step=0.05,
        angles={"theta": (-PI, PI)}, sensors={"c": "-cos(theta)", "s": "-sin(theta)", "omega": "omega"},
    )  # fmt: skip
    policy = _policy()
    found = pf.certify(policy, hanging, box=[[PI - 1.0, PI + 1.0], [-4.0, 4.0]], tolerance=0.1, max_cells=4000)
    assert found.share > 0.8
    found.save(tmp_path / "seam.pfcert")
    assert pf.check_certificate(tmp_path / "seam.pfcert", policy)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_a_model_of_sine_and_cosine_samples_has_the_angle_as_its_state(order: tuple[int, ...], tmp_path: Path) -> None:
    read = _policy()
    forest, box = read.forests[0], LIMITS[list(order)]
    arrays = dict(forest.arrays)
    place = np.array([order.index(d) for d in range(3)] + [-1])
    arrays["feature"] = np.where(arrays["feature"] >= 0, place[arrays["feature"]], -1).astype(arrays["feature"].dtype)
    arrays["coefficients"] = np.ascontiguousarray(arrays["coefficients"][:, [*order, 3]])
    parts = {name: arrays[name] for name in ("feature", "split", "child", "node_offsets", "coefficients")}
    moved = pf.Forest.from_arrays(**parts, box=box)
    policy = pf.Policy((moved,), Box(box[:, 0], box[:, 1], dtype=np.float64), read.action_space)
    sides = UPRIGHT if order[0] != 2 else UPRIGHT[::-1]
    found = pf.certify(policy, _samples(policy, order), box=sides, tolerance=0.1, max_cells=4000)
    assert found.model.state_names[sides.index(UPRIGHT[0])] == "angle(cos, sin)"
    assert found.share > 0.8
    assert "440 of 440 steps" in found.statement()
    found.save(tmp_path / "learned.pfcert")
    result = pf.check_certificate(tmp_path / "learned.pfcert", policy, found.model)
    assert result, result.reason
    if order[0] != 2:
        assert _stays(found, policy)


def test_what_is_wrong_with_sensors_is_named() -> None:
    policy = _policy()
    with pytest.raises(ValueError, match="sensors: c names u"):
        pf.Equations({"x": "x + u"}, ("u",), sensors={"c": "u"})
    with pytest.raises(ValueError, match="box: must have one row for each of the states theta, omega"):
        pf.certify(policy, PENDULUM, box=[[-1.0, 1.0]] * 3)
    with pytest.raises(ValueError, match="must be within the policy's box, as the sensors read it"):
        pf.certify(policy, PENDULUM, box=[[-1.0, 1.0], [-9.0, 9.0]])
    fewer = pf.Equations({"theta": "theta + u"}, ("u",), sensors={"c": "cos(theta)"})
    with pytest.raises(ValueError, match="model: has 1 states and 1 actions, must have 3 and 1"):
        pf.certify(policy, fewer, box=[[-1.0, 1.0]])


def test_sensors_are_stored_in_files() -> None:
    again = pf.Equations.from_settings(PENDULUM.settings())
    assert again == PENDULUM
    assert "sensors" not in pf.Equations({"x": "x + u"}, ("u",)).settings()


def test_a_16_bit_policy_reads_no_further_than_its_box() -> None:
    """A sensor may read more than the policy knows; all of that is the outermost cell, whose action does not follow."""
    policy, cell = linear_policy([1.0], LINE, 2.0), np.array([[1.1, 1.2]])
    (action,) = quantise(policy).act_batch([[1.15]])[0]
    assert action == pytest.approx(1.0, abs=1e-4)
    still = compile_equations(pf.Equations({"x": "x + 0*u"}, ("u",)))
    wide = np.array([[-9.0, 9.0]])
    loop = _core.ClosedLoop(native_policy(policy, "int16"), still, np.empty((0, 2)), [0.0], [0.0], wide, [], 1)
    ((low, high),) = loop.action_ranges(cell)
    assert low <= action <= high < 1.01
    form = unknown(np.array([1.15]), np.array([0.051]), 0, 1)
    (bound,) = RunningPolicy.of(policy, "int16").bound([form], cell[:, :1], cell[:, 1:], 1)
    low, high = (side[0] for side in bound.range())
    assert low <= action <= high < 1.01
