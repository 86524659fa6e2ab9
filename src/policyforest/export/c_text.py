"""The texts and numbers that fill the templates of the C files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest._support.labels import labels_of
from policyforest._support.spaces import bounds
from policyforest.export.branches import forest_function, tree_functions
from policyforest.export.int16 import list_lost
from policyforest.export.names import comment
from policyforest.export.program import CodeForest, Program
from policyforest.export.tree_table import TreeTable
from policyforest.policy.policy import Policy
from policyforest.policy.policy_info import PolicyInfo

if TYPE_CHECKING:
    from policyforest.export.c import CExport

WIDTH = 118


def header_facts(policy: Policy, program: Program, export: CExport) -> dict[str, Any]:
    """The description of the policy in the header, the README and the example."""
    from policyforest._support.version import __version__

    size = _size_text(export)
    return {
        "name": export.name,
        "upper": export.name.upper(),
        "guard": f"{export.name.upper()}_H",
        "title": f"a policy for {comment(policy.info.problem) or 'an unnamed problem'}",
        "origin": _origin_lines(policy.info, export, __version__),
        **_range_lines(policy),
        "worst_case": [
            f"{export.n_trees} trees of depth at most {export.depth}, {export.n_leaves} leaves",
            f"{export.comparisons} comparisons with thresholds",
            size,
        ],
        "errors": _error_lines(export),
        "comparisons": export.comparisons,
        "size_text": size[0].upper() + size[1:] + ".",
        "software": f"policyforest {__version__}",
        "precision": export.precision,
        "style": export.style,
        "real": program.real,
    }


def _origin_lines(info: PolicyInfo, export: CExport, version: str) -> list[str]:
    """How the policy was learned, and what exported it."""
    seed = info.settings.get("random_state")
    learned = [f"Learned by {comment(info.method)} from {info.n_samples} samples"]
    learned += [f"seed {comment(seed)}"] if seed is not None else []
    learned += [comment(info.created)] if info.created else []
    return [
        ", ".join(learned),
        f"with {comment(info.software) or 'unknown software'}; exported by policyforest {version} "
        f"for {export.precision}, style {export.style}.",
    ]


def _range_lines(policy: Policy) -> dict[str, list[str]]:
    """The names and ranges of the states and actions."""
    labels = labels_of(policy)

    def lines(names: Sequence[str], box: Floats) -> list[str]:
        ranges = enumerate(zip(names, box, strict=True))
        return [f"[{d}] {comment(name)} in [{low:.9g}, {high:.9g}]" for d, (name, (low, high)) in ranges]

    states = lines(labels.states, policy.state_box)
    for d in policy.periodic:
        states[d] += ", an angle: any number of turns"
    return {"states": states, "actions": lines(labels.actions, bounds(policy.action_space))}


def source_facts(program: Program, table: TreeTable | None) -> dict[str, Any]:
    """The contents of the source file."""
    first = np.cumsum([0, *(len(forest.trees) for forest in program.forests)]).tolist()
    return {
        "bits": program.bits,
        "n_states": program.n_states,
        "periodic": program.periodic,
        "whole_limit": 2.0**52 if program.precision == "float64" else 2.0**23,
        "lit": program.literal,
        "state_lo": program.state_lo,
        "state_scale": program.state_scale,
        "any_linear": any(forest.linear for forest in program.forests),
        "any_constant": any(not forest.linear for forest in program.forests),
        "copies_state": bool(program.periodic),
        "sum_type": "int32_t" if program.precision == "int16" else "real",
        "table": table,
        "word_rows": "" if table is None else _rows(map(_signed_literal(program.bits), table.words)),
        "root_rows": "" if table is None else _rows(map(_signed_literal(table.root_bits), _wrapped_roots(table))),
        "leaf_text": _leaf_text(program),
        "forests": [_forest_facts(program, f, j, table, first[j]) for j, f in enumerate(program.forests)],
    }


def recorded_rows(program: Program, states: NDArray[Any], actions: NDArray[Any]) -> list[dict[str, str]]:
    """The rows of the self-test."""

    def text(row: NDArray[Any]) -> str:
        return ", ".join(program.literal(number) for number in row)

    return [{"state": text(s), "action": text(a)} for s, a in zip(states, actions, strict=True)]


def _forest_facts(program: Program, forest: CodeForest, j: int, table: TreeTable | None, first: int) -> dict[str, Any]:
    more = ", x" if forest.linear and program.precision != "int16" else ""
    if table is not None:
        which = "linears" if forest.linear else "constants"
        total = f"sum_of_{which}({first}u, {first + len(forest.trees)}u, key{more})"
        lines = ""
    else:
        total = f"forest_{j}(key{more})"
        lines = "\n".join([*tree_functions(program, forest, j), *forest_function(program, forest, j)])
    if program.precision == "int16":
        value = f"{program.literal(forest.offset)} + (real){total} * {program.literal(forest.scale)}"
    elif len(forest.trees) == 1:
        value = total
    else:
        value = f"{total} / {program.literal(float(len(forest.trees)))}"
    return {
        "lo": forest.action_lo,
        "hi": forest.action_hi,
        "value": value,
        "lines": lines,
    }


def _leaf_text(program: Program) -> str:
    kinds = {forest.linear for forest in program.forests}
    if kinds == {False}:
        return "its value"
    intercept = "its constant in two words, the lower half first" if program.precision == "int16" else "its constant"
    return f"its {program.n_states} weights and {intercept}" + (", or its value" if False in kinds else "")


def _wrapped_roots(table: TreeTable) -> list[int]:
    """Roots as signed numbers of the same bits."""
    half = 1 << (table.root_bits - 1)
    return [root - 2 * half if root >= half else root for root in table.roots]


def _signed_literal(bits: int) -> Any:
    """Writes whole numbers in C, which has no literal for the most negative one."""
    suffix = {16: "", 32: "", 64: "LL"}[bits]
    lowest = -(1 << (bits - 1))

    def literal(value: int) -> str:
        return f"{value + 1}{suffix} - 1" if value == lowest else f"{value}{suffix}"

    return literal


def _rows(numbers: Any) -> str:
    return textwrap.fill(", ".join(numbers), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _size_text(export: CExport) -> str:
    if export.style == "table":
        return f"{export.n_bytes} bytes of flash: the tables and about 300 of code; no RAM but the stack"
    return f"about {export.n_bytes} bytes of code on a Cortex-M (estimated); no RAM but the stack"


def _error_lines(export: CExport) -> list[str]:
    if export.error is None:
        equal = "policy.act" if export.precision == "float64" else 'policy.astype("float32").act'
        return ["", f"Actions are those of {equal}, bit for bit."]
    error = export.error
    lines = ["", "Distance of the action from the policy's, over the states in the ranges above:"]
    columns: Sequence[tuple[float, float, float]] = list(zip(error.mean, error.largest, error.bound, strict=True))
    lines += [
        f"  [{j}] mean {mean:.3g}, largest seen {largest:.3g}, never more than {bound:.3g}"
        for j, (mean, largest, bound) in enumerate(columns)
    ]
    lost = list_lost(export.lost_splits)
    return lines + ([f"  splits whose one side became empty: {lost}"] if lost else [])
