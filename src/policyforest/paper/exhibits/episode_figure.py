"""Figure 12: the best and the worst swing-up episode, over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from policyforest.paper.finished_cells import Cells
from policyforest.report.canvas import BLUE, FAINT, GREEN, ORANGE, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CONTROL_STEP = 0.1
TRIALS = {"swing-up-mre": "MRE as in the paper", "swing-up-ours": "our explorer"}


def extremes(cells: Cells, study: str) -> dict[str, dict[str, Any]]:
    """The best and the worst evaluation episode of all trials that stored their episodes."""
    rows = [row for row in cells.rows(study, "mean").values() if "best_played" in row]
    if not rows:
        return {}
    best = max((row["best_played"] for row in rows), key=lambda path: sum(path["rewards"]))
    worst = min((row["worst_played"] for row in rows), key=lambda path: sum(path["rewards"]))
    return {"best": best, "worst": worst}


@styled
def draw(cells: Cells, name: str) -> Figure:
    found = {label: extremes(cells, study) for study, label in TRIALS.items()}
    shown = [(label, which, path) for label, paths in found.items() for which, path in paths.items()]
    figure, areas = panels(max(1, len(shown)), width=4.2, height=2.5, columns=2)
    for axes, (label, which, path) in zip(areas, shown, strict=False):
        axes.set_title(f"{label}, {which} episode: {sum(path['rewards']):.1f}", fontsize=10)
        _draw_path(axes, path)
    limit = cells.limit("swing-up")
    if shown and limit is not None:
        figure.suptitle(f"Best return that can be reached: {limit:.1f}", fontsize=9.5, x=0.01, ha="left")
    figure.legend(*areas[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    return figure


def _draw_path(axes: Axes, path: dict[str, Any]) -> None:
    states, actions = np.array(path["states"]), np.array(path["actions"])
    times = CONTROL_STEP * np.arange(len(states))
    # Angles from upright without jumps, in units of pi.
    angle = np.unwrap(states[:, 0]) / math.pi
    angle -= 2 * np.round(angle[-1] / 2)
    axes.axhline(0.0, color=FAINT, lw=0.8, zorder=0)
    axes.plot(times, angle, color=BLUE, lw=1.8, label="θ/π")
    axes.plot(times, states[:, 1] / 10.0, color=GREEN, lw=1.2, ls="--", label="ω/10 (rad/s)")
    axes.step(times[:-1], actions[:, 0] / 15.0, color=ORANGE, lw=1.0, ls="-", where="post", label="τ/15 (Nm)")
    axes.set(xlabel="time (s)", ylabel="share of its range", xlim=(0, times[-1]))
