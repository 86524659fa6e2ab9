"""Learning from scratch by planning with a learned model: its results within a budget, what the agent knows, and the
requirements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policyforest.paper import STUDIES
from policyforest.paper.cell_checks import CellResult
from policyforest.paper.exploration_requirements import LINES, RunLine
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import mean_interval

COLUMNS = (
    "problem",
    "learner",
    "known",
    "policy chosen by",
    "cells",
    "mean [95%]",
    "worst",
    "plans, mean",
    "CPU s, median (largest)",
    "requirement or aim",
)


def rows(cells: Cells, missing: bool = True) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table; with `missing` also the lines that have no cells yet."""
    made = []
    for line in LINES:
        expected = len(STUDIES[line.study].all_seeds(cells.scale))
        found = list(cells.by_seed(line.study).values())
        if found:
            made.append(_row(line, found, max(expected, len(found)), line.limit_in(cells)))
        elif missing:
            required = "; ".join(f"{text}: no cells" for text in _texts(line))
            made.append((*_names(line), _count(0, expected), *("-",) * 4, required))
    return COLUMNS, made


def _row(line: RunLine, found: Sequence[CellResult], expected: int, limit: float | None) -> tuple[str, ...]:
    parts = [result[line.part] for result in found]
    values = np.array([float(part[line.value]) for part in parts])
    seconds = np.array([float(part["cpu_seconds"]) for part in parts])
    plans = float(np.mean([part["plans"] for part in parts]))
    mean = f"{values.mean():.4g}"
    if len(values) > 1:
        low, high = mean_interval(values)
        mean = f"{mean} [{low:.4g}, {high:.4g}]"
    words = {True: "met", False: "not met", None: "needs the limit"}
    so_far = "" if len(found) == expected else " so far"
    exploring = np.array([float(part.get("exploring_seconds", np.inf)) for part in parts])
    held = [
        requirement.holds(exploring if requirement.statistic == "seconds" else values, limit)
        for requirement in line.requirements
    ]
    judged = [f"{text}: {words[holds]}{so_far}" for text, holds in zip(_texts(line), held, strict=True)]
    digits = 2 if seconds.max() < 1.0 else 0
    cost = f"{np.median(seconds):.{digits}f} ({seconds.max():.{digits}f})"
    counted = _count(len(found), expected)
    return *_names(line), counted, mean, f"{values.min():.4g}", f"{plans:.1f}", cost, "; ".join(judged) or "-"


def _names(line: RunLine) -> tuple[str, ...]:
    chosen = "10 episodes each" if line.validated else "the ensemble" if line.learner == "ours" else "-"
    return line.name, line.learner, line.known, chosen


def _texts(line: RunLine) -> list[str]:
    what = " balanced" if line.value == "balanced" else ""
    word = "aim: " if line.aim else ""
    return [f"{word}{requirement.text()}{what}" for requirement in line.requirements]


def _count(done: int, expected: int) -> str:
    return f"{done} of {expected}" + (f", {expected - done} missing" if done < expected else "")
