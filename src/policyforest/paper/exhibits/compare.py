"""Our policies beside SAC: returns against environment steps, and the costs of learning, acting and storing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from policyforest.evaluation import interval_half_width
from policyforest.paper.compare import STOPS, study_name
from policyforest.paper.exhibits.cells import Cells
from policyforest.paper.exhibits.style import LIMIT, Look
from policyforest.report.canvas import BLUE, FAINT, ORANGE, legend, matplotlib, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {"forest": Look("PolicyForest", BLUE, "o", "-"), "sac": Look("SAC", ORANGE, "s", "--", "//")}
TITLES = {"Pendulum-v1": "Pendulum-v1", "inverted-pendulum-6kg": "Inverted Pendulum, 6 kg"}
# (what is compared, the panel's title, its unit, what turns a cell into that unit)
COSTS = (
    ("learning", "processor seconds", lambda cell: cell["curve"][-1]["train_seconds"]),
    ("one action", "µs, from Python", lambda cell: cell["action_us"]),
    ("deployed policy", "kB", lambda cell: cell["bytes"] / 1e3),
)


def cells_of(cells: Cells, learner: str, problem: str) -> list[Any]:
    return list(cells.results(study_name(learner, problem)))


@styled
def draw(cells: Cells, name: str) -> Figure:
    figure, areas = panels(5, width=3.2, height=2.9)
    grid = figure.add_gridspec(2, 6, height_ratios=(5, 3))
    places = (grid[0, :3], grid[0, 3:], grid[1, :2], grid[1, 2:4], grid[1, 4:])
    for axes, place in zip(areas, places, strict=True):
        axes.set_subplotspec(place)
    figure.set_size_inches(9.6, 6.2)
    for axes, problem in zip(areas, STOPS, strict=False):
        _draw_curves(axes, cells, problem)
    for axes, (title, unit, read) in zip(areas[len(STOPS) :], COSTS, strict=True):
        _draw_costs(axes, cells, title, unit, read)
    return figure


def _draw_curves(axes: Axes, cells: Cells, problem: str) -> None:
    for learner, look in LOOKS.items():
        found = cells_of(cells, learner, problem)
        if not found:
            continue
        steps = [point["steps"] for point in found[0]["curve"]]
        returns = np.array([[point["return"] for point in cell["curve"]] for cell in found])
        halves = [interval_half_width(column) if len(column) > 1 else 0.0 for column in returns.T]
        axes.errorbar(
            steps, returns.mean(axis=0), yerr=halves, capsize=2.5, lw=1.5, elinewidth=1.0, ms=6, **look.line_style()
        )
    limit = cells.limit(problem)
    if limit is not None:
        axes.axhline(limit, **LIMIT, label=f"limit {limit:.4g}")
    axes.set(xscale="log", xlabel="environment steps", ylabel="mean return", title=TITLES[problem])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(matplotlib().ticker.NullFormatter())
    axes.grid(axis="y", color=FAINT, lw=0.7)
    axes.set_axisbelow(True)
    legend(axes, loc="lower right", fontsize=9)


def _draw_costs(axes: Axes, cells: Cells, title: str, unit: str, read: Any) -> None:
    """Medians over seeds, a bar for each learner and problem, on a logarithm."""
    for i, problem in enumerate(STOPS):
        for j, (learner, look) in enumerate(LOOKS.items()):
            found = cells_of(cells, learner, problem)
            if not found:
                continue
            value = float(np.median([read(cell) for cell in found]))
            x = i + 0.38 * (j - 0.5)
            axes.bar(x, value, 0.34, color=look.color, hatch=look.hatch, edgecolor="white", lw=0.6)
            axes.annotate(f"{value:.3g}", (x, value), (0, 2), textcoords="offset points", ha="center", fontsize=8.5)
    axes.set(yscale="log", ylabel=unit, title=title)
    axes.set_xticks(range(len(STOPS)), ["Pendulum-v1", "6 kg"])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(matplotlib().ticker.NullFormatter())
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 2)
