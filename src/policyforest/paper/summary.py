"""The summary of a report: the paper's number, ours with its 95% interval, the limit, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policyforest.evaluation import interval_half_width
from policyforest.paper.exhibits.cells import Cells


@dataclass(frozen=True)
class Line:
    """A number of the paper, and the study and method that stand beside it."""

    what: str
    study: str
    method: str
    problem: str
    paper: float | None = None
    key: str = "return"


SIX, EIGHT = "inverted-pendulum-6kg", "inverted-pendulum"
LINES = (
    Line("Pendulum 6 kg, 100 random episodes, FPF:PWL", "pendulum-6kg-paper", "fpf-pwl", SIX, -172.0),
    Line("Pendulum 6 kg, 100 random episodes, our defaults", "pendulum-6kg", "fpf-pwl", SIX, -172.0),
    Line("Pendulum 6 kg, 100 episodes online, MRE", "pendulum-online-mre", "mean", SIX, -171.0),
    Line("Pendulum 6 kg, 100 episodes online, our explorer", "pendulum-online-ours", "mean", SIX, -171.0),
    Line("Pendulum 8 kg, 100 random episodes, FPF:PWL", "pendulum-8kg-paper", "fpf-pwl", EIGHT),
    Line("Pendulum 8 kg, 100 random episodes, our defaults", "pendulum-8kg", "fpf-pwl", EIGHT),
    Line("Double Integrator, 300 episodes, FPF:PWL", "double-integrator-paper", "fpf-pwl", "double-integrator"),
    Line("Double Integrator, 300 episodes, BAS", "double-integrator-paper", "bas", "double-integrator"),
    Line("Double Integrator, 300 episodes, our defaults", "double-integrator", "fpf-pwl", "double-integrator"),
    Line("Car on the Hill, steps, FPF:PWL", "car-on-the-hill", "fpf-pwl", "car-on-the-hill", None, "steps"),
    Line("Car on the Hill, steps, BAS", "car-on-the-hill-bas", "bas", "car-on-the-hill", None, "steps"),
    Line("Swing-up, 100 episodes online, MRE, worst of 10", "swing-up-mre", "worst", "swing-up", -51.0),
    Line("Swing-up, 100 episodes online, our explorer, worst of 10", "swing-up-ours", "worst", "swing-up", -51.0),
)
COLUMNS = ("what", "paper", "ours [95%]", "policies", "limit", "beside the paper")


def rows(cells: Cells) -> list[tuple[str, ...]]:
    """A row for each line that has cells; the last entry is "agrees", "better", "worse" or "none"."""
    found: list[tuple[str, ...]] = []
    for line in LINES:
        values = cells.values(line.study, line.method, line.key)
        if not len(values):
            continue
        mean = float(np.mean(values))
        half = interval_half_width(values) if len(values) > 1 else None
        limit = cells.limit(line.problem, line.key)
        found.append(
            (
                line.what,
                "-" if line.paper is None else f"{line.paper:g}",
                f"{mean:.4g}" + (f" [{mean - half:.4g}, {mean + half:.4g}]" if half is not None else ""),
                str(len(values)),
                "-" if limit is None else f"{limit:.4g}",
                _beside(mean, half, line.paper),
            )
        )
    return found


def _beside(mean: float, half: float | None, paper: float | None) -> str:
    if paper is None or half is None:
        return "none"
    if abs(mean - paper) <= half:
        return "agrees"
    return "better" if mean > paper else "worse"
