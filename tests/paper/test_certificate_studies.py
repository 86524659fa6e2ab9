"""The studies of certificates: their cells, the kernel that they are compared with, the table and what is required."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import policyforest as pf
from certified_loops import CAR_GAINS, PLANE, car_certificate, grown_policy
from policyforest.paper import STUDIES, certificate_studies
from policyforest.paper.certified_trajectories import SetLookup, simulate
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
    lookup, rng = SetLookup(found), np.random.default_rng(0)
    states = rng.uniform(-1.1, 1.1, (2000, 2))
    assert np.array_equal(lookup.inside(states), found.contains(states))
    assert lookup.inside(lookup.draw(500, rng)).all()


def test_a_simulation_counts_steps_beyond_the_bound() -> None:
    problem = gym.make("policyforest/DoubleIntegrator-v0").unwrapped
    data = pf.sample_uniform(problem, 400, seed=0)
    policy = grown_policy((-0.6, -1.2), PLANE)
    for error, expected in ((1e-6, 0.0), (0.0, 1.0)):
        found = pf.certify(policy, data, box=PLANE, error=error, tolerance=0.1)
        assert found
        counts = simulate(found, policy, problem, 200, 20, np.random.default_rng(0))
        assert counts["beyond"] == pytest.approx(expected * counts["simulated"], abs=0.05 * counts["simulated"])
        assert counts["left_within"] == 0


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
    write_cell(tmp_path, "certificate-corruptions", 0, RESULT | {"corruptions": 10_000, "rejected": 10_000})
    counts = {"beyond": 3, "left_within": 1, "left_beyond": 0, "starts": 10, "simulated": 1000}
    write_cell(tmp_path, "certificate-simulation", 0, RESULT | counts)
    rows = {row[0]: row[-1] for row in certificate_table.rows(Cells(tmp_path))[1]}
    assert "not met by 1 so far (40 to 60% of the kernel)" in rows["Double Integrator"]
    assert rows["Pendulum 6 kg, ±10 N"].endswith("met so far")
    assert rows["changed files"] == "all rejected: met (10,000 of 10,000)"
    assert (
        "not met by 1 so far (10 starts, 1,000 steps, 0.3000% beyond the bound, 1 left within it)"
        in rows["true pendulum, simulated"]
    )
    assert rows["one tree, int16"] == "accepted as exported: no cells"


def test_a_cell_of_costs_is_proved_and_accepted() -> None:
    result = certificate_studies.cost(1)
    assert result["accepted"]
    assert result["dimensions"] == 1
    assert 0.5 < result["share"] < 0.9
