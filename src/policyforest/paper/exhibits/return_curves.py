"""Figures 5 and 6: the mean return over policies against the number of training episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.batch_studies import ALL, CURVES, Curve
from policyforest.paper.exhibits.figure_style import (
    LIMIT,
    LOOKS,
    PAPER_MARK,
    Look,
    cost_axis,
    means_and_bars,
    require_cost,
)
from policyforest.paper.finished_cells import Cells
from policyforest.report.canvas import legend, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PROBLEMS = {f"figure-{curve.stem}": problem for problem, curve in CURVES.items()}
# The numbers in the paper: (training episodes, mean return) of FPF:PWL.
PAPER = {"inverted-pendulum-6kg": (100, -172.0)}
# Points are drawn next to each other, so that their intervals can be seen.
APART, EDGE = 1.025, 1.15
SEEN = 1.5
"""The largest factor by which the axis is extended for a bar"""


def series(cells: Cells, curve: Curve) -> dict[str, dict[int, Floats]]:
    """For each method the returns of its policies, by number of training episodes."""
    studies = dict.fromkeys(ALL, curve.paper_study) | {"bas": curve.bas_study, "ours": curve.our_study}
    found: dict[str, dict[int, Floats]] = {}
    for method, study in studies.items():
        points = {p: cells.values(study(p), "fpf-pwl" if method == "ours" else method) for p in curve.points}
        found[method] = {p: values for p, values in points.items() if len(values)}
    return {method: points for method, points in found.items() if points}


@styled
def draw(cells: Cells, name: str) -> Figure:
    problem = PROBLEMS[name]
    curve = CURVES[problem]
    figure, (axes,) = panels(1, width=6.4, height=3.8)
    costs: list[float] = []
    for i, (method, points) in enumerate(series(cells, curve).items()):
        costs += draw_line(axes, LOOKS[method], points, APART ** (i - 2))
    limit = cells.limit(problem)
    if limit is not None:
        axes.axhline(-limit, **LIMIT, label=f"limit {limit:.4g}")
        costs.append(-limit)
    if problem in PAPER:
        axes.plot(PAPER[problem][0], -PAPER[problem][1], **PAPER_MARK, label="FPF:PWL in the paper")
        costs.append(-PAPER[problem][1])
    cost_axis(axes, np.array(costs or [1.0, 10.0]))
    axes.set_xscale("log")
    axes.set_xticks(curve.points, [str(p) for p in curve.points])
    axes.set_xlim(curve.points[0] / EDGE, curve.points[-1] * EDGE)
    axes.minorticks_off()
    axes.set(
        xlabel="training episodes of a random policy",
        ylabel="mean return over policies [95% interval]",
        title=curve.title,
    )
    legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_line(axes: Axes, look: Look, points: dict[int, Floats], shift: float = 1.0) -> list[float]:
    """Draws means with their 95% intervals, and returns the costs that must be visible.

    If a bar over few policies is long, only a part of it must be visible."""
    means, (worse, better) = means_and_bars(list(points.values()))
    require_cost(-means.max())
    # A mean of few policies that differ a lot can have an interval beyond 0, which a logarithmic axis cannot show.
    better = np.minimum(better, 0.9 * -means)
    x = shift * np.array(list(points))
    axes.errorbar(x, -means, yerr=[better, worse], capsize=2.5, lw=1.5, elinewidth=1.0, ms=6, **look.line_style())
    return [*np.maximum(-means - better, -means / SEEN), *np.minimum(-means + worse, -means * SEEN)]
