"""The studies of certificates: their cells, the kernel that they are compared with, the table and what is required."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR_GAINS, PLANE, car_certificate, grown_policy
from policyforest.paper import STUDIES, certificate_studies
from policyforest.paper.certified_trajectories import SetLookup, fresh_steps, simulate
from policyforest.paper.corrupted_certificates import (
    changed_files,
    has_gap,
    rejected_files,
    rejected_proofs,
    small_car,
)
from policyforest.paper.exhibits import certificate_table
from policyforest.paper.finished_cells import Cells
from stored import write_cell

RESULT = {
    "share": 0.9, "cells": 100, "leaves": 10, "steps": 1, "search_seconds": 2.0, "wall_seconds": 3.0, "peak_mb": 90.0,
    "accepted": True, "check_seconds": 1.0, "statement": "Started in the set, …",
}  # fmt: skip


def test_the_studies_have_their_cells() -> None:
    counts = {name: study.seeds["paper"] for name, study in certificate_studies.STUDIES.items()}
    assert counts["certificate-simulation"] * 50_000 == 10**6
    assert counts["certificate-cost"] == 16
    assert all(STUDIES[name] is study for name, study in certificate_studies.STUDIES.items())


def test_the_viability_kernel_holds_what_can_be_held() -> None:
    """From (p, v) the car stops within v² / 2, so states far beyond that are lost and those well within are not."""
    axis = np.linspace(-1.0, 1.0, 81)
    kernel = certificate_studies.viability_kernel(axis, 41)
    p, v = np.meshgrid(axis, axis, indexing="ij")
    assert kernel[(np.abs(p) < 0.5) & (np.abs(v) < 0.5)].all()
    assert not kernel[(p > 0.9) & (v > 0.6)].any()
    assert not kernel[(p < -0.9) & (v < -0.6)].any()
    assert (kernel == kernel[::-1, ::-1]).mean() > 0.99


def test_the_share_of_the_kernel_is_that_of_the_set() -> None:
    whole = pf.certify(
        grown_policy(CAR_GAINS, PLANE), pf.Equations({"p": "0.9*p", "v": "0.9*v + 0*u"}, ("u",)), box=PLANE
    )
    assert certificate_studies.kernel_share(whole, 101, 21) == pytest.approx(1.0, abs=0.05)


def test_a_lookup_agrees_with_the_certificate() -> None:
    found = car_certificate()
    lookup, rng = SetLookup(found, [[-0.1, 0.1]] * 2), np.random.default_rng(0)
    states = rng.uniform(-1.1, 1.1, (2000, 2))
    assert np.array_equal(lookup.outside(states), np.flatnonzero(~found.contains(states)))
    assert len(lookup.outside(lookup.draw(500, rng))) == 0


def test_changed_files_are_rejected_and_changed_proofs_where_a_plain_test_finds_a_gap(tmp_path: Path) -> None:
    policy, found = small_car()
    path = tmp_path / "car.pfcert"
    found.save(path)
    assert not has_gap(found, policy, np.random.default_rng(0))
    counts = rejected_files(path, policy, found.model, 40, np.random.default_rng(0))
    assert counts == {"corruptions": 40, "rejected": 40}
    counts = rejected_proofs(40, np.random.default_rng(1))
    assert counts["gaps"] + counts["others"] == 40
    assert counts["gaps"] == counts["gaps_rejected"] > 10


def test_a_change_of_white_space_is_no_change() -> None:
    text = b'{"a": 1}'
    whole = len(text).to_bytes(8, "little") + text + bytes(8)
    changes = changed_files(whole, np.random.default_rng(0))
    assert all(next(changes)[8:16] not in (b'{"a":\t1}', b'{"a":\n1}') for _ in range(3000))


def test_a_simulation_counts_steps_beyond_the_bound() -> None:
    problem = gym.make("policyforest/DoubleIntegrator-v0").unwrapped
    data = pf.sample_uniform(problem, 400, seed=0)
    policy = grown_policy((-0.6, -1.2), PLANE)
    for error, expected in ((1e-6, 0.0), (0.0, 1.0)):
        found = pf.certify(policy, data, box=PLANE, error=error, tolerance=0.1)
        assert found
        counts = simulate(found, policy, problem, 200, 20, np.random.default_rng(0), [[-0.1, 0.1]] * 2)
        assert counts["beyond"] == pytest.approx(expected * counts["simulated"], abs=0.05 * counts["simulated"])
        assert counts["beyond_first"] == pytest.approx(expected * 200, abs=10)
        assert counts["left_within"] == 0
        assert fresh_steps(found, data) == {"fresh": 400, "fresh_beyond": 0 if expected == 0.0 else 400}


def test_rows_of_pendulums_move_as_single_ones() -> None:
    problem = gym.make("policyforest/InvertedPendulum6kg-v0").unwrapped
    rng = np.random.default_rng(0)
    states, actions = rng.uniform([-1.5, -5], [1.5, 5], (1003, 2)), rng.uniform(-50, 50, (1003, 1))
    noise = problem.draw_noise(rng, 1003)
    expected, _, _ = problem.system.step_many(states, actions, noise)
    assert np.abs(problem.system.step_rows(states, actions, noise) - expected).max() < 1e-12
    with pytest.raises(ValueError, match="faster than 10 rad/s"):
        problem.system.step_rows(np.array([[0.0, 11.0]]), np.zeros((1, 1)), np.zeros((1, 1)))


def test_the_regulator_balances_the_linearised_cart_pole() -> None:
    problem = certificate_studies.CartPoleSwingUp()
    a, b = certificate_studies._linearised(problem)
    gain = certificate_studies._regulator(a, b)
    assert np.abs(np.linalg.eigvals(a)).max() > 1.3
    assert np.abs(np.linalg.eigvals(a - b @ gain)).max() < 0.95


def test_the_table_judges_what_is_required(tmp_path: Path) -> None:
    write_cell(tmp_path, "certificate-double-integrator", 0, RESULT | {"kernel_share": 0.6})
    write_cell(tmp_path, "certificate-double-integrator", 1, RESULT | {"kernel_share": 0.4})
    write_cell(tmp_path, "certificate-pendulum-6kg", 0, RESULT | {"contains": True})
    changed = {"corruptions": 10_000, "rejected": 10_000, "resealed": 100}
    changed |= {"gaps": 60, "gaps_rejected": 60, "others": 40, "others_rejected": 12}
    write_cell(tmp_path, "certificate-corruptions", 0, RESULT | changed)
    counts = {"beyond": 3, "beyond_first": 1, "left_within": 1, "left_beyond": 0, "starts": 10, "simulated": 1000}
    counts |= {"fresh": 100, "fresh_beyond": 1, "stated_share": 0.98}
    write_cell(tmp_path, "certificate-simulation", 0, RESULT | counts)
    rows = {row[0]: row[-1] for row in certificate_table.rows(Cells(tmp_path))[1]}
    assert "not met by 1 so far (40 to 60% of the kernel)" in rows["Double Integrator"]
    assert rows["Pendulum 6 kg, ±10 N"].endswith("met so far")
    assert rows["changed files"] == (
        "all rejected: met (10,000 of 10,000; with the digests computed again, 60 of 60 that a simple test shows to be "
        "false, and 12 of 40 others)"
    )
    assert (
        "not met by 1 so far (10 starts, 1,000 steps, 1 left the set within the bound; beyond the bound: 0.3000% of "
        "the steps, 10% of the first steps, 1% of 100 new steps like the held-out steps; stated: at most 2%)"
    ) in rows["true pendulum, simulated"]
    assert rows["one tree, int16"] == "accepted as exported: no cells"


def test_a_cell_of_costs_is_proved_and_accepted() -> None:
    result = certificate_studies.cost(1)
    assert result["accepted"]
    assert result["dimensions"] == 1
    assert 0.5 < result["share"] < 0.9
