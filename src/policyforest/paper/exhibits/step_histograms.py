"""Figure 7: how many steps the car takes to the top of the hill, a histogram for each method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exhibits.figure_style import LIMIT, LOOKS
from policyforest.paper.finished_cells import Cells
from policyforest.report.canvas import FAINT, INK, panels, styled, whole_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDIES = {
    "fqi": "car-on-the-hill",
    "fpf-pwc": "car-on-the-hill",
    "fpf-pwl": "car-on-the-hill",
    "bas": "car-on-the-hill-bas",
}
PAPER_RANGE = (20, 25)
"""The range of steps of 95% of the paper's policies"""
MOST_SHOWN = 60


def steps(cells: Cells) -> dict[str, tuple[Floats, int]]:
    """For each method the steps of the policies that reached the top, and how many did not."""
    found = {}
    for method, study in STUDIES.items():
        rows = list(cells.rows(study, method).values())
        reached = np.array([row["steps"] for row in rows if row["return"] > 0])
        if rows:
            found[method] = (reached, len(rows) - len(reached))
    return found


@styled
def draw(cells: Cells, name: str) -> Figure:
    drawn = steps(cells)
    limit = cells.limit("car-on-the-hill", "steps")
    figure, areas = panels(max(1, len(drawn)), width=6.4, height=1.25, columns=1)
    longest = max((reached.max() for reached, _ in drawn.values() if len(reached)), default=25.0)
    right = min(MOST_SHOWN, longest) + 1.5
    for axes, (method, (reached, failed)) in zip(areas, drawn.items(), strict=False):
        look = LOOKS[method]
        bins = np.arange(17.5, right + 1)
        axes.hist(reached, bins=bins.tolist(), color=look.color, edgecolor="white", lw=0.6, hatch=look.hatch)
        axes.axvspan(PAPER_RANGE[0] - 0.5, PAPER_RANGE[1] + 0.5, color=FAINT, alpha=0.45, zorder=0, lw=0)
        if limit is not None:
            axes.axvline(limit, **LIMIT)
        beyond = int((reached > right).sum())
        axes.set_title(_words(look.label, reached, failed, beyond), fontsize=9.5)
        axes.set(xlim=(17.5, right), ylabel="policies")
        axes.yaxis.set_major_locator(whole_numbers(at_most=4))
        axes.xaxis.set_major_locator(whole_numbers())
        if axes is not areas[-1]:
            axes.tick_params(labelbottom=False)
    dashed = f"dashed: limit, {limit:.0f}; " if limit is not None else ""
    areas[-1].set_xlabel(f"steps to the top ({dashed}grey: 95% of the paper's policies)", color=INK)
    return figure


def _words(label: str, reached: Floats, failed: int, beyond: int) -> str:
    if not len(reached):
        return f"{label}: none of {failed} reached the top"
    most = np.percentile(reached, 95)
    words = f"{label}: {np.mean(reached):.1f} on average, 95% within {most:.0f}, max {reached.max():.0f}"
    if failed:
        words += f"; {failed} of {failed + len(reached)} do not reach the top"
    return words + (f"; {beyond} beyond the axis" if beyond else "")
