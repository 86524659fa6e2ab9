"""A verdict for each claim of the paper, computed from the cells: confirmed, refuted or undecided.

A claim that one method is better needs p < 0.05 in its direction at each place it is claimed for; the other direction
refutes it. A claim that two are equal needs a 95% interval of the difference within a margin that is named. Where
cells are missing or are too few, the verdict is "undecided", with what they say so far.
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
    told, worst_p, signs = [], 0.0, []
    for place, a, b in pairs:
        p, difference = wilcoxon(a - b), float(np.mean(a - b))
        low, high = bootstrap(a - b)
        told.append(f"{place}: {difference:+.4g} [{low:.4g}, {high:.4g}], {p_text(p)}")
        worst_p = max(worst_p, p)
        signs.append(difference > 0)
    ruling: Ruling = "undecided"
    if worst_p < LEVEL and all(signs):
        ruling = "confirmed"
    elif any(wilcoxon(b - a) < LEVEL and np.mean(a - b) < 0 for _, a, b in pairs):
        ruling = "refuted"
    return Finding(
        ruling, f"{words}, paired Wilcoxon test, mean difference [95% bootstrap]; {'; '.join(told)}", worst_p
    )


def p_text(p: float) -> str:
    return "p < 1e-4" if p < 1e-4 else f"p = {p:.2g}"
