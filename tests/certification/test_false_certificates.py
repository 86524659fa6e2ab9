"""Files with right digests that say more than they prove: each is rejected for its own reason."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR, CAR_GAINS, LINE, PLANE, car_certificate, grown_policy, linear_policy, resealed
from policyforest._support.signals import Actuators, Signals
from policyforest.certification.certificate_files import load_certificate
from policyforest.certification.certified_model import model_to_certify
from policyforest.certification.checker.cover import disjoint
from policyforest.certification.checker.trees import forest_bounds
from policyforest.certification.digests import policy_digest
from policyforest.policy.float32_policy import Float32Policy

POLICY = grown_policy(CAR_GAINS, PLANE)
PI = float(np.pi)
TURN = {0: (-PI, PI)}
Change = Callable[[dict[str, Any], dict[str, Any]], None]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "car.pfcert"
    car_certificate(max_cells=3000).save(path)
    return path


def _clause(within: int, steps: int, share: float) -> Change:
    def change(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        content["clause"] = {"within": within, "steps": steps, "confidence": 0.99, "share": share}

    return change


def _cells_twice(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Cells that no successor meets, four times each: the share of the box grows, and nothing else changes."""
    lo, hi = arrays["cells"][:, :2], arrays["cells"][:, 2:]
    low, high = arrays["successors"][:, :2], arrays["successors"][:, 2:]
    met = ((low[:, None] < hi) & (high[:, None] > lo)).all(axis=2).any(axis=0)
    assert (~met).sum() > 50
    for name in ("cells", "successors", "ranks"):
        arrays[name] = np.concatenate([arrays[name], *[arrays[name][~met]] * 3])


