"""Our policies compared with SAC: returns against environment steps, and the costs of learning, acting and storing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exhibits.figure_style import LIMIT, Look, cost_axis
from policyforest.paper.exhibits.return_curves import draw_line
from policyforest.paper.finished_cells import Cells
from policyforest.paper.sac_studies import STOPS, study_name
from policyforest.paper.statistics import mean_interval
from policyforest.report.canvas import BLUE, ORANGE, legend, matplotlib, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = {"forest": Look("PolicyForest", BLUE, "o", "-"), "sac": Look("SAC", ORANGE, "s", "--", "//")}
TITLES = {"Pendulum-v1": "Pendulum-v1", "inverted-pendulum-6kg": "Inverted Pendulum, 6 kg"}
FREE = {"Pendulum-v1": "lower right", "inverted-pendulum-6kg": "center left"}
"""Where there is room for a legend"""
SINGLE_TREE: dict[str, Any] = {"marker": "D", "ms": 6, "mfc": "#9dc3d9", "mec": BLUE, "ls": "none", "zorder": 5}
# (learner, part, colour, hatch): one bar for each number that a cell has.
BARS = (
    ("forest", "forest", BLUE, ""),
    ("forest", "single tree", "#9dc3d9", ""),
    ("sac", "SAC", ORANGE, "//"),
    ("sac", "its network by NumPy", "#e7b3a7", "//"),
)
COLUMNS = ("problem", "learner", "steps", "return [95%]", "learning", "one action", "deployed")
COSTS: dict[str, tuple[str, dict[str, str]]] = {
    "Learning, to the last point": ("processor seconds", {"forest": "train_seconds", "SAC": "train_seconds"}),
    "One action": (
        "µs, called from Python",
        {
            "forest": "action_us",
            "single tree": "tree_action_us",
            "SAC": "action_us",
            "its network by NumPy": "bare_action_us",
        },
    ),
    "Deployed policy": ("kB", {"forest": "bytes", "single tree": "tree_bytes", "SAC": "bytes"}),
}


def cells_of(cells: Cells, learner: str, problem: str) -> list[Any]:
    return list(cells.results(study_name(learner, problem)))


def rows(cells: Cells) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A row for each problem, learner and stop; and one for the single tree."""
    made: list[tuple[str, ...]] = []
    for problem in STOPS:
        for learner, look in LOOKS.items():
            found = cells_of(cells, learner, problem)
            if not found:
                continue
            for i, stop in enumerate(point["steps"] for point in found[0]["curve"]):
                last = i == len(found[0]["curve"]) - 1
                returns = np.array([cell["curve"][i]["return"] for cell in found])
                seconds = float(np.median([cell["curve"][i]["train_seconds"] for cell in found]))
                costs = _costs(found, "action_us", "bytes") if last else ("", "")
                made.append((problem, look.label, f"{stop:,}", _with_interval(returns), f"{seconds:.3g} s", *costs))
            if learner == "forest":
                trees = np.array([cell["tree_return"] for cell in found])
                costs = _costs(found, "tree_action_us", "tree_bytes")
                made.append((problem, "its single tree", f"{stop:,}", _with_interval(trees), "", *costs))
    return COLUMNS, made


def _costs(found: list[Any], time: str, size: str) -> tuple[str, str]:
    action, stored = (float(np.median([cell[key] for cell in found])) for key in (time, size))
    return f"{action:.3g} µs", f"{stored / 1e3:.1f} kB"


def _with_interval(returns: Floats) -> str:
    low, high = mean_interval(returns)
    return f"{returns.mean():.4g}" + (f" [{low:.4g}, {high:.4g}]" if len(returns) > 1 else "")


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
    for axes, (title, (unit, keys)) in zip(areas[len(STOPS) :], COSTS.items(), strict=True):
        _draw_costs(axes, cells, keys)
        axes.set(title=title, ylabel=unit)
    figure.legend(*areas[-2].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return figure


def _draw_curves(axes: Axes, cells: Cells, problem: str) -> None:
    costs: list[float] = []
    for learner, look in LOOKS.items():
        found = cells_of(cells, learner, problem)
        if not found:
            continue
        curves = [cell["curve"] for cell in found]
        steps = [point["steps"] for point in curves[0]]
        points = {stop: np.array([curve[i]["return"] for curve in curves]) for i, stop in enumerate(steps)}
        costs += draw_line(axes, look, points)
        if learner == "forest":
            tree = float(np.mean([cell["tree_return"] for cell in found]))
            axes.plot(steps[-1], -tree, **SINGLE_TREE, label="its single tree")
            costs.append(-tree)
    limit = cells.limit(problem)
    if limit is not None:
        axes.axhline(-limit, **LIMIT, label=f"limit {limit:.4g}")
        costs.append(-limit)
    cost_axis(axes, np.array(costs or [1.0, 10.0]))
    axes.set(xscale="log", xlabel="environment steps", ylabel="mean return over seeds [95%]", title=TITLES[problem])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(matplotlib().ticker.NullFormatter())
    legend(axes, loc=FREE[problem], fontsize=9)


def _draw_costs(axes: Axes, cells: Cells, keys: dict[str, str]) -> None:
    """Draws medians over seeds on a logarithmic axis, with each number on its bar."""
    bars = [bar for bar in BARS if bar[1] in keys]
    width = 0.84 / len(bars)
    for i, problem in enumerate(STOPS):
        for j, (learner, label, color, hatch) in enumerate(bars):
            values = [_number(cell, keys[label]) for cell in cells_of(cells, learner, problem)]
            if not values:
                continue
            x, height = i + width * (j - (len(bars) - 1) / 2), float(np.median(values))
            axes.bar(
                x, height, 0.9 * width, color=color, hatch=hatch, ec="white", lw=0.6, label=label if i == 0 else ""
            )
            words = f"{height:,.0f}" if height >= 100 else f"{height:.{3 if height >= 1 else 2}g}"
            axes.annotate(words, (x, height), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(STOPS)), ["Pendulum-v1", "6 kg"])
    axes.tick_params(axis="y", which="both", left=False, labelleft=False)
    low, high = axes.get_ylim()
    axes.set_ylim(low / 2, high * 2)


def _number(cell: Any, key: str) -> float:
    value = float(cell["curve"][-1][key] if key == "train_seconds" else cell[key])
    return value / 1e3 if key.endswith("bytes") else value
