"""Planning with a learned model, judged on problems with known limits: the computation of a cell of each study.

A cell learns a policy from random samples by `plan`, and evaluates it on the same episodes as the policy that the
improvement started from. Seeds begin at 5000, those of linear systems at 1000, those of Reacher-v5 at 6000 and those of
the noisy pendulums at 10000; no setting was chosen on these seeds. (Results of some lower seeds were seen before a
setting was changed.)
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym

from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.learning.planned_learning import PlannedLearning, PlanningWarning
from policyforest.paper import angle_pendulum, linear_quadratic
from policyforest.paper.batch_studies import EVALUATION_SEED, gather
from policyforest.paper.linear_quadratic import LinearQuadratic
from policyforest.paper.studies import Study
from policyforest.policy.policy import Policy

FIRST_SEED = 5_000
FIRST_SEEDS = {"lqr": 1_000, "reacher-v5": 6_000, "pendulum-6kg": 10_000, "pendulum-8kg": 10_000}


@dataclass(frozen=True)
class PlannedCell:
    """A learned policy, and the one that its improvement started from."""

    policy: Policy
    start: Policy
    kept: bool
    """Whether the improved policy won; else `policy` is `start`, or the constant action if that is better"""
    winner: str
    """The candidate that became the policy"""


def plan(data: Transitions, discount: float, seed: int) -> PlannedCell:
    """Learns a policy from samples as `pf.learn` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningWarning)
        planned = PlannedLearning(discount, random_state=seed).fit(data)
    return PlannedCell(planned.policy, planned.start, planned.winner == "improved", planned.winner)


def measured_plan(data: Transitions, discount: float, seed: int) -> tuple[PlannedCell, dict[str, Any]]:
    """A plan, and the entries of the cell's row "planned" other than its return."""
    forget_peak_memory()
    started = time.process_time()
    made = plan(data, discount, seed)
    seconds = time.process_time() - started
    return made, {"kept": made.kept, "winner": made.winner, "cpu_seconds": seconds, "peak_mb": peak_memory()}


def forget_peak_memory() -> None:
    """Resets the peak of memory on Linux, because a worker computes many cells.

    On other systems, the peak is that of all cells of the worker so far."""
    if sys.platform == "linux":
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return


def peak_memory() -> float:
    """The peak memory of this process, in MB. Raises `OSError` on Windows, where studies cannot measure it."""
    if sys.platform == "win32":
        raise OSError("this study measures the peak memory, which needs Linux or macOS")
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def plan_and_evaluate(
    seed: int,
    *,
    problem: str,
    samples: dict[str, Any],
    episodes: int,
    make: Callable[[], gym.Env[Any, Any]] | None = None,
    periodic: Mapping[int, tuple[float, float]] | None = None,
) -> dict[str, Any]:
    """A cell: one problem, by its name or made by `make`."""
    named = named_problem(problem)
    env = gym.make(named.id) if make is None else make()
    data = gather(env, samples, seed) if periodic is None else collect(env, **samples, seed=seed, periodic=periodic)
    made, about = measured_plan(data, named.discount, seed)
    judged = evaluate(made.policy, env, episodes=episodes, seed=EVALUATION_SEED)
    # The start is evaluated even if the improvement was not kept, because the policy can be a constant action that beat
    # it.
    before = evaluate(made.start, env, episodes=episodes, seed=EVALUATION_SEED)
    start = _row(before) | {"method": made.start.info.method}
    return {"samples": len(data), "planned": _row(judged) | about, "start": start}


def _row(judged: Evaluation) -> dict[str, Any]:
    steps, ended = float(judged.lengths.mean()), float(judged.terminals.mean())
    return {"return": judged.mean, "worst_episode": judged.worst, "steps": steps, "ended": ended}


SIZES = tuple((n, m) for n in (2, 4, 6, 8) for m in (1, 2, 3))
SYSTEMS_PER_SIZE = 10
LQR_STEPS = 1_000


