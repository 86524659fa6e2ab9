"""The style of the paper's methods in all figures: they differ in marker and line as well as in colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.statistics import mean_interval
from policyforest.report.canvas import BLUE, FAINT, GREEN, INK, ORANGE, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Look:
    label: str
    color: str
    marker: str
    line: str
    hatch: str = ""

    def line_style(self) -> dict[str, Any]:
        return {"color": self.color, "marker": self.marker, "ls": self.line, "label": self.label, "mec": "white"}


LOOKS = {
    "fqi": Look("FQI", "#8b9099", "s", ":", ""),
    "fpf-pwc": Look("FPF:PWC", ORANGE, "^", "--", "//"),
    "fpf-pwl": Look("FPF:PWL", BLUE, "o", "-", ""),
    "bas": Look("BAS", GREEN, "D", "-.", "xx"),
    "ours": Look("FPF:PWL, our defaults", "#14181d", "v", "-", ""),
}
LIMIT: dict[str, Any] = {"color": INK, "ls": (0, (6, 3)), "lw": 1.0}
PAPER_MARK: dict[str, Any] = {
    "marker": "*",
    "ms": 13,
    "mfc": "white",
    "mec": BLUE,
    "mew": 1.4,
    "ls": "none",
    "zorder": 5,
}


def cost_axis(axes: Axes, costs: Floats) -> None:
    """Sets up an axis for returns that span a factor of ten or more: -return on an inverted logarithmic scale, with the
    returns as labels."""
    ticker = matplotlib().ticker
    low, high = float(np.min(costs)), float(np.max(costs))
    ticks = nice_costs(low, high)
    axes.set_yscale("log")
    axes.set_ylim(high * 1.25, low / 1.12)
    axes.yaxis.set_major_locator(ticker.FixedLocator(ticks))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"−{x:g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.grid(axis="y", color=FAINT, lw=0.7)
    axes.set_axisbelow(True)


def nice_costs(low: float, high: float) -> list[float]:
    """Round numbers that cover a range: 1, 1.5, 2, 3, 5, 7 times a power of ten, and finer ones in a short range."""
    require_cost(low)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    fine = (1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)
    every = [m * 10.0**p for p in powers for m in (fine if high < 2 * low else (1, 1.5, 2, 3, 5, 7))]
    return [x for x in every if low / 1.1 <= x <= high * 1.2]


def require_cost(cost: float) -> None:
    """Refuses a return of 0 or above, which has no logarithm."""
    if cost <= 0.0:
        raise ValueError(f"return: is {0.0 - cost:g}, must be below 0 to be drawn on a logarithmic axis")


def means_and_bars(samples: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Means, and the distances to the lower and upper ends of their 95% intervals: (2, n), 0 for a single number."""
    means = np.array([values.mean() for values in samples])
    ends = np.array([mean_interval(values) for values in samples])
    return means, np.abs(ends.T - means)
