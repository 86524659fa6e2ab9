"""Every figure and table of the paper with results, and a few that it lacks: a name each, and the cells behind it.

`policyforest reproduce NAME` computes the studies of an exhibit as far as they are missing, and draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policyforest.paper import STUDIES, batch, compare, engines, times
from policyforest.paper.cells import Study


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table, and the studies that it is made from."""

    name: str
    title: str
    where: str
    """The paper's number of it; nothing for what the paper lacks"""
    studies: tuple[str, ...]
    module: str
    """The module of `policyforest.paper.exhibits` that draws it"""
    kind: Literal["figure", "table"] = "figure"

    def cells(self) -> tuple[Study, ...]:
        return tuple(STUDIES[name] for name in self.studies)

    def progress(self, out: Path, scale: str) -> tuple[int, int, float]:
        """Cells that are done, cells in all, and the seconds of the missing ones on one core."""
        missing = [(study, len(study.missing(out, scale))) for study in self.cells()]
        total = sum(study.seeds[scale] for study in self.cells())
        left = sum(number * study.cost(scale) for study, number in missing)
        return total - sum(number for _, number in missing), total, left


def _curve(problem: str) -> tuple[str, ...]:
    return (*(study.name for study in batch.CURVES[problem].studies()), "limits")


SWING_UP = (
    "swing-up-mre",
    "swing-up-mre-density-targets",
    "swing-up-mre-original-leaves",
    "swing-up-mre-original",
    "swing-up-mre-our-final",
    "swing-up-random",
    "swing-up-greedy",
    "swing-up-epsilon-greedy",
    "swing-up-random-our-planning",
    "swing-up-epsilon-greedy-our-planning",
    "swing-up-ours",
)
SWING_UP_TRIALS = ("swing-up-mre", "swing-up-ours")
TIMES = tuple(times.STUDIES)

EXHIBITS = {
    exhibit.name: exhibit
    for exhibit in (
        Exhibit(
            "figure-pendulum-6kg",
            "Performance on the Inverted Pendulum against training episodes, as run (6 kg, 2 rad/s)",
            "Figure 5",
            _curve("inverted-pendulum-6kg"),
            "performance",
        ),
        Exhibit(
            "figure-pendulum-8kg",
            "Performance on the Inverted Pendulum against training episodes, as printed (8 kg)",
            "Figure 5",
            _curve("inverted-pendulum"),
            "performance",
        ),
        Exhibit(
            "figure-double-integrator",
            "Performance on the Double Integrator against training episodes",
            "Figure 6",
            _curve("double-integrator"),
            "performance",
        ),
        Exhibit(
            "figure-car-on-the-hill",
            "Steps to the top on the Car on the Hill",
            "Figure 7",
            ("car-on-the-hill", "car-on-the-hill-bas", "limits"),
            "steps",
        ),
        Exhibit(
            "figure-evaluation-time",
            "Time of an episode's actions on the Double Integrator",
            "Figure 8",
            TIMES,
            "times",
        ),
        Exhibit(
            "figure-learning-time",
            "Time of learning on the Double Integrator",
            "Figure 9",
            TIMES,
            "times",
        ),
        Exhibit(
            "figure-online-pendulum",
            "Returns of online learning on the Inverted Pendulum (6 kg)",
            "Figure 10",
            ("pendulum-online-mre", "pendulum-online-ours", "limits"),
            "online",
        ),
        Exhibit(
            "figure-online-swing-up",
            "Returns of online learning on the swing-up",
            "Figure 11",
            (*SWING_UP_TRIALS, "limits"),
            "online",
        ),
        Exhibit(
            "figure-swing-up-episodes",
            "Best and worst swing-up",
            "Figure 12",
            SWING_UP_TRIALS,
            "episodes",
        ),
        Exhibit(
            "figure-tree-merge",
            "Two trees and their average, computed by the core",
            "Figure 3",
            (),
            "trees",
        ),
        Exhibit(
            "figure-exploration",
            "Exploration on the swing-up: the paper's changes to MRE one by one, and what to compare them with",
            "",
            (*SWING_UP, "limits"),
            "exploration",
        ),
        Exhibit(
            "figure-sac",
            "PolicyForest beside Stable-Baselines3's SAC: return against steps, and what each costs",
            "",
            (*compare.STUDIES, "limits"),
            "compare",
        ),
        Exhibit(
            "table-parameters",
            "The paper's parameters, batch and online",
            "Tables 1 and 2",
            (),
            "parameters",
            "table",
        ),
        Exhibit(
            "table-engines",
            "Online swing-up in MuJoCo, DART and Gazebo, and each chosen policy in the other engines",
            "",
            tuple(engines.STUDIES),
            "engines",
            "table",
        ),
        Exhibit("table-limits", "What can be reached at all: dynamic programming", "", ("limits",), "limits", "table"),
    )
}
