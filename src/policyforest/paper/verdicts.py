"""A verdict for each claim of the paper, computed from the cells: confirmed, refuted or undecided.

A claim that one method is better needs p < 0.05 in its direction at each place it is claimed for. The other direction
at any place refutes it, and so does a place where both are shown to be equal. Two are equal where the 95% interval of
the difference lies within a margin that is named. Where cells are missing or are too few, the verdict is "undecided",
with what they say so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from policyforest.arguments import Floats
from policyforest.paper import STUDIES
from policyforest.paper.exhibits.cells import Cells
from policyforest.paper.statistics import bootstrap, wilcoxon

LEVEL = 0.05
MARGIN = 0.10
"""Of the return that is compared with: what "comparable" allows"""
FEWEST = 10
"""Cells of a study, with fewer of which nothing is decided"""
Ruling = Literal["confirmed", "refuted", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What the cells say of a claim."""

    ruling: Ruling
    evidence: str
    """The test and its numbers"""
    p: float | None = None
    note: str = ""
    """Where ours differs from the paper, and why"""


@dataclass(frozen=True)
class Claim:
    """What the paper says, where it can be seen, and how it is tested."""

    name: str
    text: str
    exhibit: str
    studies: tuple[str, ...]
    test: Callable[[Cells], Finding]


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
            "exhibit": self.claim.exhibit,
            "cells": f"{self.done}/{self.total}",
            **asdict(self.finding),
        }


def judge(claim: Claim, cells: Cells) -> Verdict:
    results = {name: STUDIES[name].results(cells.out, cells.scale) for name in claim.studies}
    total = sum(STUDIES[name].seeds[cells.scale] for name in claim.studies)
    done = sum(map(len, results.values()))
    if not all(results.values()):
        return Verdict(claim, Finding("undecided", "its cells are not computed yet"), done, total)
    finding = claim.test(cells)
    few = any(len(found) < FEWEST for name, found in results.items() if STUDIES[name].kind != "limits")
    if done < total or few:
        so_far = f"too few cells ({done} of {total}); they would say: {finding.ruling}. {finding.evidence}"
        finding = replace(finding, ruling="undecided", evidence=so_far)
    return Verdict(claim, finding, done, total)


def better(pairs: Sequence[tuple[str, Floats, Floats]], words: str) -> Finding:
    """Whether the first of each pair is higher, at all places: the largest p-value counts."""
    told, largest_p, against = [], 0.0, []
    rulings: list[Ruling] = []
    for place, a, b in pairs:
        p, difference = wilcoxon(a - b), float(np.mean(a - b))
        low, high = bootstrap(a - b)
        told.append(f"{place}: {difference:+.4g} [{low:.4g}, {high:.4g}], {p_text(p)}")
        largest_p = max(largest_p, p)
        rulings.append(_better_there(p, difference, max(-low, high) < MARGIN * abs(float(np.mean(b)))))
        if rulings[-1] == "refuted":
            against.append(f"{place} ({'lower' if p < LEVEL else 'equal'})")
    evidence = f"{words}, paired Wilcoxon test, mean difference [95% bootstrap]; {'; '.join(told)}"
    if against:
        return Finding("refuted", evidence, largest_p, f"Not so at {', '.join(against)}.")
    return Finding("confirmed" if set(rulings) == {"confirmed"} else "undecided", evidence, largest_p)


def _better_there(p: float, difference: float, within_margin: bool) -> Ruling:
    if p < LEVEL:
        return "confirmed" if difference > 0 else "refuted"
    return "refuted" if within_margin else "undecided"


def p_text(p: float) -> str:
    return "p < 1e-4" if p < 1e-4 else f"p = {p:.2g}"