def plan_linear_quadratic(seed: int, *, steps: int = LQR_STEPS) -> dict[str, Any]:
    """A cell: one random linear-quadratic system. Consecutive seeds go through all sizes; returns are discounted."""
    n, m = SIZES[seed % len(SIZES)]
    system = LinearQuadratic.draw(n, m, seed)
    data = system.collect(steps, seed)
    made, about = measured_plan(data, linear_quadratic.DISCOUNT, seed)
    optimum = system.cost(system.optimal)

    def row(cost: float) -> dict[str, Any]:
        return {"return": -cost, "steps": float(linear_quadratic.JUDGED_STEPS), "ratio": cost / optimum}

    return {
        "samples": len(data),
        "planned": row(system.cost(made.policy.act_batch)) | about,
        "start": row(system.cost(made.start.act_batch)) | {"method": made.start.info.method},
        "nothing": row(system.cost(system.nothing)),
        "optimum": row(optimum) | {"n": n, "m": m},
    }


PENDULUM_EPISODES = 50


def _angle_pendulum_limit(number: int) -> dict[str, Any]:
    """A cell: the return of dynamic programming on the evaluation episodes of `planning-pendulum-v1`."""
    played = angle_pendulum.limit(PENDULUM_EPISODES, EVALUATION_SEED)
    steps = float(played.lengths.mean())
    return {"problem": "Pendulum-v1", "return": played.mean, "worst_episode": played.worst, "steps": steps}


def _study(
    name: str, title: str, number: int, seconds: float, run: Callable[[int], dict[str, Any]], **more: Any
) -> Study:
    counts, first = {"quick": QUICK, "paper": number}, FIRST_SEEDS.get(name, FIRST_SEED)
    methods = ("planned", "start")
    return Study(f"planning-{name}", title, run, counts, seconds, "plans", methods, first_seed=first, **more)


QUICK = 1
PLANNED = "planned in a learned model"


def _curve_studies() -> list[Study]:
    made = []
    for points in (50, 100, 300):
        cell = partial(plan_and_evaluate, problem="double-integrator", samples={"episodes": points}, episodes=1)
        title = f"Double Integrator from (1, 0), {points} random episodes, {PLANNED}"
        made.append(_study(f"double-integrator-{points}", title, 100, 9.0, cell))
    for mass, problem in (("6kg", "inverted-pendulum-6kg"), ("8kg", "inverted-pendulum")):
        cell = partial(plan_and_evaluate, problem=problem, samples={"episodes": 100}, episodes=10)
        title = f"Inverted Pendulum, {mass[0]} kg, 100 random episodes, {PLANNED}"
        made.append(_study(f"pendulum-{mass}", title, 50, 9.0, cell))
    return made


def _other_studies() -> list[Study]:
    car = partial(plan_and_evaluate, problem="car-on-the-hill", samples={"uniform": 20_000}, episodes=1)
    balancing = partial(plan_and_evaluate, problem="InvertedPendulum-v5", samples={"steps": 1_000}, episodes=10)
    reacher = partial(plan_and_evaluate, problem="Reacher-v5", samples={"steps": 3_000}, episodes=100)
    swing_up = partial(
        plan_and_evaluate,
        problem="Pendulum-v1",
        samples={"steps": 5_000},
        episodes=PENDULUM_EPISODES,
        make=angle_pendulum.AnglePendulum,
        periodic=angle_pendulum.PERIODIC,
    )
    return [
        _study("car-on-the-hill", f"Car on the Hill, 20,000 uniform samples, {PLANNED}", 200, 13.0, car),
        _study(
            "inverted-pendulum-v5", f"InvertedPendulum-v5, 1,000 random steps, {PLANNED}", 20, 5.0, balancing,
            extra="mujoco",
        ),
        _study("reacher-v5", f"Reacher-v5, 3,000 random steps, {PLANNED}", 20, 46.0, reacher, extra="mujoco"),
        _study("pendulum-v1", f"Pendulum-v1 by its angle, 5,000 random steps, {PLANNED}", 20, 24.0, swing_up),
    ]  # fmt: skip


STUDIES = {
    study.name: study
    for study in (
        _study(
            "lqr",
            f"Random linear-quadratic systems of 12 sizes, 1,000 random steps, {PLANNED}",
            *(SYSTEMS_PER_SIZE * len(SIZES), 6.0),
            plan_linear_quadratic,
        ),
        *_curve_studies(),
        *_other_studies(),
        Study(
            "planning-pendulum-v1-limit",
            "What dynamic programming with the true equations reaches on Pendulum-v1",
            _angle_pendulum_limit,
            {"quick": 1, "paper": 1},
            seconds=15.0,
            kind="limits",
        ),
    )
}
