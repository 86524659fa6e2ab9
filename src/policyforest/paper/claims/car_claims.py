"""Claims about the Car on the Hill (Figure 7), where the best policy is bang-bang."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.exhibits import step_histograms
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import bootstrap, share_interval, wilcoxon
from policyforest.paper.verdicts import Claim, Finding, Ruling, p_text

CAR = "car-on-the-hill"
MARGIN = 1.0
"""Two methods count as equal if they differ by less than this number of steps"""
SHARE, LONG, LONGEST = 0.95, 25, 33


def linear_survives_bang_bang(cells: Cells) -> Finding:
    linear, constant = cells.paired((CAR, "fpf-pwl"), (CAR, "fpf-pwc"), "steps")
    failed = {m: int((cells.values(CAR, m) <= 0).sum()) for m in ("fpf-pwl", "fpf-pwc")}
    low, high = bootstrap(linear - constant)
    evidence = (
        f"steps of FPF:PWL - steps of FPF:PWC: {np.mean(linear - constant):+.2f} [{low:.2f}, {high:.2f}] "
        f"(95% bootstrap), margin {MARGIN:g} step; did not reach the top: {failed['fpf-pwl']} of FPF:PWL, "
        f"{failed['fpf-pwc']} of FPF:PWC"
    )
    ruling: Ruling = "undecided"
    if high < MARGIN and failed["fpf-pwl"] <= failed["fpf-pwc"]:
        ruling = "confirmed"
    elif low > MARGIN:
        ruling = "refuted"
    return Finding(ruling, evidence, wilcoxon(linear - constant))


def methods_do_not_differ(cells: Cells) -> Finding:
    told, widest, nearest, largest_p = [], 0.0, 0.0, 0.0
    for method in ("fpf-pwc", "fpf-pwl"):
        forest, q = cells.paired((CAR, method), (CAR, "fqi"), "steps")
        (low, high), p = bootstrap(forest - q), wilcoxon(forest - q)
        told.append(f"{method}: {np.mean(forest - q):+.2f} [{low:.2f}, {high:.2f}], {p_text(p)}")
        widest, nearest, largest_p = max(widest, -low, high), max(nearest, low, -high), max(largest_p, p)
    ruling: Ruling = "confirmed" if widest < MARGIN else "refuted" if nearest > MARGIN else "undecided"
    evidence = f"steps of FPF - steps of FQI [95% bootstrap], margin {MARGIN:g} step; {'; '.join(told)}"
    return Finding(ruling, evidence, largest_p, "A difference below one step can be significant, but it is small.")


def car_in_25_steps(cells: Cells) -> Finding:
    found = step_histograms.steps(cells)
    told, shares, most = [], [], 0.0
    for method in ("fqi", "fpf-pwc", "fpf-pwl"):
        reached, failed = found[method]
        hits, n = int(np.sum(reached <= LONG)), len(reached) + failed
        low, high = share_interval(hits, n)
        told.append(f"{method} {100 * hits / n:.1f}% [{100 * low:.1f}%, {100 * high:.1f}%]")
        shares.append((low, high))
        most = max(most, float(reached.max(initial=0.0)))
    evidence = (
        f"share of policies that take at most {LONG} steps [95%, exact binomial]: {', '.join(told)}; "
        f"largest number of steps: {most:.0f} (paper: {LONGEST})"
    )
    ruling: Ruling = "undecided"
    if all(low >= SHARE for low, _ in shares) and most <= LONGEST:
        ruling = "confirmed"
    elif any(high < SHARE for _, high in shares) or most > LONGEST:
        ruling = "refuted"
    return Finding(ruling, evidence, None, _about_bas(*found.get("bas", (np.empty(0), 0))))


def _about_bas(reached: Floats, failed: int) -> str:
    n = len(reached) + failed
    if not n:
        return ""
    ours = (
        f"{reached.mean():.1f} steps on average, 95% within {np.percentile(reached, 95):.0f}; " if len(reached) else ""
    )
    return (
        f"The paper quotes 20 to 45 steps for BAS. Our BAS learned from a quarter of the samples: {ours}{failed} of "
        f"{n} do not reach the top. The conditions differ, so there is no verdict about BAS."
    )


CLAIMS = (
    Claim(
        "bang-bang",
        "Even if the best policy is bang-bang, linear leaves do not hurt.",
        ("figure-car-on-the-hill",),
        (CAR,),
        linear_survives_bang_bang,
    ),
    Claim(
        "car-no-difference",
        "On the Car on the Hill, FPF and FQI do not differ in the number of steps.",
        ("figure-car-on-the-hill",),
        (CAR,),
        methods_do_not_differ,
    ),
    Claim(
        "car-steps",
        "At least 95% of the policies of each method take at most 25 steps to the top of the hill, and none takes more "
        "than 33.",
        ("figure-car-on-the-hill",),
        (CAR,),
        car_in_25_steps,
    ),
)
