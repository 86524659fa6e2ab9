"""A check of this installation in a few seconds: the native core must give the results of plain Python.

Every check returns a short text about what it compared, or raises an AssertionError that names the difference.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.forest.growth_rules import LeafModel

ROWS = 400


@dataclass(frozen=True)
class CheckResult:
    """What was checked, whether it held, and what was seen."""

    name: str
    passed: bool
    detail: str
    seconds: float


def self_check() -> Iterator[CheckResult]:
    """Runs every check, one after the other; a check that fails does not stop the others."""
    for name, check in CHECKS.items():
        started = time.perf_counter()
        try:
            passed, detail = True, check()
        except Exception as error:  # whatever a broken installation raises is a finding
            passed, detail = False, f"{type(error).__name__}: {error}"
        yield CheckResult(name, passed, detail, time.perf_counter() - started)


def walk(forest: Forest, x: Floats) -> float:
    """F(x) by the definition: down each tree by x[d] <= v, the leaves' values averaged in the order of the trees."""
    arrays = forest.arrays
    total = 0.0
    for first, first_leaf in zip(arrays["node_offsets"][:-1], arrays["leaf_offsets"][:-1], strict=True):
        node = first
        while arrays["feature"][node] >= 0:
            above = x[arrays["feature"][node]] > arrays["split"][node]
            node = first + arrays["child"][node] + int(above)
        value = float(arrays["split"][node])
        if forest.leaf_model == "linear":
            *slopes, value = arrays["coefficients"][first_leaf + arrays["child"][node]].tolist()
            for slope, coordinate in zip(slopes, x.tolist(), strict=True):
                value += slope * coordinate
        total += value
    return total / len(forest)


def _samples() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3_000, 3))
    return X, np.sin(3 * X[:, 0]) - (X[:, 2] - X[:, 1]) ** 2 + 0.1 * rng.standard_normal(len(X))


def _grown(leaf_model: LeafModel = "constant", **how: int) -> Forest:
    X, y = _samples()
    settings = {"n_estimators": 10, "min_samples_leaf": 10} | how
    return grow_forest(X, y, leaf_model=leaf_model, grid={2: 64}, box=[[-1, 1]] * 3, **settings)  # type: ignore[arg-type]


def _check_predictions() -> str:
    rows = np.random.default_rng(1).uniform(-1.2, 1.2, (ROWS, 3))
    for leaf_model in ("constant", "linear"):
        forest = _grown(leaf_model)
        by_hand = np.array([walk(forest, row) for row in rows])
        assert np.array_equal(forest.predict(rows), by_hand), (
            f"{leaf_model} leaves: many rows differ from a walk in Python"
        )
        single = [forest.predict_one(np.ascontiguousarray(row)) for row in rows]
        assert np.array_equal(single, by_hand), f"{leaf_model} leaves: one row differs from a walk in Python"
    return f"{ROWS} points, constant and linear leaves, equal to a walk in Python to the last bit"


def _check_threads() -> str:
    one, two = _grown().arrays, _grown(n_jobs=2).arrays
    assert all(np.array_equal(one[name], two[name]) for name in one), (
        "two threads grew a different forest than one thread"
    )
    return "the same forest from one thread and from two"


def _check_best_action() -> str:
    forest = _grown()
    states = np.random.default_rng(2).uniform(-1.0, 1.0, (50, 2))
    found = forest.best_action(states)
    # The forest is constant within each cell of the grid, so the midpoints of the cells stand for all actions.
    actions = -1.0 + (np.arange(64) + 0.5) / 32
    every = np.concatenate([np.repeat(states, 64, axis=0), np.tile(actions, 50)[:, None]], axis=1)
    best = forest.predict(every).reshape(50, 64).max(axis=1)
    assert np.array_equal(found.value, best), "the maximum differs from the best of all actions tried in turn"
    return "50 states, the same maximum as from trying all actions"


def _check_algebra() -> str:
    forest = _grown(n_estimators=3, min_samples_leaf=60)
    rows = np.random.default_rng(3).uniform(-1.0, 1.0, (ROWS, 3))
    expected = forest.predict(rows)
    assert np.allclose(forest.average().predict(rows), expected, atol=1e-12), "the average differs from the forest"
    projected = [forest.project(row[:2]).predict(row[2:, None])[0] for row in rows]
    assert np.array_equal(projected, expected), "a projection differs from the forest"
    small = forest.average(20)
    assert small.n_leaves <= 20, f"{small.n_leaves} leaves are left of at most 20"
    return "projections, an average of 3 trees, pruning to 20 leaves"


def _check_round_trip() -> str:
    from gymnasium.spaces import Box

    from policyforest.policy.policy import Policy
    from policyforest.policy.policy_files import load

    for leaf_model in ("constant", "linear"):
        forest = _grown(leaf_model)
        policy = Policy((forest,), Box(-1, 1, (3,), np.float64), Box(-2, 2, (1,), np.float64))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "policy.pforest"
            policy.save(path)
            again = load(path)
        rows = np.random.default_rng(4).uniform(-1.0, 1.0, (ROWS, 3))
        assert np.array_equal(policy.act_batch(rows), again.act_batch(rows)), "a loaded policy acts differently"
    return "policies act the same after saving and loading"


def _check_learning() -> str:
    from policyforest.environments.collection import collect
    from policyforest.environments.evaluation import evaluate
    from policyforest.learning.fitted_policy import FittedPolicyForest
    from policyforest.learning.fitted_q import FittedQIteration

    problem = "policyforest/DoubleIntegrator-v0"
    data = collect(problem, episodes=200, seed=0)
    q = FittedQIteration(discount=0.98, horizon=10, resample=None, min_samples_leaf=1).fit(data)
    policy = FittedPolicyForest(n_states=2_000, min_samples_leaf=300).fit(q)
    mean = evaluate(policy, problem, episodes=1).mean
    assert mean > -20.0, f"the controller of the double integrator has a return of only {mean:.3g}"
    return f"a controller of the double integrator in {len(data)} samples: return {mean:.3g}"


CHECKS: dict[str, Callable[[], str]] = {
    "prediction": _check_predictions,
    "threads": _check_threads,
    "best action": _check_best_action,
    "projection, average, pruning": _check_algebra,
    "save and load": _check_round_trip,
    "learning": _check_learning,
}
