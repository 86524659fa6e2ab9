"""Certificates of closed loops: what is proved about each system, the cost, and what is required."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from policyforest.paper import STUDIES
from policyforest.paper.cell_checks import CellResult
from policyforest.paper.finished_cells import Cells

COLUMNS = (
    "what",
    "cells of the study",
    "certified share of the box",
    "cells of the certificate",
    "CPU s",
    "wall s",
    "MB",
    "check, CPU s",
    "required",
)
JudgedProof = Callable[[CellResult], bool]


@dataclass(frozen=True)
class CertificateLine:
    """A line of the table: the cells of a study, or some of them."""

    name: str
    study: str
    required: str
    holds: JudgedProof
    chosen: Callable[[CellResult], bool] = lambda result: True


def _quick(result: CellResult, seconds: float) -> bool:
    return bool(result["accepted"]) and result["search_seconds"] < seconds


def _kernel(result: CellResult) -> bool:
    return _quick(result, 60.0) and result["kernel_share"] >= 0.5


def _upright(result: CellResult) -> bool:
    return _quick(result, 60.0) and bool(result["contains"])


def _learned(result: CellResult) -> bool:
    return bool(result["accepted"]) and result["share"] > 0.0


def _simulated(result: CellResult) -> bool:
    """Whether the simulation agrees with the certificate.

    No state may leave the set while the errors of the model are within the bound. The share of steps beyond the bound
    must be at most the share that the model's clause states, both among the steps of the trajectories and among new
    steps like the held-out steps."""
    allowed = 1.0 - result["stated_share"]
    beyond = result["beyond"] <= allowed * result["simulated"] and result["fresh_beyond"] <= allowed * result["fresh"]
    return bool(result["left_within"] == 0 and beyond)


def _balanced(result: CellResult) -> bool:
    return _quick(result, 600.0) and bool(result["contains"]) and result["peak_mb"] < 4_000


def _rejected(result: CellResult) -> bool:
    return (
        bool(result["accepted"])
        and result["rejected"] == result["corruptions"]
        and result["gaps_rejected"] == result["gaps"]
    )


def _costs() -> tuple[CertificateLine, ...]:
    from policyforest.paper.certificate_studies import COST_DIMENSIONS

    return tuple(
        CertificateLine(
            f"cost, {n} state{'s' if n > 1 else ''}",
            "certificate-cost",
            "accepted",
            lambda r: bool(r["accepted"]),
            _of_dimension(n),
        )
        for n in COST_DIMENSIONS
    )


def _of_dimension(n: int) -> Callable[[CellResult], bool]:
    return lambda result: result["dimensions"] == n


BALANCING = "accepted, contains ±0.05 of the limits, in 10 min and 4 GB"
LINES = (
    CertificateLine(
        "Double Integrator", "certificate-double-integrator",
        "accepted, at least 50% of the viability kernel in 60 s", _kernel,
    ),
    CertificateLine(
        "Pendulum 6 kg, ±10 N", "certificate-pendulum-6kg", "accepted, contains ±0.1 rad, ±0.3 rad/s, in 60 s", _upright
    ),
    CertificateLine("Pendulum 6 kg, learned model", "certificate-pendulum-6kg-learned", "accepted", _learned),
    CertificateLine(
        "true pendulum, simulated", "certificate-simulation",
        "no state leaves while errors are within the bound; no more steps beyond it than stated", _simulated,
    ),
    CertificateLine("one tree, int16", "certificate-tree-int16", "accepted as exported", _learned),
    CertificateLine(
        "cart-pole, one linear leaf", "certificate-cart-pole", BALANCING, _balanced
    ),
    CertificateLine(
        "cart-pole, many leaves", "certificate-cart-pole-leaves", BALANCING, _balanced
    ),
    CertificateLine("changed files", "certificate-corruptions", "all rejected", _rejected),
    *_costs(),
)  # fmt: skip


def rows(cells: Cells, missing: bool = True) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table; with `missing` also the lines that have no cells yet."""
    made = []
    for line in LINES:
        found = [result for result in cells.results(line.study) if line.chosen(result)]
        expected = len(STUDIES[line.study].all_seeds(cells.scale))
        if line.study == "certificate-cost":
            expected = max(1, expected // 4)
        if found:
            made.append(_row(line, found, max(expected, len(found))))
        elif missing:
            made.append((line.name, f"0 of {expected}", *("-",) * 6, f"{line.required}: no cells"))
    return COLUMNS, made


def _row(line: CertificateLine, found: Sequence[CellResult], expected: int) -> tuple[str, ...]:
    held = sum(line.holds(result) for result in found)
    word = "met" if held == len(found) else f"not met by {len(found) - held}"
    so_far = " so far" if len(found) < expected else ""
    return (
        line.name,
        f"{len(found)} of {expected}",
        _span([100 * result["share"] for result in found], "%"),
        _span([result["cells"] for result in found]),
        *(_span([r[key] for r in found]) for key in ("search_seconds", "wall_seconds", "peak_mb", "check_seconds")),
        f"{line.required}: {word}{so_far}{_numbers(found)}",
    )


def _numbers(found: Sequence[CellResult]) -> str:
    """Further numbers of a line."""
    if "kernel_share" in found[0]:
        return f" ({_span([100 * r['kernel_share'] for r in found], '%')} of the kernel)"
    if "simulated" in found[0]:
        return _simulated_numbers(found)
    if "rejected" in found[0]:
        total = {key: sum(r[key] for r in found) for key in found[0] if isinstance(found[0][key], int)}
        return (
            f" ({total['rejected']:,} of {total['corruptions']:,}; with the digests computed again, "
            f"{total['gaps_rejected']:,} of {total['gaps']:,} that a simple test shows to be false, and "
            f"{total['others_rejected']:,} of {total['others']:,} others)"
        )
    return ""


def _simulated_numbers(found: Sequence[CellResult]) -> str:
    """Steps beyond the bound, compared with the share that the model's clause states."""
    keys = ("simulated", "starts", "beyond", "beyond_first", "left_within", "fresh", "fresh_beyond")
    total, starts, beyond, first, left, fresh, fresh_beyond = (sum(r[key] for r in found) for key in keys)
    return (
        f" ({starts:,} starts, {total:,} steps, {left} left the set within the bound; beyond the bound: "
        f"{100 * beyond / total:.4f}% of the steps, {100 * first / starts:.3g}% of the first steps, "
        f"{100 * fresh_beyond / fresh:.3g}% of {fresh:,} new steps like the held-out steps; stated: at most "
        f"{100 * (1 - found[0]['stated_share']):.3g}%)"
    )


def _span(values: Sequence[float], unit: str = "") -> str:
    low, high = float(np.min(values)), float(np.max(values))
    texts = [f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}" for x in (low, high)]
    return texts[0] + unit if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}{unit}"
