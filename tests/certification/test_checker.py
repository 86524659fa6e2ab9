"""The checker accepts what the search proves, rejects whatever was changed, and shares no code with the search."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR, CAR_GAINS, LINE, PLANE, car_certificate, grown_policy, linear_policy, resealed
from policyforest.certification.certificate_files import load_certificate
from policyforest.certification.checker.cover import all_covered
from policyforest.certification.checker.trees import forest_bounds
from policyforest.certification.model_error import ErrorClause
from tampering import with_number, with_text

ROOT = Path(pf.__file__).parent / "certification"
SEARCH = ("search", "moves", "step_compiler", "counterexamples", "certified_policy", "certified_model", "learned_step")
POLICY = grown_policy(CAR_GAINS, PLANE)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates") / "car.pfcert"
    car_certificate(max_cells=3000).save(path)
    return path


def _learned(bump: float = 0.0, **more: object) -> pf.Certificate:
    """On a model learned from samples; with a bump, which is no polynomial, its forest has many leaves."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (600, 2))
    actions = rng.uniform(-1, 1, (600, 1))
    after = (
        states
        + 0.2 * np.hstack([states[:, 1:], actions + 0.3 * states[:, :1] ** 2])
        + rng.uniform(-0.01, 0.01, (600, 2))
        + bump * (np.abs(states[:, :1]) < 0.4) * [0.0, 1.0]
    )
    data = pf.Transitions(
        states, actions, np.zeros(600), after, np.zeros(600, dtype=bool), np.arange(600) // 20,
        action_space=POLICY.action_space, observation_space=POLICY.observation_space, outside="keep",
    )  # fmt: skip
    return pf.certify(POLICY, data, **({"box": 0.9 * np.array(PLANE), "tolerance": 0.05} | more))


def test_the_checker_accepts_a_proof(saved: Path) -> None:
    result = pf.check_certificate(saved, POLICY, load_certificate(saved).model)
    assert result, result.reason
    assert result.cells == len(load_certificate(saved).cells)


@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_the_checker_accepts_other_arithmetics(precision: str, tmp_path: Path) -> None:
    path = tmp_path / "car.pfcert"
    car_certificate(precision=precision, tolerance=0.05).save(path)
    assert pf.check_certificate(path, POLICY)
    if precision == "float32":
        assert not pf.check_certificate(path, POLICY.astype("float32").rounded.simplify(3))


@pytest.mark.parametrize("bump", [0.0, 0.04])
def test_the_checker_accepts_a_learned_model_with_its_forest(bump: float, tmp_path: Path) -> None:
    found = _learned(bump, tolerance=0.1)
    assert any(name.startswith("model.forest") for name in found.model.arrays()) == (bump > 0.0)
    assert found.share > 0.05
    found.save(tmp_path / "learned.pfcert")
    result = pf.check_certificate(tmp_path / "learned.pfcert", POLICY, found.model)
    assert result, result.reason
    assert "on held-out data 180 of 180 steps did (at least 97.47% with 99% confidence" in found.statement()


def test_the_checker_accepts_targets_angles_and_moves_of_several_steps(tmp_path: Path) -> None:
    pi = float(np.pi)
    halving = pf.Equations({"x": "0.5*x + 0*u"}, ("u",))
    pulled = pf.Equations({"theta": "theta - 0.3*sin(theta - pi) + 0*u"}, ("u",), angles={"theta": (-pi, pi)})
    turning = pf.Equations({"theta": "theta + 2.5 + 0*u"}, ("u",), angles={"theta": (-pi, pi)})
    rod = linear_policy([1.0], [[-pi, pi]], periodic={0: (-pi, pi)})
    line = linear_policy([0.0], LINE)
    for policy, certificate in (
        (line, pf.certify(line, halving, box=LINE, target=[[-0.1, 0.1]])),
        (rod, pf.certify(rod, pulled, box=[[pi - 1, pi + 1]])),
        (rod, pf.certify(rod, turning, box=[[-pi, pi]])),
        (POLICY, pf.certify(POLICY, CAR, box=PLANE, start=[[-0.3, 0.3]] * 2, disturbance=0.01, steps=4)),
    ):
        assert certificate
        certificate.save(tmp_path / "some.pfcert")
        result = pf.check_certificate(tmp_path / "some.pfcert", policy)
        assert result, result.reason


