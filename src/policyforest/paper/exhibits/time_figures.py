"""Figures 8 and 9: the time of the actions of an episode and of learning on the Double Integrator, on one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exhibits.figure_style import LOOKS, Look
from policyforest.paper.finished_cells import Cells
from policyforest.paper.time_studies import METHODS, POINTS, study_at
from policyforest.report.canvas import FAINT, legend, matplotlib, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGE = "double-integrator-times-10000"
STEPS = 200
"""The number of steps of an episode, as in the paper's figure"""


def episodes_of(cells: Cells) -> dict[str, float]:
    """The studies that have cells, with their training episodes. For the study of 10,000 samples this is the number of
    episodes that have as many samples."""
    found: dict[str, float] = {study_at(p): p for p in POINTS if cells.results(study_at(p))}
    whole = [result["samples"] for result in cells.results(study_at(POINTS[-1]))]
    if cells.results(LARGE) and whole:
        found[LARGE] = round(10_000 / (float(np.mean(whole)) / POINTS[-1]), -1)
    return found


@styled
def draw(cells: Cells, name: str) -> Figure:
    figure, (axes,) = panels(1, width=6.4, height=3.6)
    episodes = episodes_of(cells)
    if name == "figure-evaluation-time":
        for method in METHODS:
            _draw(axes, cells, episodes, method, "action_us", STEPS / 1e3, LOOKS[method])
        axes.set(ylabel=f"time of {STEPS} actions (ms)", title="Evaluation time of an episode")
    else:
        _draw(axes, cells, episodes, "fqi", "q_seconds", 1.0, Look("Q by FQI", "#8b9099", "s", ":"))
        for method in METHODS[1:]:
            look = LOOKS[method]
            extra = Look(f"{look.label}, on top of Q", look.color, look.marker, look.line)
            _draw(axes, cells, episodes, method, "policy_seconds", 1.0, extra)
        axes.set(ylabel="learning time (s)", title="Learning time")
    axes.set(xscale="log", yscale="log", xlabel="training episodes (the last: 10,000 samples); bars: 90% of policies")
    axes.set_xticks(list(episodes.values()), [f"{p:,.0f}" for p in episodes.values()])
    axes.xaxis.set_minor_locator(matplotlib().ticker.NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")
    if name == "figure-evaluation-time":
        _add_scale_of_an_action(axes)
    axes.grid(axis="y", color=FAINT, lw=0.7)
    legend(axes, loc="center left", bbox_to_anchor=(1.16 if name == "figure-evaluation-time" else 1.0, 0.5))
    return figure


def _add_scale_of_an_action(axes: Axes) -> None:
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.set(yscale="log", ylabel="time of one action (µs)", ylim=[y * 1e3 / STEPS for y in axes.get_ylim()])
    right.yaxis.set_major_formatter("{x:g}")


def _draw(
    axes: Axes, cells: Cells, episodes: dict[str, float], method: str, key: str, factor: float, look: Look
) -> None:
    """Draws medians over policies, and the range of 90% of the policies, because times have a long tail to the
    right."""
    values: list[Floats] = [factor * cells.values(study, method, key) for study in episodes]
    if not values:
        return
    middle = np.array([np.median(v) for v in values])
    low, high = (np.array([np.percentile(v, q) for v in values]) for q in (5, 95))
    x = list(episodes.values())
    axes.errorbar(
        x, middle, yerr=[middle - low, high - middle], capsize=2.5, lw=1.5, elinewidth=1.0, ms=6, **look.line_style()
    )