def _unknown_name(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["formulas"]["p"] = "p + 0.2*v + 0*friction"


def _names_of_others(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["state_names"] = ["v", "p"]


def _constant_action(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["parameters"] = {"u": 0.0}


def _not_finite(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["slack"] = np.array([np.inf, 0.0])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_clause(0, 100, 0.99), "its clause states more than its numbers show"),
        (_clause(0, 0, 0.5), "its clause states more than its numbers show"),
        (_clause(100, 100, 1.0), "its clause states more than its numbers show"),
        (_cells_twice, "two cells overlap"),
        (_unknown_name, "which cannot be checked"),
        (_names_of_others, "its names are not those of its formulas"),
        (_constant_action, "two of its names are the same"),
        (_not_finite, "its slack holds a number that is not finite"),
    ],
)
def test_what_says_more_than_it_proves_is_rejected(change: Change, reason: str, saved: Path, tmp_path: Path) -> None:
    result = pf.check_certificate(resealed(saved, tmp_path / "false.pfcert", change), POLICY)
    assert not result
    assert reason in result.reason


def test_a_policy_with_actuators_is_not_the_one_that_was_certified(saved: Path) -> None:
    dead = replace(POLICY, signals=Signals(("p", "v"), ("u",), actuators=Actuators(dead_zone=(0.5,))))
    assert "history or actuators" in pf.check_certificate(saved, dead).reason
    for policy in (dead, dead.astype("float32")):
        with pytest.raises(ValueError, match="policy: has signals"):
            pf.certify(policy, CAR, box=PLANE, disturbance=0.02)


def test_a_policy_in_float32_needs_a_certificate_of_float32(tmp_path: Path) -> None:
    single, path = POLICY.astype("float32"), tmp_path / "single.pfcert"
    assert isinstance(single, Float32Policy)
    for policy, accepted in ((single, True), (single.rounded, False)):
        pf.certify(policy, CAR, box=PLANE, disturbance=0.02, tolerance=0.2).save(path)
        assert pf.check_certificate(path, policy)
        result = pf.check_certificate(path, single)
        assert bool(result) == accepted
    assert result.reason == "it is about a policy that does not run in float32"


def test_ranks_that_are_not_whole_numbers_are_rejected(tmp_path: Path) -> None:
    """With a rank of one half a cell outside of the target would reach it after 0 steps."""
    line, path = linear_policy([0.0], LINE), tmp_path / "target.pfcert"
    pf.certify(line, pf.Equations({"x": "0.5*x + 0*u"}, ("u",)), box=LINE, target=[[-0.1, 0.1]]).save(path)

    def halves(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        kept = arrays["ranks"] <= 1
        for name in ("cells", "successors", "ranks"):
            arrays[name] = arrays[name][kept]
        arrays["ranks"] = arrays["ranks"] / 2

    result = pf.check_certificate(resealed(path, tmp_path / "false.pfcert", halves), line)
    assert result.reason == "its ranks are not whole numbers"


def test_a_policy_of_more_states_than_the_cells_is_rejected(tmp_path: Path) -> None:
    """Its third weight would be read as the constant of a leaf of two states."""
    two, three = linear_policy([-1.5, -2.0], PLANE), linear_policy([-1.5, -2.0, 0.0], [[-1.0, 1.0]] * 3)
    path = tmp_path / "two.pfcert"
    pf.certify(two, CAR, box=PLANE, disturbance=0.02, tolerance=0.1).save(path)

    def for_three(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        content["policy_digest"] = policy_digest(three, "float64")

    result = pf.check_certificate(resealed(path, tmp_path / "false.pfcert", for_three), three)
    assert result.reason == "its model has other states than the policy"


def test_states_and_sensors_in_another_order_are_another_model(tmp_path: Path) -> None:
    """Digests of formulas do not depend on their order."""
    policy = linear_policy([-0.5, -0.5], PLANE)
    system = pf.Equations(
        {"x": "0.5*x + 0.1*u", "y": "0.5*y + 0.1*u"}, ("u",), sensors={"second": "y", "first": "x"}
    )  # fmt: skip
    path = tmp_path / "ordered.pfcert"
    pf.certify(policy, system, box=PLANE, tolerance=0.1).save(path)
    assert pf.check_certificate(path, policy, system)

    def exchanged(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        told = content["model"]["equations"]
        told["sensors"] = dict(reversed(told["sensors"].items()))

    false = resealed(path, tmp_path / "false.pfcert", exchanged)
    assert load_certificate(false).model.digest() == load_certificate(path).model.digest()
    assert pf.check_certificate(false, policy, system).reason == "it belongs to another model"


def test_smaller_disturbances_than_those_of_the_model_are_rejected(saved: Path) -> None:
    for size, accepted in ((0.01, True), (0.02, True), (0.03, False)):
        result = pf.check_certificate(saved, POLICY, model_to_certify(CAR, disturbance=size))
        assert bool(result) == accepted
    assert result.reason == "it is proved for smaller disturbances than the model has"
    assert pf.check_certificate(saved, POLICY, CAR)
    with pytest.raises(TypeError, match="model: is 'car', must be Equations"):
        pf.check_certificate(saved, POLICY, "car")


def _samples(seed: int = 0) -> pf.Transitions:
    rng = np.random.default_rng(seed)
    states, actions = rng.uniform(-1, 1, (600, 2)), rng.uniform(-1, 1, (600, 1))
    after = states + 0.2 * np.hstack([states[:, 1:], actions]) + rng.uniform(-0.01, 0.01, (600, 2))
    return pf.Transitions(
        states, actions, np.zeros(600), after, np.zeros(600, dtype=bool), np.arange(600) // 20,
        action_space=POLICY.action_space, observation_space=POLICY.observation_space, outside="keep",
    )  # fmt: skip


def test_held_out_steps_are_counted_again_where_they_are_known(tmp_path: Path) -> None:
    """A forger takes a bound of nearly zero, and claims that all held-out steps were within it."""
    path, data, box = tmp_path / "learned.pfcert", _samples(), 0.9 * np.array(PLANE)
    pf.certify(POLICY, data, box=box, tolerance=0.1).save(path)
    assert pf.check_certificate(path, POLICY, model_to_certify(data))
    pf.certify(POLICY, data, box=box, tolerance=0.1, error=1e-6).save(path)

    def all_of_them(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        content["clause"] |= {"within": content["clause"]["steps"], "share": 0.97}

    false = resealed(path, tmp_path / "false.pfcert", all_of_them)
    assert pf.check_certificate(false, POLICY)  # nothing in the file shows it
    result = pf.check_certificate(false, POLICY, model_to_certify(data))
    assert result.reason == "its clause differs from the held-out steps: 0 of 180 are within its bound"


def test_a_state_that_is_no_angle_is_refused_and_rejected(tmp_path: Path) -> None:
    """x' = 2 x leaves every set; as an angle of [-1, 1] it would stay in the whole turn."""
    line = linear_policy([0.0], LINE)
    doubling = pf.Equations({"x": "2*x + 0*u"}, ("u",))
    angle = replace(doubling, angles={"x": (-1.0, 1.0)})
    assert not pf.certify(line, doubling, box=LINE)
    with pytest.raises(ValueError, match=r"angles: x is \(-1\.0, 1\.0\), but adding a turn of 2 changes"):
        pf.certify(line, replace(doubling, formulas={"x": "2.5*x + 0*u"}, angles=angle.angles), box=LINE)
    path = tmp_path / "line.pfcert"
    pf.certify(line, pf.Equations({"x": "0.5*x + 0*u"}, ("u",)), box=LINE).save(path)

    def an_angle(content: dict[str, Any], arrays: dict[str, Any]) -> None:
        content["model"]["equations"]["formulas"]["x"] = "2.5*x + 0*u"
        content["model"]["equations"]["angles"] = {"x": [-1.0, 1.0]}
        arrays["successors"] = np.tile([-10.0, 10.0], (len(arrays["cells"]), 1))

    result = pf.check_certificate(resealed(path, tmp_path / "false.pfcert", an_angle), line)
    assert result.reason == "state 0 is not an angle of its model, which changes after a whole turn"


def test_a_policy_that_does_not_read_an_angle_as_one_keeps_to_its_turn(tmp_path: Path) -> None:
    """Beyond the end of the turn it would be asked for other states than a sensor of angles gives."""
    rod = pf.Equations({"theta": "theta - 0.3*sin(theta - pi) + 0*u"}, ("u",), angles={"theta": TURN[0]})
    box = [[PI - 1.0, PI + 1.0]]
    known = [[-5.0, 5.0]]
    with pytest.raises(ValueError, match="policy: does not read theta as an angle"):
        pf.certify(linear_policy([0.0], known), rod, box=box)
    with pytest.raises(ValueError, match="policy: does not read theta as an angle"):
        pf.certify(linear_policy([0.0], known), rod, box=[[-PI, PI]], steps=2)
    assert pf.certify(linear_policy([0.0], known), rod, box=[[-PI, PI]])
    path = tmp_path / "rod.pfcert"
    for steps in (1, 2):
        policy = linear_policy([0.0], known, periodic=TURN)
        pf.certify(policy, rod, box=box if steps == 1 else [[-PI, PI]], steps=steps).save(path)
        assert pf.check_certificate(path, policy)
        plain = replace(policy, periodic={})

        def without(content: dict[str, Any], arrays: dict[str, Any], plain: pf.Policy = plain) -> None:
            content["policy_digest"] = policy_digest(plain, "float64")

        result = pf.check_certificate(resealed(path, tmp_path / "false.pfcert", without), plain)
        assert result.reason == "state 0 is an angle, but not for the policy"


def test_a_learned_model_has_no_seam_either(tmp_path: Path) -> None:
    """Its forest reads the angle itself: beyond the end of the turn that is the angle at its beginning."""
    rng = np.random.default_rng(0)
    policy = linear_policy([0.0], [[-PI, PI]], periodic=TURN)
    theta, force = rng.uniform(-PI, PI, 2000), rng.uniform(-1, 1, 2000)
    from_back = (theta % (2 * PI)) - PI
    after = theta - 0.3 * np.sign(from_back) * (np.abs(from_back) < 0.8) + 0.05 * force
    data = pf.Transitions(
        theta[:, None], force[:, None], np.zeros(2000), ((after + PI) % (2 * PI) - PI)[:, None],
        np.zeros(2000, dtype=bool), np.arange(2000) // 20, action_space=policy.action_space,
        observation_space=policy.observation_space, periodic=TURN,
    )  # fmt: skip
    found = pf.certify(policy, data, box=[[PI - 0.7, PI + 0.7]], coverage=0.9)
    step = found.model.learned
    assert step is not None
    assert step.forests[0] is not None
    states = np.linspace(PI + 0.1, PI + 1.0, 20)[:, None]
    here, turned = step.step(states, np.zeros((20, 1))), step.step(states - 2 * PI, np.zeros((20, 1)))
    np.testing.assert_allclose(here, turned + 2 * PI, atol=1e-9)
    assert found.share == 1.0
    found.save(tmp_path / "back.pfcert")
    assert pf.check_certificate(tmp_path / "back.pfcert", policy, found.model)


def test_a_tree_with_a_child_of_two_nodes_is_refused() -> None:
    box = np.array([[0.0], [1.0]])
    arrays = {
        "feature": np.array([0, 0, 0, -1, -1, -1, -1], dtype=np.int32),
        "split": np.array([0.5, 0.2, 0.8, 1.0, 2.0, 3.0, 4.0]),
        "child": np.array([1, 3, 3, 0, 1, 2, 3], dtype=np.int32),
        "node_offsets": np.array([0, 7]),
        "leaf_offsets": np.array([0, 4]),
        "coefficients": np.empty((0, 0)),
    }
    with pytest.raises(ValueError, match="two nodes of a tree have the same child"):
        forest_bounds(arrays, box[:1], box[1:])


def test_overlaps_of_many_cells_are_found() -> None:
    side = np.linspace(0.0, 1.0, 11)
    lo = np.array([(x, y) for x in side[:-1] for y in side[:-1]])
    hi = lo + 0.1
    hi = np.where(np.isclose(hi, np.round(hi, 1)), np.round(hi, 1), hi)
    lo = np.round(lo, 1)
    assert disjoint(lo, hi)
    for cell in (0, 37, 99):
        larger = hi.copy()
        larger[cell] += 0.01
        assert disjoint(lo, larger) == (cell == 99)
        assert not disjoint(np.vstack([lo, lo[cell]]), np.vstack([hi, hi[cell]]))


def test_the_words_never_round_up() -> None:
    from policyforest.certification.model_error import ErrorClause
    from policyforest.certification.modest_numbers import at_least, at_most, percent

    assert "at least 99.99% with 99% confidence" in ErrorClause(10**6, 10**6, 0.99, 0.999995).words()
    assert (percent(0.98567), percent(1.0), percent(0.0), percent(0.31951, 1)) == (
        "98.56%",
        "100.00%",
        "0.00%",
        "31.9%",
    )
    assert (at_most(0.1), at_least(0.1), at_most(0.0), at_most(0.0125999999)) == ("0.1", "0.1", "0", "0.0125999")
    assert (at_least(PI), at_most(PI), at_most(-PI)) == ("3.1416", "3.14159", "-3.1416")
    noise = 0.0123456789
    found = car_certificate(disturbance=noise, tolerance=0.3)
    assert "w in [-0.0123456, 0.0123456]" in found.statement()