def test_another_policy_or_model_is_rejected(saved: Path) -> None:
    other = grown_policy(CAR_GAINS, PLANE, seed=1)
    assert pf.check_certificate(saved, other).reason == "it belongs to another policy"
    heavier = pf.Equations({"p": "p + 0.2*v", "v": "v + 0.19*u + w"}, ("u",), ("w",))
    model = replace(load_certificate(saved).model, equations=heavier)
    assert pf.check_certificate(saved, POLICY, model).reason == "it belongs to another model"


def test_random_changes_of_any_number_are_rejected(saved: Path, tmp_path: Path) -> None:
    """Bits of the arrays and of the text. The study of certificates changes 10,000 of them."""
    whole, path = saved.read_bytes(), tmp_path / "changed.pfcert"
    rng = np.random.default_rng(0)
    for _ in range(300):
        content = bytearray(whole)
        content[rng.integers(8, len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        assert not pf.check_certificate(path, POLICY)


CHANGES: dict[str, Callable[[pf.Certificate], pf.Certificate]] = {
    "the cell at rest is left out": lambda c: _kept(c, ~((c.cells[:, :2] < 0) & (c.cells[:, 2:] >= 0)).all(axis=1)),
    "a cell is larger": lambda c: replace(c, cells=_moved(c.cells, 3, 0.01)),
    "a successor is smaller": lambda c: replace(c, successors=_moved(c.successors, 3, -0.01)),
    "a successor is larger": lambda c: replace(c, successors=_moved(c.successors, 3, 3.0)),
    "the disturbance is larger": lambda c: replace(c, model=replace(c.model, disturbance=np.array([[-0.2, 0.2]]))),
    "a disturbance has its sides exchanged": lambda c: replace(
        c, model=replace(c.model, disturbance=np.array([[0.001, -0.001]]))
    ),
    "a disturbance is not a number": lambda c: replace(c, model=replace(c.model, disturbance=np.array([[np.nan, 0]]))),
    "a cell is not a number": lambda c: replace(c, cells=_moved(c.cells, 3, np.nan)),
    "a successor is not a number": lambda c: replace(c, successors=_moved(c.successors, 3, np.nan)),
    "the box is not a number": lambda c: replace(c, box=c.box * np.nan),
    "the error is not a number": lambda c: replace(c, model=replace(c.model, error=np.array([np.nan, 0.0]))),
    "the error is negative": lambda c: replace(c, model=replace(c.model, error=np.array([-0.01, 0.0]))),
    "the error is larger": lambda c: replace(c, model=replace(c.model, error=np.array([0.05, 0.05]))),
    "the policy is of another arithmetic": lambda c: replace(c, precision="int16"),
    "a move has more steps": lambda c: replace(c, steps=2),
    "it has no cells": lambda c: replace(c, cells=c.cells[:0], successors=c.successors[:0], ranks=c.ranks[:0]),
    "it claims a target": lambda c: replace(c, target=np.array([[-0.1, 0.1], [-0.1, 0.1]])),
    "a rank is wrong": lambda c: replace(c, ranks=c.ranks + 1),
    "the box is smaller": lambda c: replace(c, box=c.box * 0.5, start=c.start * 0.5),
    "the box leaves the policy's": lambda c: replace(c, box=c.box * 2),
    "a clause claims too much": lambda c: replace(c, model=replace(c.model, clause=ErrorClause(90, 100, 0.99, 0.9))),
    "the system is another one": lambda c: replace(c, model=replace(c.model, equations=pf.Equations(
        {"p": "p + 0.3*v", "v": "v + 0.2*u + w"}, ("u",), ("w",)))),
}  # fmt: skip


def _kept(c: pf.Certificate, rows: np.ndarray) -> pf.Certificate:
    return replace(c, cells=c.cells[rows], successors=c.successors[rows], ranks=c.ranks[rows])


def _moved(rows: np.ndarray, column: int, by: float) -> np.ndarray:
    changed = rows.copy()
    changed[:, column] += by
    return changed


@pytest.mark.parametrize("change", CHANGES)
def test_a_false_certificate_with_right_digests_is_rejected(change: str, saved: Path, tmp_path: Path) -> None:
    """Saved again after the change, so that all digests fit: the proof itself must fail."""
    CHANGES[change](load_certificate(saved)).save(tmp_path / "false.pfcert")
    result = pf.check_certificate(tmp_path / "false.pfcert", POLICY)
    assert not result
    assert "digest" not in result.reason


def test_a_certificate_of_another_version_is_rejected_in_words(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "later.pfcert"
    path.write_bytes(with_text(saved.read_bytes(), lambda content: content.update(version=2)))
    assert "format version 2" in pf.check_certificate(path, POLICY).reason
    with pytest.raises(ValueError, match="reads version 1"):
        pf.load_certificate(path)


def test_a_changed_file_cannot_be_loaded(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed.pfcert"
    path.write_bytes(with_number(saved.read_bytes(), "cells", 0, 0.25))
    with pytest.raises(ValueError, match="the file was changed or damaged"):
        pf.load_certificate(path)
    with pytest.raises(FileNotFoundError):
        pf.check_certificate(tmp_path / "none.pfcert", POLICY)


def test_a_loaded_certificate_is_the_saved_one(tmp_path: Path) -> None:
    for found in (car_certificate(max_cells=1000), _learned(tolerance=0.2)):
        found.save(tmp_path / "one.pfcert")
        again = pf.load_certificate(tmp_path / "one.pfcert")
        assert again.summary() == found.summary()
        assert np.array_equal(again.cells, found.cells)
        assert again.model.digest() == found.model.digest()
    with pytest.raises(ValueError, match=r"must end in \.pfcert"):
        found.save(tmp_path / "one.txt")


def test_the_checker_imports_nothing_of_the_search() -> None:
    for path in (ROOT / "checker").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not any(name == f"policyforest.certification.{part}" for part in SEARCH), (path, name)
                assert "_core" not in name, (path, name)


def _zero_turn(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["angles"] = {"p": [0.0, 0.0]}


def _endless_turn(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["angles"] = {"p": [-1e308, 1e308], "v": [-1e308, 1e308]}


def _many_substeps(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["substeps"] = 10**9


def _code(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["formulas"]["p"] = "__import__('os').getcwd()"


def _sensor_that_does_not_depend(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["model"]["equations"]["sensors"] = {"p": "0*p", "v": "0*v"}


def _one_dimension_less(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    for name in ("cells", "successors"):
        arrays[name] = arrays[name][:, :2]


def _half_a_clause(content: dict[str, Any], arrays: dict[str, Any]) -> None:
    content["clause"] = {"within": 5, "steps": 5, "confidence": -5.0, "share": 1.0}


@pytest.mark.parametrize(
    "change",
    [
        _zero_turn, _endless_turn, _many_substeps, _code, _sensor_that_does_not_depend, _one_dimension_less,
        _half_a_clause,
    ],
)  # fmt: skip
def test_hostile_files_with_right_digests_are_rejected(
    change: Callable[[dict[str, Any], dict[str, Any]], None], saved: Path, tmp_path: Path
) -> None:
    assert not pf.check_certificate(resealed(saved, tmp_path / "hostile.pfcert", change), POLICY)


def test_trees_whose_nodes_are_out_of_order_are_refused() -> None:
    arrays = {name: np.array(array) for name, array in POLICY.forests[0].arrays.items()}
    box = np.array(POLICY.forests[0].box)
    assert np.isfinite(forest_bounds(arrays, box[None, :, 0], box[None, :, 1]).low).all()
    arrays["child"][0] = 0  # the root is its own child
    with pytest.raises(ValueError, match="children that do not come after their parents"):
        forest_bounds(arrays, box[None, :, 0], box[None, :, 1])


def test_a_box_without_finite_sides_is_not_covered() -> None:
    cells = np.zeros((1, 2)), np.ones((1, 2))
    boxes = np.array([[0.5, np.nan], [0.5, 0.5]]), np.array([[0.6, 0.6], [0.6, 0.6]])
    assert all_covered(cells, boxes).tolist() == [False, True]
