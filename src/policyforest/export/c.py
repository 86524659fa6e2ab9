"""A policy as C99: a header and a source file, in a directory that is ready to use.

The default style is a table and a loop (small, compiles at once); "branches" is nested ifs (fastest for small trees).
float64 gives the actions of ``policy.act`` bit for bit, float32 those of ``policy.astype("float32").act``, int16 those
of `QuantisedPolicy`, whose distance from the policy is measured and bounded here.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import one_of, whole_number
from policyforest.export.branches import require_shallow
from policyforest.export.c_text import header_facts, recorded_rows, source_facts
from policyforest.export.directory import write_directory
from policyforest.export.error_bound import QuantisationError, quantisation_error
from policyforest.export.int16 import QuantisedPolicy, quantise
from policyforest.export.names import require_name
from policyforest.export.probing import probing_states
from policyforest.export.program import PRECISIONS, STYLES, Precision, Program, Style, float_program
from policyforest.export.signal_text import require_resolution, signal_facts
from policyforest.export.tree_table import TreeTable, make_tree_table
from policyforest.policy.float32_policy import Float32Policy, float32_policy
from policyforest.policy.policy import Policy

# Bytes of code on a Cortex-M4F (-Os), measured: the loop over a table, and what nested ifs take.
LOOP_BYTES = 320
BRANCH_BYTES, LEAF_BYTES = 14, 12
# Recorded states and actions must fit into the RAM of an ATmega328P together with the program's own data.
RECORDED_BYTES, MOST_RECORDED = 900, 64


@dataclass(frozen=True)
class CExport:
    """The files that were written, and their cost."""

    directory: Path
    files: tuple[str, ...]
    name: str
    precision: Precision
    style: Style
    n_trees: int
    n_leaves: int
    depth: int
    comparisons: int
    """The largest number of comparisons for one action"""
    n_bytes: int
    """The bytes of the tables, exact (style "table"), or of the code on a Cortex-M4F, estimated ("branches")"""
    error: QuantisationError | None = None
    """int16: the distance from the policy"""
    lost_splits: tuple[int, ...] = ()
    """int16: splits with an empty side after quantising, one number per state dimension"""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"directory": str(self.directory)}


def export_c(
    policy: Policy,
    directory: str | os.PathLike[str],
    precision: Precision = "float64",
    style: Style = "table",
    name: str = "policy",
    max_bytes: int | None = None,
) -> CExport:
    """Writes a policy as C99 into a directory, which is created if it is missing.

    Either all files are written or none. A policy is refused if its tables (or, with "branches", its code by estimate)
    take more than `max_bytes`."""
    if not isinstance(policy, Policy):
        raise TypeError(f"policy: is a {type(policy).__name__}, must be a Policy of forests to be exported as C")
    one_of("precision", precision, PRECISIONS)
    one_of("style", style, STYLES)
    require_name(name)
    program, runner = _compiled(policy, precision)
    table = _table(policy, program, style)
    export = _described(policy, program, runner, Path(directory), name, style, _size(program, table))
    _require_room(export, max_bytes)
    if isinstance(runner, QuantisedPolicy):
        require_resolution(policy, runner)
    facts = {"recorded": recorded_rows(program, *_recorded(policy, runner))} | signal_facts(policy, program, runner)
    files = _files(policy, program, table, export, facts)
    write_directory(Path(directory), files)
    return replace(export, files=tuple(files))


Runner = Policy | Float32Policy | QuantisedPolicy


def _compiled(policy: Policy, precision: Precision) -> tuple[Program, Runner]:
    """The program, and the object that computes its actions here."""
    if precision == "int16":
        quantised = quantise(policy)
        return quantised.program(), quantised
    if precision == "float32":
        single = float32_policy(policy)
        return float_program(single.rounded, precision), single
    plain = policy.with_outside("nearest")
    return float_program(plain, precision), plain


def _table(policy: Policy, program: Program, style: Style) -> TreeTable | None:
    """The table of the trees; None for nested ifs, which must not be too deep for a compiler."""
    if style == "table":
        return make_tree_table(program)
    require_shallow(_depth(policy))
    return None


def _depth(policy: Policy) -> int:
    return max(forest.depth for forest in policy.forests)


def _described(
    policy: Policy, program: Program, runner: Runner, directory: Path, name: str, style: Style, n_bytes: int
) -> CExport:
    """The description of the export; the names of the files are added when they are known."""
    quantised = runner if isinstance(runner, QuantisedPolicy) else None
    return CExport(
        directory=directory,
        files=(),
        name=name,
        precision=program.precision,
        style=style,
        n_trees=program.n_trees,
        n_leaves=policy.n_leaves,
        depth=_depth(policy),
        comparisons=policy.worst_case_comparisons,
        n_bytes=n_bytes,
        error=None if quantised is None else quantisation_error(quantised),
        lost_splits=() if quantised is None else quantised.lost_splits,
    )


def _require_room(export: CExport, max_bytes: int | None) -> None:
    if max_bytes is not None and export.n_bytes > whole_number("max_bytes", max_bytes, at_least=1):
        advice = "simplify the policy, or export it for int16" if export.precision != "int16" else "simplify the policy"
        raise ValueError(f"max_bytes: is {max_bytes}, but the policy takes {export.n_bytes} bytes; {advice}")


def _size(program: Program, table: TreeTable | None) -> int:
    if table is not None:
        return table.n_bytes + LOOP_BYTES
    leaves = sum(int(tree.models.size) for forest in program.forests for tree in forest.trees)
    splits = sum(len(tree.feature) - len(tree.models) for forest in program.forests for tree in forest.trees)
    return leaves * LEAF_BYTES + splits * BRANCH_BYTES


def _recorded(policy: Policy, runner: Runner) -> tuple[NDArray[Any], NDArray[Any]]:
    """States that test the code, and the actions for them."""
    real = np.float64 if isinstance(runner, Policy) else np.float32
    row = real().itemsize * (policy.observation_space.shape[0] + policy.action_space.shape[0])
    with np.errstate(all="ignore"):  # some of these states are subnormal on purpose
        states = probing_states(policy, int(np.clip(RECORDED_BYTES // row, 8, MOST_RECORDED))).astype(real)
        return states, runner.act_batch(states).astype(real)


def _files(
    policy: Policy,
    program: Program,
    table: TreeTable | None,
    export: CExport,
    more: dict[str, Any],
) -> dict[str, str]:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("policyforest.export"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    facts = header_facts(policy, program, export) | source_facts(program, table)
    facts |= more
    name = export.name
    templates = {
        f"{name}.h": "policy.h.j2",
        f"{name}.c": "policy.c.j2",
        "main.c": "main.c.j2",
        "Makefile": "Makefile.j2",
        "README.md": "README.md.j2",
        "library.properties": "library.properties.j2",
        "platformio.ini": "platformio.ini.j2",
        f"examples/{name}_example/{name}_example.ino": "example.ino.j2",
    }
    return {path: environment.get_template(template).render(facts) for path, template in templates.items()}
