"""Trees as nested ifs: the thresholds are in the code, so no table has to be loaded."""

from __future__ import annotations

from collections.abc import Iterator

from policyforest.export.program import CodeForest, CodeTree, Program

# C99 guarantees 127 levels of nested blocks, some of which the function itself takes.
DEEPEST = 120


def tree_functions(program: Program, forest: CodeForest, j: int) -> Iterator[str]:
    """One function per tree, which returns the value of its leaf.

    One function for all trees would be faster by a third on a Cortex-M4F, because the compiler can use the comparisons
    of one tree in the next. But then it takes minutes to compile 6,500 leaves, and the code takes twice the flash."""
    result = _value_type(program, forest)
    used = sorted({f for tree in forest.trees for f in tree.feature if f >= 0})
    parameters = [f"word k{d}" for d in used] + _leaf_parameters(program, forest)
    for number, tree in enumerate(forest.trees):
        yield f"static {result} tree_{j}_{number}({', '.join(parameters) or 'void'})"
        yield "{"
        yield from (f"  (void){name.split()[-1].lstrip('*')};" for name in parameters if not _needs(tree, forest, name))
        yield from _tree_lines(program, tree, forest.linear)
        yield "}"
        yield ""


def forest_function(program: Program, forest: CodeForest, j: int) -> Iterator[str]:
    """The function that adds the trees, from the first to the last."""
    result = _value_type(program, forest)
    used = sorted({f for tree in forest.trees for f in tree.feature if f >= 0})
    whole = program.precision == "int16"
    arguments = [f"key[{d}]" for d in used]
    if forest.linear:
        arguments += [f"(uint32_t)(int32_t)key[{d}]" for d in range(program.n_states)] if whole else ["x"]
    parameters = "const word *key" + (", const real *x" if forest.linear and not whole else "")
    yield f"static {'int32_t' if whole else 'real'} forest_{j}({parameters})"
    yield "{"
    yield f"  {result} sum = 0;"
    if not any("key" in argument for argument in arguments):
        yield "  (void)key;"
    yield from (f"  sum += tree_{j}_{number}({', '.join(arguments)});" for number in range(len(forest.trees)))
    yield "  return as_signed(sum);" if whole and forest.linear else "  return sum;"
    yield "}"


def _value_type(program: Program, forest: CodeForest) -> str:
    if program.precision != "int16":
        return "real"
    return "uint32_t" if forest.linear else "int32_t"


def _leaf_parameters(program: Program, forest: CodeForest) -> list[str]:
    """The parameters that linear leaves need besides those that are compared."""
    if not forest.linear:
        return []
    return [f"uint32_t q{d}" for d in range(program.n_states)] if program.precision == "int16" else ["const real *x"]


def _needs(tree: CodeTree, forest: CodeForest, parameter: str) -> bool:
    name = parameter.split()[-1]
    return forest.linear if not name.startswith("k") else int(name[1:]) in tree.feature


def require_shallow(depth: int) -> None:
    """Raises a ValueError if ifs would nest deeper than every compiler must allow."""
    if depth > DEEPEST:
        raise ValueError(f"style: is 'branches' for a tree of depth {depth}, at most {DEEPEST} is allowed; use 'table'")


def _tree_lines(program: Program, tree: CodeTree, linear: bool) -> Iterator[str]:
    # The stack of what remains to be written: a node and its depth, or text.
    rest: list[tuple[int, int] | str] = [(0, 0)]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
            continue
        node, depth = item
        indent = " " * (2 + min(depth, 40))
        if tree.feature[node] < 0:
            yield f"{indent}return {_leaf(program, tree, tree.child[node], linear)};"
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
    """A signed number in C, which has no literal for the most negative one."""
    suffix = "LL" if bits == 64 else "L" if bits == 32 else ""
    return f"(-{-(key + 1)}{suffix} - 1)" if key == -(1 << (bits - 1)) else f"{key}{suffix}"
