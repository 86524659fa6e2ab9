"""Trees as nested ifs: no table to load from, every threshold in the code."""

from __future__ import annotations

from collections.abc import Iterator

from policyforest.export.program import CodeForest, CodeTree, Program

# C99 promises 127 levels of nested blocks; the function and the tree take some.
DEEPEST = 120


def forest_lines(program: Program, forest: CodeForest) -> Iterator[str]:
    """The statements that add every tree to `sum`."""
    for number, tree in enumerate(forest.trees):
        yield f"/* tree {number} */"
        yield from _tree_lines(program, tree, forest.linear)


def require_shallow(depth: int) -> None:
    """A ValueError where ifs would nest deeper than a compiler must take."""
    if depth > DEEPEST:
        raise ValueError(f"style: is 'branches' for a tree of depth {depth}, at most {DEEPEST} is allowed; use 'table'")


def _tree_lines(program: Program, tree: CodeTree, linear: bool) -> Iterator[str]:
    # What is still to be written, the next on top: a node and its depth, or text.
    rest: list[tuple[int, int] | str] = [(0, 0)]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
            continue
        node, depth = item
        indent = " " * min(depth, 40)
        if tree.feature[node] < 0:
            yield f"{indent}sum += {_leaf(program, tree, tree.child[node], linear)};"
            continue
        yield f"{indent}if (k{tree.feature[node]} <= {_whole(tree.key[node], program.bits)}) {{"
        lower = tree.child[node]
        rest += [f"{indent}}}", (lower + 1, depth + 1), f"{indent}}} else {{", (lower, depth + 1)]


def _leaf(program: Program, tree: CodeTree, number: int, linear: bool) -> str:
    model = tree.models[number]
    if program.precision == "int16":
        if not linear:
            return str(int(model[0]))
        text = f"{int(model[-1]) & 0xFFFFFFFF}u"
        for d, weight in enumerate(model[:-1]):
            text += f" + {int(weight) & 0xFFFFFFFF}u * q{d}"
        return text
    if not linear:
        return program.literal(model[0])
    # Products are added from the left, as the core does it.
    text = program.literal(model[-1])
    for d, weight in enumerate(model[:-1]):
        text = f"{text} + {program.literal(weight)} * x[{d}]"
    return text


def _whole(key: int, bits: int) -> str:
    """A signed number in C; the most negative one has no literal of its own."""
    suffix = "LL" if bits == 64 else "L" if bits == 32 else ""
    return f"(-{-(key + 1)}{suffix} - 1)" if key == -(1 << (bits - 1)) else f"{key}{suffix}"
