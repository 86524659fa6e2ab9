"""Planning with a learned model: the return on each problem, compared with that of the start policy, with the limit and
with the requirement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper import STUDIES
from policyforest.paper.cell_checks import CellResult
from policyforest.paper.finished_cells import Cells
from policyforest.paper.planning_requirements import LINES, MOST_SECONDS, PlanningLine
from policyforest.paper.planning_studies import SIZES
from policyforest.paper.statistics import mean_interval

COLUMNS = (
    "problem",
    "cells",
    "start policy, mean",
    "mean [95%]",
    "median",
    "worst",
    "limit",
    "kept improvements",
    "worse than the start policy (largest loss / distance of the start policy from the limit)",
    "CPU s, median (largest)",
    "peak MB, largest",
    "required",
)


def rows(cells: Cells, missing: bool = True) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table; with `missing` also the lines that have no cells yet."""
    made = []
    for line in LINES:
        expected = sum(_belongs(line, seed) for seed in STUDIES[line.study].all_seeds(cells.scale))
        found = [result for seed, result in cells.by_seed(line.study).items() if _belongs(line, seed)]
        if found:
            # If "quick" has no cells because they need an extra, the cells of the scale "paper" are shown, of which
            # there are more.
            made.append(_row(line, found, max(expected, len(found)), line.limit_in(cells)))
        elif missing and expected:
            made.append(_empty_row(line, expected, line.limit_in(cells)))
    return COLUMNS, made


def _belongs(line: PlanningLine, seed: int) -> bool:
    return line.size is None or SIZES[seed % len(SIZES)] == line.size


def _empty_row(line: PlanningLine, expected: int, limit: float | None) -> tuple[str, ...]:
    required = "; ".join(f"{text}: no cells" for text in _required_texts(line))
    return (line.name, _count(0, expected), *("-",) * 4, _number(limit), *("-",) * 4, required)


def _row(line: PlanningLine, found: Sequence[CellResult], expected: int, limit: float | None) -> tuple[str, ...]:
    values = np.array([line.value(result["planned"]) for result in found])
    starts = np.array([line.value(result["start"]) for result in found])
    seconds = np.array([result["planned"]["cpu_seconds"] for result in found])
    kept = sum(bool(result["planned"]["kept"]) for result in found)
    return (
        line.name,
        _count(len(found), expected),
        _number(starts.mean()),
        _mean(values),
        _number(np.median(values)),
        _number(line.sense * (line.sense * values).min()),
        _number(limit),
        f"{kept} of {len(found)}",
        _worse(line.sense * starts, line.sense * values, None if limit is None else line.sense * limit),
        f"{np.median(seconds):.1f} ({seconds.max():.1f})",
        f"{max(result['planned']['peak_mb'] for result in found):.0f}",
        _judged(line, values, seconds, limit, complete=len(found) == expected),
    )


def _count(done: int, expected: int) -> str:
    return f"{done} of {expected}" + (f", {expected - done} missing" if done < expected else "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _mean(values: Floats) -> str:
    if len(values) == 1:
        return _number(values[0])
    low, high = mean_interval(values)
    return f"{_number(values.mean())} [{_number(low)}, {_number(high)}]"


def _worse(starts: Floats, planned: Floats, limit: float | None) -> str:
    """How many cells are worse than their start policy, and the largest loss; all are scores, where more is better."""
    losses = starts - planned
    worse = losses > 0
    text = f"{int(worse.sum())} of {len(planned)}"
    if not worse.any() or limit is None:
        return text
    distances = limit - starts[worse]
    shares = np.where(distances > 0, losses[worse] / np.maximum(distances, 1e-12), math.inf)
    most = float(shares.max())
    return f"{text} ({most:.0%})" if math.isfinite(most) else f"{text} (a start is at the limit)"


def _required_texts(line: PlanningLine) -> list[str]:
    sign = "≥" if line.sense == 1 else "≤"
    return [*(requirement.text(sign) for requirement in line.requirements), f"CPU ≤ {MOST_SECONDS:g} s"]


def _judged(line: PlanningLine, values: Floats, seconds: Floats, limit: float | None, complete: bool) -> str:
    scores = line.sense * values
    held = [*(r.holds(scores, limit, line.sense) for r in line.requirements), bool(seconds.max() <= MOST_SECONDS)]
    words = {True: "met", False: "not met", None: "needs the limit"}
    so_far = "" if complete else " so far"
    pairs = zip(_required_texts(line), held, strict=True)
    return "; ".join(f"{text}: {words[holds]}{so_far if holds is not None else ''}" for text, holds in pairs)
