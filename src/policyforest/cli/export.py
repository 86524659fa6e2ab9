"""``policyforest export``: a saved policy as C99 or ONNX."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from policyforest._support.arguments import one_of
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.option_names import options_named
from policyforest.cli.output import Json, count_option, print_json, print_pairs
from policyforest.cli.output_files import require_output, require_output_folder
from policyforest.cli.policy_argument import PolicyFile, read_policy
from policyforest.data.transition_files import load_transitions
from policyforest.export import CExport, Precision, Style, export_c, export_onnx
from policyforest.export.int16 import list_lost
from policyforest.export.program import PRECISIONS, STYLES
from policyforest.policy.policy import Policy, Simplification


class ExportFormat(StrEnum):
    """The formats of an exported policy."""

    C = "c"
    ONNX = "onnx"


@dataclass(frozen=True)
class CodeOptions:
    """The options of the C code."""

    precision: Annotated[str, typer.Option(help="C: the precision, float64, float32 or int16.")] = "float64"
    style: Annotated[str, typer.Option(help="C: the style, table (small) or branches (fast for small trees).")] = (
        "table"
    )
    name: Annotated[str, typer.Option(help="C: the name of files and functions.")] = "policy"
    max_bytes: Annotated[
        int | None, typer.Option(help="C: refuse a policy that takes more bytes of flash than this.")
    ] = None


@dataclass(frozen=True)
class OneTreeOptions:
    """How a forest becomes one tree for each action before it is exported."""

    distil: Annotated[
        int | None,
        count_option("First learn one tree per action dimension from the policy, with at most this many leaves."),
    ] = None
    data: Annotated[
        Path | None, typer.Option(help="With --distil: the samples, .npz or .parquet; needed for three or more states.")
    ] = None
    max_leaves: Annotated[
        int | None,
        count_option(
            "First merge the trees of each action dimension into one tree with at most this many leaves; less "
            "exact than --distil."
        ),
    ] = None


@with_option_groups
def export(
    policy: PolicyFile,
    to: Annotated[ExportFormat, typer.Option(help="C99 or ONNX.")] = ExportFormat.C,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A directory (C) or an .onnx file.  [default: next to the policy]"),
    ] = None,
    *,
    code: CodeOptions,
    one_tree: OneTreeOptions,
    json: Json = False,
) -> None:
    """Write a policy as C99 for microcontrollers, or as ONNX.

    C comes as a directory with a self-test (make test), a README and an Arduino example. float64 and float32 give the
    policy's actions bit for bit; for int16, the error and a bound on it are printed."""
    forests = _load_forests(policy)
    one_of("--precision", code.precision, PRECISIONS)
    one_of("--style", code.style, STYLES)
    place = output or policy.with_suffix(".onnx" if to is ExportFormat.ONNX else "")
    _require_place(to, place)
    learned = _as_one_tree(forests, one_tree)
    if to is ExportFormat.ONNX:
        report = lines = _write_onnx(learned, place, code)
    else:
        written = _write_c(learned, place, code)
        report, lines = written.as_dict(), _lines(written)
    if learned.simplification is not None:
        report = report | {"one_tree": asdict(learned.simplification)}
        lines = lines | {"one tree": _moved(learned.simplification)}
    if json:
        print_json({"policy": str(policy), "to": to.value} | report)
    else:
        print_pairs(f"{policy} as {to.value}", lines)


def _require_place(to: ExportFormat, place: Path) -> None:
    """Refuses, before a tree is learned, a place that cannot be written."""
    if to is ExportFormat.ONNX:
        require_output("--output", place, ".onnx")
        return
    require_output_folder("--output", place)
    if not place.exists() and not place.absolute().parent.is_dir():
        raise FileNotFoundError(f"--output: is '{place}', must lie in a folder that exists")


def _load_forests(path: Path) -> Policy:
    policy = read_policy(path)
    if not isinstance(policy, Policy):
        raise ValueError(
            f"POLICY: {path} is of the kind {policy.kind!r}, must be a policy of forests; learn one with fpf-pwl"
        )
    return policy


def _as_one_tree(policy: Policy, options: OneTreeOptions) -> Policy:
    distil, data, max_leaves = options.distil, options.data, options.max_leaves
    if data is not None and distil is None:
        raise ValueError(f"--data: is {data}, must be left out without --distil")
    if distil is not None and max_leaves is not None:
        raise ValueError(f"--distil, --max-leaves: are {distil} and {max_leaves}, only one of them can be given")
    if distil is not None:
        samples = None if data is None else load_transitions(data)
        try:
            return policy.distil(distil, samples, n_jobs=-1)
        except ValueError as error:
            raise ValueError(f"--distil, --data: {error}") from error
    return policy if max_leaves is None else policy.simplify(max_leaves)


def _moved(tree: Simplification) -> str:
    apart = zip(tree.mean_change, tree.largest_change, strict=True)
    return "actions change by " + "; ".join(f"{mean:.3g} on average, {most:.3g} at most" for mean, most in apart)


def _write_c(policy: Policy, directory: Path, code: CodeOptions) -> CExport:
    precision, style = cast(Precision, code.precision), cast(Style, code.style)
    with options_named("name", "max_bytes"):
        return export_c(policy, directory, precision, style, code.name, code.max_bytes)


def _write_onnx(policy: Policy, path: Path, code: CodeOptions) -> dict[str, Any]:
    from policyforest.export.onnx import ML_OPSET, OPSET

    if code.precision not in ("float32", "float64") or code.style != "table":
        given = f"{code.precision!r}, {code.style!r}"
        raise ValueError(
            f"--precision, --style: are {given}, must be left out with ONNX: it is float32 and has no styles"
        )
    if code.max_bytes is not None:
        raise ValueError(f"--max-bytes: is {code.max_bytes}, must be left out with ONNX, which is not written to flash")
    export_onnx(policy, path)
    return {
        "file": str(path),
        "opset": f"{OPSET}, ai.onnx.ml {ML_OPSET}",
        "input": f"state, float32 (n, {policy.observation_space.shape[0]})",
        "output": f"action, float32 (n, {policy.action_space.shape[0]})",
        "actions": 'those of policy.astype("float32").act',
    }


def _lines(written: CExport) -> dict[str, str]:
    lines = {
        "directory": f"{written.directory}/ ({', '.join(written.files)})",
        "function": f"{written.name}_act(const {written.name}_real *state, {written.name}_real *action)",
        "size": f"{written.n_trees} trees, {written.n_leaves:,} leaves, {_bytes(written)}",
        "bound": f"at most {written.comparisons} comparisons per action, depth {written.depth}",
    }
    if written.error is None:
        lines["actions"] = f"those of policy.act in {written.precision}, bit for bit"
    else:
        error = written.error
        for j, (mean, largest, bound) in enumerate(zip(error.mean, error.largest, error.bound, strict=True)):
            lines[f"error of action {j}"] = f"mean {mean:.3g}, largest seen {largest:.3g}, never more than {bound:.3g}"
        if lost := list_lost(written.lost_splits):
            lines["empty splits"] = lost
    lines["test it"] = f"make -C {written.directory} test"
    return lines


def _bytes(written: CExport) -> str:
    return f"{written.n_bytes:,} bytes" + (" (estimated)" if written.style == "branches" else "")
