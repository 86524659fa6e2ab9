"""Real systems: late commands, hidden speeds, an improved controller, known rewards and exported C, with what is
required of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper import STUDIES
from policyforest.paper.cell_checks import CellResult
from policyforest.paper.finished_cells import Cells
from policyforest.paper.real_system_studies import COSTS
from policyforest.paper.statistics import mean_interval

COLUMNS = ("what", "cells", "mean [95%]", "worst", "compared with", "required")
WITHIN_LATE, WITHIN_ANGLE = 0.10, 0.25
"""How far returns may be below the limit, and below the result with all states measured, as fractions of these"""

JudgedLine = Callable[[Sequence[CellResult], float | None], bool | None]


@dataclass(frozen=True)
class RealSystemLine:
    """A line of the table: one method of a study, another to compare with, and a requirement."""

    name: str
    study: str
    method: str
    beside: str
    required: str
    holds: JudgedLine
    delay: int | None = None
    """The limit that the requirement refers to"""
    paired: bool = False
    """Whether the difference from the other method is shown, with its interval"""


def _mean(found: Sequence[CellResult], method: str) -> float:
    return float(np.mean([result[method]["return"] for result in found]))


def _late(delay: int) -> JudgedLine:
    def holds(found: Sequence[CellResult], limit: float | None) -> bool | None:
        if limit is None:
            return None
        right = all(result["found"].get("delay") == delay for result in found)
        return right and _mean(found, "found") >= limit - WITHIN_LATE * abs(limit)

    return holds


def _angle(found: Sequence[CellResult], limit: float | None) -> bool:
    whole = _mean(found, "found")
    return _mean(found, "angle") >= whole - WITHIN_ANGLE * abs(whole)


def _improved(found: Sequence[CellResult], limit: float | None) -> bool:
    better = all(r["improved"]["return"] > r["baseline"]["return"] for r in found)
    stated = all(r["improved"].get("statement") == "better" for r in found)
    return better and stated and all(r["worse"].get("statement") != "better" for r in found)


def _gains(found: Sequence[CellResult], method: str, beside: str) -> Floats:
    """How much better a method is than another in each cell; both learned from the same samples."""
    return np.array([result[method]["return"] - result[beside]["return"] for result in found])


def _known(found: Sequence[CellResult], limit: float | None) -> bool:
    gains = _gains(found, "known", "learned")
    return float(gains.mean() if len(gains) < 2 else mean_interval(gains)[1]) >= 0.0


def _equal(found: Sequence[CellResult], limit: float | None) -> bool:
    return all(result[precision]["return"] == 0 for result in found for precision in ("float64", "float32"))


LATE = {1: "1 step", 2: "2 steps"}
LINES = (
    *(
        RealSystemLine(f"commands {steps} late", f"real-delay-{n}", "found", "ignored",
             f"delay found in every cell, mean within {WITHIN_LATE:.0%} of the limit", _late(n), n)
        for n, steps in LATE.items()
    ),
    *(
        RealSystemLine(f"commands {steps} late, angle alone", f"real-delay-{n}", "angle", "found",
             f"mean within {WITHIN_ANGLE:.0%} of the full state's", _angle)
        for n, steps in LATE.items()
    ),
    RealSystemLine("PID improved", "real-pid", "improved", "baseline",
         "better and stated so in every cell, a worse policy never called better", _improved),
    *(
        RealSystemLine(f"known reward, {problem}", f"real-known-reward-{problem}", "known", "learned",
             "the 95% interval of the paired difference reaches 0 or lies above it", _known, paired=True)
        for problem in COSTS
    ),
    RealSystemLine("steps of C that differ", "real-c-bits", "float64", "float32", "none", _equal),
)  # fmt: skip


def rows(cells: Cells) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table; a line without cells shows "no cells"."""
    limits = {number: result["return"] for number, result in cells.by_seed("real-delay-limits").items()}
    made = []
    for line in LINES:
        found = list(cells.by_seed(line.study).values())
        expected = len(STUDIES[line.study].all_seeds(cells.scale))
        limit = None if line.delay is None else limits.get(line.delay)
        made.append(_row(line, found, max(expected, len(found)), limit))
    return COLUMNS, made


def _row(line: RealSystemLine, found: Sequence[CellResult], expected: int, limit: float | None) -> tuple[str, ...]:
    if not found:
        return (line.name, f"0 of {expected}", "-", "-", "-", f"{line.required}: no cells")
    values = np.array([result[line.method]["return"] for result in found])
    mean = f"{values.mean():.4g}"
    if len(values) > 1:
        low, high = mean_interval(values)
        mean += f" [{low:.4g}, {high:.4g}]"
    beside = f"{line.beside} {_mean(found, line.beside):.4g}" + ("" if limit is None else f", limit {limit:.4g}")
    if line.paired and len(found) > 1:
        gains = _gains(found, line.method, line.beside)
        low, high = mean_interval(gains)
        beside += f", difference {gains.mean():+.3g} [{low:+.3g}, {high:+.3g}]"
    word = {True: "met", False: "not met", None: "needs the limit"}[line.holds(found, limit)]
    so_far = " so far" if len(found) < expected and word != "needs the limit" else ""
    count = f"{len(found)} of {expected}"
    return (line.name, count, mean, f"{values.min():.4g}", beside, f"{line.required}: {word}{so_far}")
