"""The required and the desired results of learning from scratch on each problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exploration_rivals import ALGORITHMS, TASKS, rival_study
from policyforest.paper.exploration_studies import CART_POLE
from policyforest.paper.finished_cells import Cells
from policyforest.paper.planning_requirements import pendulum_limit


@dataclass(frozen=True)
class RunRequirement:
    """A bound on the cells of a study.

    For the statistic "share", this share of the cells must keep the bound. For "seconds", the bound limits the
    processor time of exploring, or of the plan that the study measures."""

    statistic: Literal["mean", "worst", "share", "seconds"]
    bound: float
    share: float = 1.0
    of_limit: bool = False
    """Whether the bound is a fraction of the limit's magnitude, by which values may be worse than the limit"""
    task: Literal["explore", "plan"] = "explore"
    """The task whose seconds are bounded"""

    def text(self) -> str:
        if self.statistic == "seconds":
            return f"at most {self.bound:g} CPU s to {self.task}"
        bound = f"within {self.bound:.0%} of the limit" if self.of_limit else f"≥ {self.bound:g}"
        return f"{self.share:.0%} of the cells {bound}" if self.statistic == "share" else f"{self.statistic} {bound}"

    def holds(self, values: Floats, limit: float | None) -> bool | None:
        """Whether values, or seconds, keep the bound; None if the bound needs a limit that is missing."""
        if self.statistic == "seconds":
            return bool(values.max() <= self.bound)
        if self.of_limit and limit is None:
            return None
        bound = self.bound if limit is None or not self.of_limit else limit - self.bound * abs(limit)
        if self.statistic == "share":
            return bool(np.mean(values >= bound) >= self.share - 1e-9)
        return bool((values.mean() if self.statistic == "mean" else values.min()) >= bound)


@dataclass(frozen=True)
class RunLine:
    """A line of the table: the cells of one study."""

    name: str
    study: str
    requirements: tuple[RunRequirement, ...]
    aim: bool = False
    """Whether the results are only desired, and not required"""
    value: Literal["return", "balanced"] = "return"
    known: str = "nothing"
    """The information that the agent has besides the samples"""
    part: Literal["explored", "earlier"] = "explored"
    """The part of a cell: the result at the end of a run, or an earlier result of the run"""
    learner: str = "ours"
    validated: bool = False
    """Whether the best of three policies was chosen by episodes beyond the budget, and not by the ensemble"""

    def limit_in(self, cells: Cells) -> float | None:
        """The return that dynamic programming reaches on the same episodes, if the requirements need it."""
        if not any(requirement.of_limit for requirement in self.requirements):
            return None
        return pendulum_limit(cells)


def _share(bound: float, share: float) -> tuple[RunRequirement, ...]:
    return (RunRequirement("share", bound, share),)


# The required share of episodes that end with the pole up. It means 45 of 50 runs if each run is judged by one of its
# ten episodes.
BALANCED = (RunRequirement("mean", 0.9),)
ROD = (RunRequirement("mean", -24.0), RunRequirement("worst", -30.0))
CAR, POLE = "MountainCarContinuous-v0", "explore-inverted-pendulum-v5-600"
NEAR_LIMIT = (RunRequirement("share", 0.05, 0.9, of_limit=True),)


def _rivals() -> list[RunLine]:
    """Lines of learners that are shown only for comparison."""
    made = []
    for name, problem, _, stops, _ in TASKS:
        for algorithm in ALGORITHMS:
            study = rival_study(algorithm, name, stops)
            value: Literal["return", "balanced"] = "balanced" if problem == CART_POLE else "return"
            for part, stop in (("explored", stops[1]), ("earlier", stops[0])):
                shown = {CART_POLE: "cart-pole", "policyforest/SwingUp-v0": "swing-up"}.get(problem, problem)
                line = RunLine(f"{shown}, {stop:,} steps", study, (), value=value, learner=algorithm)
                made.append(replace(line, part="explored" if part == "explored" else "earlier"))
    return made


LINES = (
    RunLine("cart-pole, 600 steps", "explore-cart-pole-known-600", BALANCED, False, "balanced", "reward"),
    RunLine(
        "cart-pole, 400 steps", "explore-cart-pole-known-600", _share(1.0, 1.0), True, "balanced", "reward", "earlier"
    ),
    RunLine("cart-pole, 1,200 steps", "explore-cart-pole-1200", BALANCED, False, "balanced"),
    RunLine("cart-pole, 600 steps", "explore-cart-pole-1200", BALANCED, True, "balanced", part="earlier"),
    RunLine("swing-up, 15 episodes", "explore-swing-up-15", ROD, validated=True),
    RunLine("swing-up, 8 episodes", "explore-swing-up-8", ROD, True, validated=True),
    RunLine("swing-up, 4 episodes", "explore-swing-up-4", ROD, True, validated=True),
    RunLine("swing-up, 4 episodes", "explore-swing-up-known-4", ROD, True, known="reward", validated=True),
    RunLine(
        "swing-up, one plan at 1,200 samples", "explore-swing-up-plan-1200",
        (RunRequirement("seconds", 0.5, task="plan"),),
    ),
    RunLine(f"{CAR}, 30 episodes", "explore-mountain-car-30", _share(93.0, 0.9), validated=True),
    RunLine(f"{CAR}, 15 episodes", "explore-mountain-car-15", _share(93.0, 1.0), True, validated=True),
    RunLine("InvertedPendulum-v5, 600 steps", POLE, _share(990.0, 0.95)),
    RunLine("InvertedPendulum-v5, 300 steps", POLE, _share(990.0, 0.95), True, part="earlier"),
    RunLine("Pendulum-v1, 2,000 steps", "explore-pendulum-v1-2000", NEAR_LIMIT, validated=True),
    RunLine("Pendulum-v1, 1,000 steps", "explore-pendulum-v1-1000", NEAR_LIMIT, True, validated=True),
    RunLine("Pendulum-v1, 400 steps", "explore-pendulum-v1-400", NEAR_LIMIT, True, validated=True),
    RunLine("Reacher-v5, 3,000 steps", "explore-reacher-v5-3000", (RunRequirement("mean", -6.0),)),
    RunLine(
        "InvertedDoublePendulum-v5, 5,000 steps", "explore-inverted-double-pendulum-v5-5000",
        (RunRequirement("seconds", 300.0),),
    ),
    *_rivals(),
)  # fmt: skip
