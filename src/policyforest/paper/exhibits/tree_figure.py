"""Figure 3: two trees and their average, as the core computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from policyforest.forest.forest import Forest
from policyforest.paper.finished_cells import Cells
from policyforest.report.canvas import BLUE, INK, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def example() -> Forest:
    """T1 and T2 of the paper's figure, node by node. The two children of a split follow each other; the `child` of a
    leaf is its number."""
    return Forest.from_arrays(
        feature=np.array([0, 1, 1, -1, -1, -1, -1, 1, 0, 1, -1, -1, -1, -1], dtype=np.int32),
        split=np.array([5.0, 6, 5, 1, 2, 3, 4, 8, 7, 12, 5, 6, 7, 8]),
        child=np.array([1, 3, 5, 0, 1, 2, 3, 1, 3, 5, 0, 1, 2, 3], dtype=np.int32),
        node_offsets=np.array([0, 7, 14]),
        box=np.array([[0.0, 10.0], [0.0, 15.0]]),
    )


@dataclass(frozen=True)
class Placed:
    """A node of a tree with its place: leaves next to each other, a split above the middle of its children."""

    text: str
    x: float
    depth: int
    leaf: bool
    children: tuple[int, ...] = ()


def placed(forest: Forest, tree: int) -> list[Placed]:
    """The nodes of one tree, children before their parents."""
    arrays = forest.arrays
    offset = int(arrays["node_offsets"][tree])
    nodes: list[Placed] = []
    number: dict[int, int] = {}
    n_leaves = 0
    stack = [(0, 0, False)]
    while stack:
        i, depth, seen = stack.pop()
        feature, split = int(arrays["feature"][offset + i]), float(arrays["split"][offset + i])
        first = int(arrays["child"][offset + i])
        if feature < 0:
            number[i] = len(nodes)
            nodes.append(Placed(f"{split:g}", float(n_leaves), depth, True))
            n_leaves += 1
        elif not seen:
            stack += [(i, depth, True), (first + 1, depth + 1, False), (first, depth + 1, False)]
        else:
            children = (number[first], number[first + 1])
            number[i] = len(nodes)
            middle = (nodes[children[0]].x + nodes[children[1]].x) / 2
            nodes.append(Placed(f"$x_{feature} \\leq {split:g}$", middle, depth, False, children))
    return nodes


@styled
def draw(cells: Cells, name: str) -> Figure:
    forest = example()
    trees = {"$T_1$": (forest, 0), "$T_2$": (forest, 1), "average$(T_1, T_2)$": (forest.average(), 0)}
    figure, (left, right, whole) = panels(3, width=3.3, height=2.6)
    figure.set_size_inches(8.6, 5.4)
    grid = figure.add_gridspec(2, 2, height_ratios=(3, 4.2))
    for axes, place in ((left, grid[0, 0]), (right, grid[0, 1]), (whole, grid[1, :])):
        axes.set_subplotspec(place)
    for axes, (title, (shown, tree)) in zip((left, right, whole), trees.items(), strict=True):
        axes.set_title(title)
        _draw_tree(axes, placed(shown, tree))
    return figure


def _draw_tree(axes: Axes, nodes: list[Placed]) -> None:
    for node in nodes:
        for child in node.children:
            axes.plot([node.x, nodes[child].x], [-node.depth, -nodes[child].depth], color=INK, lw=0.9, zorder=1)
        box = {
            "boxstyle": "round,pad=0.25",
            "fc": "#e8eef3" if node.leaf else "white",
            "ec": BLUE if node.leaf else INK,
            "lw": 0.9,
        }
        axes.text(node.x, -node.depth, node.text, ha="center", va="center", fontsize=9.5, bbox=box, zorder=2)
    xs, depths = [node.x for node in nodes], [node.depth for node in nodes]
    axes.set(xlim=(min(xs) - 0.6, max(xs) + 0.6), ylim=(-max(depths) - 0.45, 0.45))
    axes.set_axis_off()
