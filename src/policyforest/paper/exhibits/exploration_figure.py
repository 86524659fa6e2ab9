"""The exploration ablation on the swing-up: final policies of each explorer, and the episodes while it learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exhibits.figure_style import LIMIT, means_and_bars
from policyforest.paper.finished_cells import Cells
from policyforest.report.canvas import BLUE, FAINT, GREEN, INK, ORANGE, VIOLET, legend, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXPLORERS = {
    "swing-up-mre-original": "MRE, original",
    "swing-up-mre-density-targets": "MRE, paper's knownness only",
    "swing-up-mre-original-leaves": "MRE, paper's update only",
    "swing-up-mre": "MRE as in the paper",
    "swing-up-mre-our-final": "MRE's samples, our learner",
    "swing-up-random": "random",
    "swing-up-greedy": "greedy",
    "swing-up-epsilon-greedy": "ε-greedy, 1 to 0.1",
    "swing-up-random-our-planning": "random, our planning",
    "swing-up-epsilon-greedy-our-planning": "ε-greedy, our planning",
    "swing-up-ours": "our explorer",
}
CURVES = {
    "swing-up-mre-original": (GREEN, ":"),
    "swing-up-mre": (BLUE, "--"),
    "swing-up-epsilon-greedy": (VIOLET, "-."),
    "swing-up-ours": (ORANGE, "-"),
}
SMOOTH = 7
"""Episodes of the running median"""


@styled
def draw(cells: Cells, name: str) -> Figure:
    limit = cells.limit("swing-up")
    figure, (left, right) = panels(2, width=5.4, height=3.6)
    _draw_final(left, cells)
    _draw_training(right, cells)
    if limit is not None:
        left.axvline(limit, **LIMIT, label=f"limit {limit:.4g}")
        right.axhline(limit, **LIMIT)
    legend(left, loc="lower left", fontsize=8.5)
    return figure


def _draw_final(axes: Axes, cells: Cells) -> None:
    """Draws one dot per trial (the mean of its policies), the mean of the trials and its 95% interval."""
    drawn = [(label, cells.values(study, "mean")) for study, label in EXPLORERS.items()]
    shown = [(label, values) for label, values in drawn if len(values)]
    for y, (_, values) in enumerate(shown):
        axes.plot(values, np.full(len(values), y), "o", ms=4.5, mfc="white", mec=INK, mew=0.9, zorder=3)
        mean, bars = means_and_bars([values])
        axes.errorbar(mean, y, xerr=bars, fmt="s", color=BLUE, ms=6.5, capsize=3, lw=1.4, zorder=2)
    axes.set_yticks(range(len(shown)), [label for label, _ in shown])
    axes.invert_yaxis()
    axes.grid(axis="x", color=FAINT, lw=0.7)
    axes.set(xlabel="mean return of a trial's policies; squares: mean [95%]", title="After the last episode")


def _draw_training(axes: Axes, cells: Cells) -> None:
    """Draws the median of the trials and their quartiles, each smoothed."""
    for study, (color, line) in CURVES.items():
        trials = [row["training_returns"] for row in cells.rows(study, "mean").values()]
        if trials:
            low, middle, high = (_running_median(row) for row in np.percentile(trials, [25, 50, 75], axis=0))
            x = np.arange(1, len(middle) + 1)
            axes.plot(x, middle, color=color, ls=line, lw=1.6, label=EXPLORERS[study])
            axes.fill_between(x, low, high, color=color, alpha=0.14, lw=0)
    axes.grid(axis="y", color=FAINT, lw=0.7)
    axes.set(xlabel="training episode", ylabel="return: median and quartiles of trials", title="While exploring")
    legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _running_median(values: Floats) -> Floats:
    half = SMOOTH // 2
    return np.array([np.median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))])
