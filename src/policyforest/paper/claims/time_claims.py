"""Claims about the cost of acting and of learning (Figures 8 and 9)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from policyforest.paper.exhibits import time_figures
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import bootstrap, wilcoxon
from policyforest.paper.time_studies import POINTS, STUDIES, study_at
from policyforest.paper.verdicts import LEVEL, Claim, Finding, Ruling, p_text

WHOLE = study_at(POINTS[-1])
REAL_TIME = 50.0
"""The time per action in the paper's claim, in microseconds"""


def two_orders_faster(cells: Cells) -> Finding:
    told, lows, highs = [], [], []
    for method in ("fpf-pwc", "fpf-pwl"):
        q, forest = cells.paired((WHOLE, "fqi"), (WHOLE, method), "action_us")
        low, high = bootstrap(q / forest, lambda ratios: float(np.median(ratios)))
        told.append(f"{method} {np.median(q / forest):.0f}× [{low:.0f}, {high:.0f}]")
        lows.append(low)
        highs.append(high)
    ruling: Ruling = "confirmed" if min(lows) > 100 else "refuted" if max(highs) < 100 else "undecided"
    ratios = f"time of FQI's arg max / time per action of FPF, median [95% bootstrap]: {', '.join(told)}"
    note = "Our FQI finds its arg max exactly and faster than the paper's merge of trees would."
    return Finding(ruling, f"{ratios}; required: 100×", None, note)


def linear_is_faster(cells: Cells) -> Finding:
    linear, constant = cells.paired((WHOLE, "fpf-pwl"), (WHOLE, "fpf-pwc"), "action_us")
    p, (low, high) = wilcoxon(linear - constant), bootstrap(linear - constant)
    evidence = (
        f"time per action, FPF:PWL - FPF:PWC: {np.mean(linear - constant):+.3f} [{low:.3f}, {high:.3f}] µs, paired "
        f"Wilcoxon {p_text(p)}; the slowest policy has a median of {max(linear.max(), constant.max()):.2f} µs"
    )
    fast = max(linear.max(), constant.max()) < REAL_TIME
    ruling: Ruling = "undecided"
    if p < LEVEL:
        ruling = "confirmed" if high < 0 and fast else "refuted" if low > 0 or not fast else "undecided"
    return Finding(ruling, evidence, p)


def extraction_is_cheaper(cells: Cells) -> Finding:
    told, shares = [], []
    for study, episodes in time_figures.episodes_of(cells).items():
        q, extra = cells.values(study, "fqi", "q_seconds"), cells.values(study, "fpf-pwl", "policy_seconds")
        shares.append(float(np.median(extra / q)))
        told.append(f"{episodes:,.0f} episodes {shares[-1]:.2f}")
    q = cells.values(time_figures.LARGE, "fqi", "q_seconds")
    extra = np.maximum(
        cells.values(time_figures.LARGE, "fpf-pwl", "policy_seconds"),
        cells.values(time_figures.LARGE, "fpf-pwc", "policy_seconds"),
    )
    p, (low, high) = wilcoxon(q - extra), bootstrap(q - extra)
    evidence = (
        f"seconds of extraction (FPF:PWL) / seconds of Q, medians: {'; '.join(told)}. At 10,000 samples, "
        f"Q - extraction: {np.mean(q - extra):+.2f} [{low:.2f}, {high:.2f}] s, paired Wilcoxon {p_text(p)}"
    )
    ruling: Ruling = "undecided"
    if p < LEVEL and low > 0 and shares[-1] < shares[0]:
        ruling = "confirmed"
    elif p < LEVEL and high < 0:
        ruling = "refuted"
    falling = all(a > b for a, b in pairwise(shares))
    return Finding(ruling, evidence, p, "" if falling else "The ratio does not fall with each increase of episodes.")


CLAIMS = (
    Claim(
        "action-time",
        "FPF finds an action more than two orders of magnitude faster than FQI.",
        ("figure-evaluation-time",),
        (WHOLE,),
        two_orders_faster,
    ),
    Claim(
        "linear-faster",
        "FPF:PWL finds an action faster than FPF:PWC, and both need less than 50 µs.",
        ("figure-evaluation-time",),
        (WHOLE,),
        linear_is_faster,
    ),
    Claim(
        "extraction-time",
        "As the number of training episodes grows, extracting the policy costs less than learning Q.",
        ("figure-learning-time",),
        tuple(STUDIES),
        extraction_is_cheaper,
    ),
)
