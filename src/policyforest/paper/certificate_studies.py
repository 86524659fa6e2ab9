"""Certificates of closed loops: the proofs, checks and simulations in a cell of each study."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.certification.certificate import Certificate
from policyforest.certification.checker.check import check_certificate
from policyforest.certification.equations import Equations
from policyforest.certification.search import certify
from policyforest.certification.set_pictures import set_on_grid
from policyforest.environments.collection import collect
from policyforest.environments.problems.cart_pole import CartPoleSwingUp
from policyforest.environments.problems.double_integrator import DoubleIntegrator
from policyforest.environments.problems.native import NativeProblem
from policyforest.forest.growing import grow_forest
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.paper.certified_trajectories import fresh_steps, simulate
from policyforest.paper.corrupted_certificates import rejected_files, rejected_proofs
from policyforest.paper.planning_studies import forget_peak_memory, peak_memory
from policyforest.paper.studies import Short, Study
from policyforest.policy.policy import Policy

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
PENDULUM_BOX = ((-np.pi / 2, np.pi / 2), (-2.0, 2.0))
LEARNED_BOX = ((-1.0, 1.0), (-1.9, 1.9))
"""A random policy seldom gives samples outside this box"""
UPRIGHT = ((-0.1, 0.1), (-0.3, 0.3))
SAMPLES = 1_000
SCALED = 0.05
CORRUPTIONS, RESEALED = 10_000, 2_000
FRESH = 5_000
NOISE = 0.2


@dataclass(frozen=True, eq=False)
class ProvedCell:
    """A certificate, its policy, and its size and cost."""

    policy: Policy
    certificate: Certificate
    result: dict[str, Any]


def proved(policy: Policy, model: Any, **settings: Any) -> ProvedCell:
    """Searches, saves and checks a certificate."""
    forget_peak_memory()
    cpu, wall = time.process_time(), time.monotonic()
    found = certify(policy, model, n_jobs=2, **settings)
    result: dict[str, Any] = {
        "share": found.share,
        "cells": len(found.cells),
        "leaves": policy.n_leaves,
        "steps": found.steps,
        "search_seconds": time.process_time() - cpu,
        "wall_seconds": time.monotonic() - wall,
        "peak_mb": peak_memory(),
        "accepted": False,
        "check_seconds": 0.0,
        "statement": found.statement(),
    }
    if found:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "found.pfcert"
            found.save(path)
            cpu = time.process_time()
            result["accepted"] = bool(check_certificate(path, policy, found.model))
            result["check_seconds"] = time.process_time() - cpu
    return ProvedCell(policy, found, result)


def learned_policy(problem: str, seed: int, discount: float, **samples: Any) -> tuple[Policy, Any]:
    """Our policy of 50 trees with linear leaves, and the samples that it was learned from."""
    data = collect(gym.make(problem), **samples, seed=seed)
    return FittedPolicyForest(random_state=seed).fit(FittedQIteration(discount, random_state=seed).fit(data)), data


def double_integrator(seed: int) -> dict[str, Any]:
    """A cell: the share of the viability kernel that is certified."""
    policy, _ = learned_policy("policyforest/DoubleIntegrator-v0", seed, 0.98, episodes=200)
    made = proved(policy, DoubleIntegrator(), box=((-1.0, 1.0), (-1.0, 1.0)))
    return made.result | {"kernel_share": kernel_share(made.certificate)}


def kernel_share(certificate: Certificate, points: int = 401, controls: int = 81) -> float:
    """The share of the Double Integrator's viability kernel that a set covers; the kernel is computed on a grid, with
    many controls tried at each point."""
    axis = np.linspace(-1.0, 1.0, points)
    kernel = viability_kernel(axis, controls)
    half = (axis[1] - axis[0]) / 2
    edges = np.concatenate([axis - half, [axis[-1] + half]])
    inside = set_on_grid(certificate, (0, 1), np.zeros(2), [edges, edges])
    return float((inside.T & kernel).sum() / kernel.sum())


def viability_kernel(axis: Floats, controls: int) -> NDArray[np.bool_]:
    """Points (p, v) of a grid from which some control keeps the Double Integrator on the grid for ever."""
    p, v, a = np.meshgrid(axis, axis, np.linspace(-1.0, 1.0, controls), indexing="ij", sparse=True)
    spacing = axis[1] - axis[0]
    ahead = np.rint((p + 0.5 * v + 0.1125 * a + 1.0) / spacing).astype(np.int32)
    faster = np.broadcast_to(np.rint((v + 0.5 * a + 1.0) / spacing).astype(np.int32), ahead.shape)
    inside = (ahead >= 0) & (ahead < len(axis)) & (faster >= 0) & (faster < len(axis))
    ahead, faster = np.where(inside, ahead, 0), np.where(inside, faster, 0)
    kernel = np.ones((len(axis), len(axis)), dtype=np.bool_)
    while True:
        kept = kernel & (inside & kernel[ahead, faster]).any(axis=2)
        if (kept == kernel).all():
            return kernel
        kernel = kept


@lru_cache(maxsize=2)
def _pendulum_policy(seed: int) -> tuple[Policy, Any]:
    return learned_policy(PENDULUM, seed, 0.95, steps=SAMPLES)


def pendulum(seed: int) -> dict[str, Any]:
    """A cell: exact equations, with a noise of ±10 N as the disturbance."""
    policy, _ = _pendulum_policy(seed)
    made = proved(policy, gym.make(PENDULUM), box=PENDULUM_BOX, tolerance=0.02)
    return made.result | {"contains": made.certificate.contains_box(UPRIGHT)}


def tree(seed: int) -> dict[str, Any]:
    """A cell: one distilled tree in 16-bit numbers, as it is exported."""
    policy = _pendulum_policy(seed)[0].distil(200)
    made = proved(policy, gym.make(PENDULUM), box=PENDULUM_BOX, tolerance=0.02, precision="int16")
    return made.result | {"contains": made.certificate.contains_box(UPRIGHT)}


@lru_cache(maxsize=2)
def _learned_pendulum(seed: int) -> ProvedCell:
    policy, data = _pendulum_policy(seed)
    return proved(policy, data, box=LEARNED_BOX, tolerance=0.05, random_state=seed)


def learned_pendulum(seed: int) -> dict[str, Any]:
    """A cell: a model learned from the same 1,000 samples, with the bound on its error."""
    made = _learned_pendulum(seed)
    clause = made.certificate.model.clause
    assert clause is not None
    about = {"within": clause.within, "held_out": clause.steps, "stated_share": clause.share}
    return made.result | {"contains": made.certificate.contains_box(UPRIGHT)} | about


def simulation(seed: int, *, starts: int = 50_000, steps: int = 1_000) -> dict[str, Any]:
    """A cell: trajectories of the true pendulum from states of the set that was proved with the learned model, and new
    steps that are collected in the same way as the samples."""
    made = _learned_pendulum(0)
    env, clause = gym.make(PENDULUM), made.certificate.model.clause
    assert clause is not None
    assert isinstance(env.unwrapped, NativeProblem)
    rng = np.random.default_rng([seed, 3])
    counts = simulate(made.certificate, made.policy, env.unwrapped, starts, steps, rng, UPRIGHT)
    fresh = fresh_steps(made.certificate, collect(env, steps=FRESH, seed=1_000 + seed))
    return made.result | {"stated_share": clause.share} | counts | fresh


def cart_pole(seed: int, *, noise: float) -> dict[str, Any]:
    """A cell: a balancing policy of 20 trees, learned from actions of a linear regulator, in four dimensions.

    The actions have a noise of `noise` newtons. Without noise each tree is a single leaf; with it the trees have many
    leaves, with different linear functions."""
    problem = CartPoleSwingUp()
    limits = np.array(problem.state_limits)[:, 1]
    gain = _regulator(*_linearised(problem))
    rng = np.random.default_rng(seed)
    part = np.where(rng.random((40_000, 1)) < 0.7, 0.12, 0.3)
    states = rng.uniform(-1.0, 1.0, (40_000, 4)) * limits * part
    labels = -(states @ gain.T)[:, 0] + noise * rng.standard_normal(40_000)
    box = np.stack([-limits, limits], axis=1)
    forest = grow_forest(
        states, labels, n_estimators=20, min_samples_leaf=200, leaf_model="linear", box=box, random_state=seed
    )
    policy = Policy((forest,), problem.observation_space, problem.action_space, problem.periodic)
    wanted = np.stack([-SCALED * limits, SCALED * limits], axis=1)
    made = proved(policy, problem, box=box, start=wanted, tolerance=0.0, max_cells=10_000, max_seconds=3_600.0)
    return made.result | {"contains": made.certificate.contains_box(wanted)}


def _linearised(problem: CartPoleSwingUp, apart: float = 1e-5) -> tuple[Floats, Floats]:
    """A and B of s' = A s + B u around the upright position."""
    rows = apart * np.eye(5)

    def after(sign: float) -> Floats:
        states, actions = (np.ascontiguousarray(sign * part) for part in (rows[:, :4], rows[:, 4:]))
        return problem.system.step_many(states, actions, np.empty((5, 0)))[0]

    ahead, behind = after(1.0), after(-1.0)
    slopes = (ahead - behind).T / (2 * apart)
    return slopes[:, :4], slopes[:, 4:]


