"""The required results of planning with a learned model on each problem, and the limits for comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.cell_checks import CellResult
from policyforest.paper.finished_cells import Cells
from policyforest.paper.planning_studies import SIZES

MOST_SECONDS = 30.0
"""The largest allowed processor seconds of a cell"""
MOST_SHARE = 0.95
CAR_LIMIT_STEPS = 100.0
"""The time limit of the Car on the Hill, which is also the number of steps of a policy that does not reach the top"""


@dataclass(frozen=True)
class Requirement:
    """A bound on a statistic of the cells; with `within`, the bound is a distance from the limit, as a fraction of the
    limit."""

    statistic: Literal["mean", "median", "worst", "share"]
    bound: float | None = None
    within: float | None = None

    def text(self, sign: str) -> str:
        if self.within is not None:
            return f"{self.statistic} within {self.within:.0%} of the limit"
        cells = f"{MOST_SHARE:.0%} of the cells" if self.statistic == "share" else self.statistic
        return f"{cells} {sign} {self.bound:g}"

    def holds(self, scores: Floats, limit: float | None, sense: int) -> bool | None:
        """Whether the scores keep the bound; None if the bound needs a limit that is missing.

        Scores are values times `sense`, so that more is better."""
        bound = self.bound
        if self.within is not None:
            bound = None if limit is None else limit - sense * self.within * abs(limit)
        if bound is None:
            return None
        if self.statistic == "share":
            return bool(np.mean(scores >= sense * bound) >= MOST_SHARE)
        reached = {"mean": np.mean(scores), "median": np.median(scores), "worst": np.min(scores)}[self.statistic]
        return bool(reached >= sense * bound)


def returned(row: CellResult) -> float:
    return float(row["return"])


def cost_ratio(row: CellResult) -> float:
    return float(row["ratio"])


def steps_to_goal(row: CellResult) -> float:
    return float(row["steps"]) if row["return"] > 0 else CAR_LIMIT_STEPS


@dataclass(frozen=True)
class PlanningLine:
    """A line of the table: the cells of one study, or those of one size of system."""

    name: str
    study: str
    requirements: tuple[Requirement, ...]
    value: Callable[[CellResult], float] = returned
    sense: Literal[1, -1] = 1
    """-1 if less is better"""
    limit: float | Callable[[Cells], float | None] | None = None
    size: tuple[int, int] | None = None

    def limit_in(self, cells: Cells) -> float | None:
        return self.limit(cells) if callable(self.limit) else self.limit


def _mean_and_worst(mean: float, worst: float) -> tuple[Requirement, ...]:
    return Requirement("mean", mean), Requirement("worst", worst)


def _stored_limit(problem: str, key: str = "return") -> Callable[[Cells], float | None]:
    return lambda cells: cells.limit(problem, key)


def pendulum_limit(cells: Cells) -> float | None:
    """The returns of dynamic programming on the evaluation episodes of Pendulum-v1."""
    found = cells.results("planning-pendulum-v1-limit")
    return float(found[0]["return"]) if found else None


def _of_size(n: int, m: int) -> PlanningLine:
    required = (Requirement("median", 1.05), Requirement("worst", 1.25))
    name = f"linear-quadratic, n = {n}, m = {m} (cost / optimum)"
    return PlanningLine(name, "planning-lqr", required, cost_ratio, -1, 1.0, (n, m))


def _double_integrator(episodes: int, mean: float, worst: float) -> PlanningLine:
    name, study = f"Double Integrator, {episodes} episodes", f"planning-double-integrator-{episodes}"
    return PlanningLine(name, study, _mean_and_worst(mean, worst), limit=_stored_limit("double-integrator"))


LINES = (
    *(_of_size(n, m) for n, m in SIZES),
    PlanningLine(
        *("Pendulum 6 kg, 100 episodes", "planning-pendulum-6kg", _mean_and_worst(-126.0, -138.0)),
        limit=_stored_limit("inverted-pendulum-6kg"),
    ),
    PlanningLine(
        *("Pendulum 8 kg, 100 episodes", "planning-pendulum-8kg", _mean_and_worst(-101.0, -112.0)),
        limit=_stored_limit("inverted-pendulum"),
    ),
    _double_integrator(50, -3.7, -8.0),
    _double_integrator(100, -3.46, -3.7),
    _double_integrator(300, -3.45, -3.6),
    PlanningLine(
        *("Car on the Hill (steps)", "planning-car-on-the-hill", (Requirement("share", 22.0),), steps_to_goal, -1),
        limit=_stored_limit("car-on-the-hill", "steps"),
    ),
    PlanningLine("InvertedPendulum-v5", "planning-inverted-pendulum-v5", (Requirement("share", 990.0),), limit=1_000.0),
    PlanningLine("Reacher-v5", "planning-reacher-v5", _mean_and_worst(-5.5, -6.5)),
    PlanningLine(
        *("Pendulum-v1, angle", "planning-pendulum-v1", (Requirement("mean", within=0.05),)),
        limit=pendulum_limit,
    ),
)
