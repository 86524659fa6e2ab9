"""A verdict for each claim of the paper, computed from the cells: confirmed, refuted or undecided.

A claim that one method is better is confirmed if p < 0.05 in its direction at every place for which the paper makes it.
The claim is refuted if p < 0.05 in the other direction at any place, or if the methods are shown to be equal at any
place, that is, if the 95% interval of the difference lies within a margin. A difference counts only if the mean and the
ranks point in the same direction. A claim that something does not hurt, or is comparable, needs an interval that
excludes a loss beyond the margin. If cells are missing, or if there are too few of them, the verdict is "undecided",
with the evidence so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper import STUDIES
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import FEWEST, bootstrap, rank_direction, wilcoxon

LEVEL = 0.05
MARGIN = 0.10
"""The difference that "comparable" allows, as a part of the reference return"""
Ruling = Literal["confirmed", "refuted", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What the cells show about a claim."""

    ruling: Ruling
    evidence: str
    """The test and its numbers"""
    p: float | None = None
    note: str = ""
    """The differences of our setting from the paper's, and the reasons"""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, where it can be seen, and how it is tested."""

    name: str
    text: str
    exhibits: tuple[str, ...]
    studies: tuple[str, ...]
    test: Callable[[Cells], Finding]
    fewest: int = FEWEST
    """The fewest cells of each study; with fewer, nothing is decided"""


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    finding: Finding
    done: int
    total: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "claim": self.claim.name,
            "text": self.claim.text,
            "exhibits": list(self.claim.exhibits),
            "cells": f"{self.done}/{self.total}",
            **asdict(self.finding),
        }


def judge(claim: Claim, cells: Cells) -> Verdict:
    results = {name: cells.results(name) for name in claim.studies}
    total = sum(STUDIES[name].seeds[cells.scale] for name in claim.studies)
    done = sum(map(len, results.values()))
    if not all(results.values()):
        return Verdict(claim, Finding("undecided", "its cells are not computed yet"), done, total)
    finding = claim.test(cells)
    few = any(len(found) < claim.fewest for name, found in results.items() if STUDIES[name].kind != "limits")
    if done < total or few:
        so_far = f"too few cells ({done} of {total}); these cells alone give: {finding.ruling}. {finding.evidence}"
        finding = replace(finding, ruling="undecided", evidence=so_far)
    return Verdict(claim, finding, done, total)


def better(pairs: Sequence[tuple[str, Floats, Floats]], words: str) -> Finding:
    """Whether the first of each pair is higher at all places; the largest p-value counts."""
    told, largest_p, against = [], 0.0, []
    rulings: list[Ruling] = []
    for place, a, b in pairs:
        d = a - b
        p, (low, high) = wilcoxon(d), bootstrap(d)
        told.append(f"{place}: {np.mean(d):+.4g} [{low:.4g}, {high:.4g}], {p_text(p)}")
        largest_p = max(largest_p, p)
        rulings.append(_better_there(d, p, max(-low, high) < MARGIN * abs(float(np.mean(b)))))
        if rulings[-1] == "refuted":
            against.append(f"{place} ({'worse' if p < LEVEL else 'equal'})")
    evidence = f"{words}, paired Wilcoxon test, mean difference [95% bootstrap]; {'; '.join(told)}"
    if against:
        return Finding("refuted", evidence, largest_p, f"The claim does not hold at {', '.join(against)}.")
    return Finding("confirmed" if set(rulings) == {"confirmed"} else "undecided", evidence, largest_p)


def _better_there(d: Floats, p: float, within_margin: bool) -> Ruling:
    up, down = np.mean(d) > 0 and rank_direction(d) > 0, np.mean(d) < 0 and rank_direction(d) < 0
    if p < LEVEL:
        return "confirmed" if up else "refuted" if down else "undecided"
    return "refuted" if within_margin else "undecided"


def noted(finding: Finding, note: str) -> Finding:
    """The finding with one more sentence about it."""
    return replace(finding, note=f"{finding.note} {note}".strip())


def p_text(p: float) -> str:
    return "p < 1e-4" if p < 1e-4 else f"p = {p:.2g}"