def _regulator(a: Floats, b: Floats) -> Floats:
    """The gain K of u = -K s that minimises x² + v²/10 + theta² + omega²/10 + u²/100, by Riccati's iteration."""
    q, r = np.diag([1.0, 0.1, 1.0, 0.1]), np.array([[0.01]])
    p: Floats = q
    for _ in range(2_000):
        gain = np.asarray(np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a), dtype=np.float64)
        p = q + a.T @ p @ (a - b @ gain)
    return gain


def corruptions(seed: int, *, number: int = CORRUPTIONS, resealed: int = RESEALED) -> dict[str, Any]:
    """A cell: how many changes of a certificate file are rejected, with outdated and with recomputed digests."""
    policy, _ = learned_policy("policyforest/DoubleIntegrator-v0", seed, 0.98, episodes=200)
    made = proved(policy, DoubleIntegrator(), box=((-1.0, 1.0), (-1.0, 1.0)), tolerance=0.02)
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "whole.pfcert"
        made.certificate.save(path)
        result = made.result | rejected_files(path, policy, made.certificate.model, number, rng)
    return result | rejected_proofs(resealed, rng)


COST_LEAVES = (1, 30, 300, 3_000)
COST_DIMENSIONS = (1, 2, 3, 4)
COST_CELLS = len(COST_DIMENSIONS) * len(COST_LEAVES)


