"""Every figure and table of results in the paper, and a few additional ones, each with a name and the cells behind it.

`policyforest reproduce NAME` computes the missing cells of an exhibit's studies, and draws the exhibit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policyforest.paper import (
    STUDIES,
    batch_studies,
    certificate_studies,
    engine_studies,
    exploration_rivals,
    exploration_studies,
    planning_studies,
    real_system_studies,
    sac_studies,
    time_studies,
)
from policyforest.paper.studies import Study


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table, and the studies that it is made from."""

    name: str
    title: str
    where: str
    """Its number in the paper; empty if the paper does not have it"""
    studies: tuple[str, ...]
    module: str
    """The module of `policyforest.paper.exhibits` that draws it"""
    kind: Literal["figure", "table"] = "figure"

    def cells(self) -> tuple[Study, ...]:
        return tuple(STUDIES[name] for name in self.studies)

    def progress(self, out: Path, scale: str) -> tuple[int, int, float]:
        """The number of finished cells, the number of all cells, and the seconds of the missing cells on one core."""
        missing = [(study, len(study.missing(out, scale))) for study in self.cells()]
        total = sum(study.seeds[scale] for study in self.cells())
        left = sum(number * study.cost(scale) for study, number in missing)
        return total - sum(number for _, number in missing), total, left


def _curve(problem: str) -> tuple[str, ...]:
    return (*(study.name for study in batch_studies.CURVES[problem].studies()), "limits")


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
TIMES = tuple(time_studies.STUDIES)

EXHIBITS = {
    exhibit.name: exhibit
    for exhibit in (
        Exhibit(
            "figure-pendulum-6kg",
            "Performance on the Inverted Pendulum against training episodes, as the paper ran it (6 kg, 2 rad/s)",
            "Figure 5",
            _curve("inverted-pendulum-6kg"),
            "return_curves",
        ),
        Exhibit(
            "figure-pendulum-8kg",
            "Performance on the Inverted Pendulum against training episodes, as the paper prints it (8 kg)",
            "Figure 5",
            _curve("inverted-pendulum"),
            "return_curves",
        ),
        Exhibit(
            "figure-double-integrator",
            "Performance on the Double Integrator against training episodes",
            "Figure 6",
            _curve("double-integrator"),
            "return_curves",
        ),
        Exhibit(
            "figure-car-on-the-hill",
            "Steps to the top on the Car on the Hill",
            "Figure 7",
            ("car-on-the-hill", "car-on-the-hill-bas", "limits"),
            "step_histograms",
        ),
        Exhibit(
            "figure-evaluation-time",
            "Time of an episode's actions on the Double Integrator",
            "Figure 8",
            TIMES,
            "time_figures",
        ),
        Exhibit(
            "figure-learning-time",
            "Time of learning on the Double Integrator",
            "Figure 9",
            TIMES,
            "time_figures",
        ),
        Exhibit(
            "figure-online-pendulum",
            "Returns of online learning on the Inverted Pendulum (6 kg)",
            "Figure 10",
            ("pendulum-online-mre", "pendulum-online-ours", "limits"),
            "online_histograms",
        ),
        Exhibit(
            "figure-online-swing-up",
            "Returns of online learning on the swing-up",
            "Figure 11",
            (*SWING_UP_TRIALS, "limits"),
            "online_histograms",
        ),
        Exhibit(
            "figure-swing-up-episodes",
            "Best and worst swing-up",
            "Figure 12",
            SWING_UP_TRIALS,
            "episode_figure",
        ),
        Exhibit(
            "figure-tree-merge",
            "Two trees and their average, computed by the core",
            "Figure 3",
            (),
            "tree_figure",
        ),
        Exhibit(
            "figure-exploration",
            "Exploration on the swing-up: the paper's changes to MRE one by one, compared with other explorers",
            "",
            (*SWING_UP, "limits"),
            "exploration_figure",
        ),
        Exhibit(
            "figure-sac",
            "PolicyForest compared with Stable-Baselines3's SAC: return against steps, and the cost of each",
            "",
            (*sac_studies.STUDIES, "limits"),
            "sac_figure",
        ),
        Exhibit(
            "table-parameters",
            "The paper's parameters, batch and online",
            "Tables 1 and 2",
            (),
            "parameter_table",
            "table",
        ),
        Exhibit(
            "table-engines",
            "Online swing-up in MuJoCo, DART and Gazebo, and each chosen policy in the other engines",
            "",
            tuple(engine_studies.STUDIES),
            "engine_table",
            "table",
        ),
        Exhibit(
            "table-planning",
            "Planning with a learned model, compared with the start policies, the limits and the requirements",
            "",
            (*planning_studies.STUDIES, "limits"),
            "planning_table",
            "table",
        ),
        Exhibit(
            "table-real-systems",
            "Real systems: late commands, hidden speeds, an improved controller, known rewards, exported C",
            "",
            tuple(real_system_studies.STUDIES),
            "real_systems_table",
            "table",
        ),
        Exhibit(
            "table-exploring",
            "Learning from scratch by planning with a learned model, compared with the requirements",
            "",
            (*exploration_studies.STUDIES, *exploration_rivals.STUDIES, "planning-pendulum-v1-limit", "limits"),
            "exploration_table",
            "table",
        ),
        Exhibit(
            "table-certificates",
            "Certificates of closed loops: what is proved, checked and simulated, compared with the requirements",
            "",
            tuple(certificate_studies.STUDIES),
            "certificate_table",
            "table",
        ),
        Exhibit(
            "table-limits",
            "The limits: the best known returns, computed with the true equations",
            "",
            ("limits",),
            "limit_table",
            "table",
        ),
    )
}
