"""Figures 10 and 11: the distribution of the returns of policies that were learned online."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exhibits.figure_style import LIMIT, nice_costs
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import mean_interval
from policyforest.report.canvas import BLUE, INK, ORANGE, legend, matplotlib, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# For each figure: rows (study, label, colour), the problem, and the paper's returns by name.
FIGURES = {
    "figure-online-pendulum": (
        (("pendulum-online-mre", "MRE as in the paper", BLUE), ("pendulum-online-ours", "our explorer", ORANGE)),
        "inverted-pendulum-6kg",
        {"paper, mean": -171.0},
    ),
    "figure-online-swing-up": (
        (("swing-up-mre", "MRE as in the paper", BLUE), ("swing-up-ours", "our explorer", ORANGE)),
        "swing-up",
        {"paper, worst policy": -51.0},
    ),
}
BINS = 24


@styled
def draw(cells: Cells, name: str) -> Figure:
    studies, problem, said = FIGURES[name]
    figure, areas = panels(len(studies), width=6.4, height=1.9, columns=1)
    limit = cells.limit(problem)
    returns = {study: cells.policy_returns(study) for study, _, _ in studies}
    costs = np.concatenate([-values for values in returns.values()] + [-np.array([limit or -1.0, *said.values()])])
    low, high = float(costs.min()) / 1.05, float(costs.max()) * 1.05
    bins = np.geomspace(low, high, BINS)
    for axes, (study, label, color) in zip(areas, studies, strict=True):
        trials = len(cells.rows(study, "mean"))
        plural = "" if trials == 1 else "s"
        axes.set_title(f"{label}: {len(returns[study])} policies of {trials} trial{plural}", fontsize=9.5)
        _draw_returns(axes, returns[study], bins, color)
        _draw_mean(axes, cells.values(study, "mean"), color)
        for words, value in said.items():
            axes.axvline(-value, color=INK, lw=1.2, ls=":", label=f"{words} {value:.0f}")
        if limit is not None:
            axes.axvline(-limit, **LIMIT, label=f"limit {limit:.4g}")
        axes.set_xscale("log")
        axes.set_xlim(high, low)
        axes.xaxis.set_major_locator(matplotlib().ticker.FixedLocator(nice_costs(low, high)))
        axes.xaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(lambda x, _: f"−{x:g}"))
        axes.xaxis.set_minor_locator(matplotlib().ticker.NullLocator())
        _scale_numbers(axes)
        legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    areas[-1].set_xlabel("mean return of a policy's episodes")
    return figure


def _scale_numbers(axes: Axes) -> None:
    """Sets up a logarithmic axis that begins at one policy, because the few policies of hundreds that fail matter."""
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.4)
    axes.yaxis.set_major_locator(matplotlib().ticker.FixedLocator([0, 1, 10, 100, 1000]))
    axes.yaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_locator(matplotlib().ticker.NullLocator())
    axes.set_ylim(0.0, 1.4 * max(1.0, axes.get_ylim()[1]))
    axes.set_ylabel("policies")


def _draw_returns(axes: Axes, returns: Floats, bins: Floats, color: str) -> None:
    """Draws the histogram, and thin lines at the best and the worst policy, as in the paper."""
    if not len(returns):
        return
    axes.hist(-returns, bins=list(bins), color=color, alpha=0.8, edgecolor="white", lw=0.6)
    axes.axvline(-returns.max(), color=color, lw=1.0, ls="-", label=f"best {returns.max():.4g}")
    axes.axvline(-returns.min(), color=color, lw=1.0, ls="-.", label=f"worst {returns.min():.4g}")


def _draw_mean(axes: Axes, means: Floats, color: str) -> None:
    """Draws a thick line at the mean, as in the paper, and its 95% interval over trials."""
    if not len(means):
        return
    mean, words = float(means.mean()), ""
    if len(means) > 1:
        low, high = mean_interval(means)
        axes.axvspan(-high, -low, color=color, alpha=0.2, lw=0, zorder=0)
        words = f" [{low:.4g}, {high:.4g}]"
    axes.axvline(-mean, color=color, lw=3.0, label=f"mean {mean:.4g}{words}")
