"""``policyforest export``: a saved policy as C99 or ONNX."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest.cli.evaluate import PolicyFile
from policyforest.cli.output import Json, print_json, print_pairs
from policyforest.data.transition_files import load_transitions
from policyforest.export import CExport, Precision, Style, export_c, export_onnx
from policyforest.export.int16 import list_lost
from policyforest.policy.policy import Policy, Simplification
from policyforest.policy.policy_files import load


class ExportFormat(StrEnum):
    """What a policy can become."""

    C = "c"
    ONNX = "onnx"


def export(
    policy: PolicyFile,
    to: Annotated[ExportFormat, typer.Option(help="C99 or ONNX.")] = ExportFormat.C,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A directory (c) or a file .onnx.  [default: beside the policy]"),
    ] = None,
    precision: Annotated[str, typer.Option(help="C: float64, float32 or int16.")] = "float64",
    style: Annotated[str, typer.Option(help="C: table (small) or branches (fast for small trees).")] = "table",
    name: Annotated[str, typer.Option(help="C: what files and functions are called.")] = "policy",
    max_bytes: Annotated[int | None, typer.Option(help="C: refuse to write more flash than this.")] = None,
    distil: Annotated[
        int | None,
        typer.Option(help="First grow one tree of at most this many leaves an action on what the policy does."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="With --distil: the samples, .npz or .parquet; for three states or more.")
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="First merge into one tree of at most this many leaves an action; moves further.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a policy as C99 for microcontrollers, or as ONNX.

    C comes as a directory with a self-test (make test), a README and an Arduino example. float64 and float32 give the
    policy's actions bit for bit; for int16 the distance is printed, and a bound on it."""
    learned = load(policy)
    if not isinstance(learned, Policy):
        raise ValueError(
            f"POLICY: {policy} is of the kind {learned.kind!r}, must be a policy of forests; learn one with fpf-pwl"
        )
    learned = _as_one_tree(learned, distil, data, max_leaves)
    if to is ExportFormat.ONNX:
        report = _write_onnx(learned, output or policy.with_suffix(".onnx"), precision, style, max_bytes)
        lines = report
    else:
        written = export_c(
            learned, output or policy.with_suffix(""), _precision(precision), _style(style), name, max_bytes
        )
        report, lines = written.as_dict(), _lines(written)
    if learned.simplification is not None:
        report = report | {"one_tree": asdict(learned.simplification)}
        lines = lines | {"one tree": _moved(learned.simplification)}
    if json:
        print_json({"policy": str(policy), "to": to.value} | report)
    else:
        print_pairs(f"{policy} as {to.value}", lines)


def _as_one_tree(policy: Policy, distil: int | None, data: Path | None, max_leaves: int | None) -> Policy:
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
    return "actions moved by " + "; ".join(f"{mean:.3g} in the mean, {most:.3g} at most" for mean, most in apart)


def _precision(text: str) -> Precision:
    return text  # type: ignore[return-value]  # export_c refuses what it does not know


def _style(text: str) -> Style:
    return text  # type: ignore[return-value]


def _write_onnx(policy: Policy, path: Path, precision: str, style: str, max_bytes: int | None) -> dict[str, Any]:
    from policyforest.export.onnx import ML_OPSET, OPSET

    if precision not in ("float32", "float64") or style != "table":
        raise ValueError(f"--precision, --style: are {precision!r}, {style!r}; ONNX is float32 and has no styles")
    if max_bytes is not None:
        raise ValueError(f"--max-bytes: is {max_bytes}, must be left out with ONNX, whose size is no flash")
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
        "bound": f"at most {written.comparisons} comparisons an action, depth {written.depth}",
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