def cost(seed: int) -> dict[str, Any]:
    """A cell for one number of states and one number of leaves.

    The states form a chain, and the policy acts on the last one."""
    n, leaves = COST_DIMENSIONS[seed // len(COST_LEAVES)], COST_LEAVES[seed % len(COST_LEAVES)]
    names = [f"x{d}" for d in range(n)]
    formulas = {name: f"0.85*{name} + 0.14*sin({after})" for name, after in pairwise(names)}
    formulas[names[-1]] = f"1.8*{names[-1]} + 0.6*u"
    space = np.array([[-1.0, 1.0]] * n)
    rng = np.random.default_rng(seed)
    states = rng.uniform(-1.0, 1.0, (20_000, n))
    labels = -np.tanh(4.0 * states[:, -1]) + (0.05 * rng.standard_normal(20_000) if leaves > 1 else 0.0)
    forest = grow_forest(
        states, labels, n_estimators=10, min_samples_leaf=max(2 * n + 2, int(1.4 * 20_000 * 10 / max(leaves, 10) / 2)),
        leaf_model="linear", box=space, random_state=seed,
    )  # fmt: skip
    observed = Box(space[:, 0], space[:, 1], dtype=np.float64)
    policy = Policy((forest,), observed, Box(-1.0, 1.0, (1,), np.float64))
    made = proved(policy, Equations(formulas, ("u",)), box=space, steps=1, max_cells=30_000, tolerance=0.05)
    return made.result | {"dimensions": n}


def _study(
    name: str, title: str, run: Callable[[int], dict[str, Any]], number: int, seconds: float, **more: Any
) -> Study:
    return Study(f"certificate-{name}", title, run, {"quick": 1, "paper": number}, seconds, "certificates", **more)


STUDIES = {
    study.name: study
    for study in (
        _study("double-integrator", "Double Integrator, exact equations, 50 trees", double_integrator, 3, 15.0),
        _study("pendulum-6kg", "Pendulum 6 kg, exact equations, ±10 N, 50 trees", pendulum, 3, 20.0),
        _study("pendulum-6kg-learned", "Pendulum 6 kg, model learned from 1,000 samples", learned_pendulum, 3, 40.0),
        _study(
            "simulation", "The true pendulum from states that are certified on a learned model", simulation, 20, 60.0,
            short=Short(partial(simulation, starts=2_000, steps=100), 30.0),
        ),
        _study("tree-int16", "Pendulum 6 kg, one distilled tree in 16-bit numbers", tree, 3, 25.0),
        _study(
            "cart-pole", "Cart-pole, balancing, trees of one linear leaf", partial(cart_pole, noise=0.0), 3, 30.0
        ),
        _study(
            "cart-pole-leaves", "Cart-pole, balancing, trees of many leaves", partial(cart_pole, noise=NOISE), 3, 60.0
        ),
        _study(
            "corruptions", "Changed certificate files that the checker rejects", corruptions, 1, 90.0,
            short=Short(partial(corruptions, number=200, resealed=50), 20.0),
        ),
        _study("cost", "Cost by the number of states and of leaves", cost, COST_CELLS, 20.0),
    )
}  # fmt: skip
