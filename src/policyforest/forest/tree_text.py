"""A small tree as indented text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyforest.forest.forest import Forest


def tree_text(forest: Forest, tree: int, names: Sequence[str], max_nodes: int) -> str:
    """Tree number `tree` of a forest, one line per node, children indented under the question that leads to them."""
    arrays = forest.arrays
    first = int(arrays["node_offsets"][tree])
    first_leaf = int(arrays["leaf_offsets"][tree])
    lines = [f"tree {tree}"]
    stack = [(0, 0, "")]
    while stack:
        node, indent, question = stack.pop()
        if len(lines) > max_nodes:
            lines.append("…")
            break
        feature, child = int(arrays["feature"][first + node]), int(arrays["child"][first + node])
        split = float(arrays["split"][first + node])
        prefix = "  " * (indent + 1) + question
        if feature >= 0:
            name = names[feature]
            stack.append((child + 1, indent + 1, f"{name} > {split:.6g}: "))
            stack.append((child, indent + 1, f"{name} <= {split:.6g}: "))
            lines.append(prefix.rstrip() if question else f"{prefix}root")
        elif forest.leaf_model == "constant":
            lines.append(f"{prefix}{split:.6g}")
        else:
            *w, c = arrays["coefficients"][first_leaf + child]
            terms = "".join(f" {v:+.6g} {name}" for v, name in zip(w, names, strict=True) if v != 0)
            lines.append(f"{prefix}{c:.6g}{terms}")
    return "\n".join(lines)
