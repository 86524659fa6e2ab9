"""The paper's claims, each with the cells and the test that decide it (see `verdicts`)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from policyforest.arguments import Floats
from policyforest.paper.batch import CURVES, Curve
from policyforest.paper.exhibits import steps, times
from policyforest.paper.exhibits.cells import Cells
from policyforest.paper.registry import EXHIBITS
from policyforest.paper.statistics import bootstrap, wilcoxon
from policyforest.paper.times import study_at
from policyforest.paper.verdicts import LEVEL, MARGIN, Claim, Finding, Ruling, Verdict, better, judge, p_text

PENDULUM, INTEGRATOR = CURVES["inverted-pendulum-6kg"], CURVES["double-integrator"]
CAR = "car-on-the-hill"
WORST_SHARE, LARGE_SHARE = 0.10, 0.10
"""Of the policies, and of the gap to the limit"""


def verdicts(cells: Cells) -> list[Verdict]:
    """One for each claim, in the paper's order."""
    return [judge(claim, cells) for claim in CLAIMS]


def _pairs(cells: Cells, curve: Curve, one: str, other: str) -> list[tuple[str, Floats, Floats]]:
    """Both methods at each point of a curve."""

    def study(method: str, point: int) -> str:
        return curve.bas_study(point) if method == "bas" else curve.paper_study(point)

    found = []
    for point in curve.points:
        a, b = cells.paired((study(one, point), one), (study(other, point), other))
        if len(a):
            found.append((f"{point} episodes", a, b))
    return found


def forests_beat_q(cells: Cells) -> Finding:
    pairs = [
        (f"{name}, {place}", a, b)
        for method, name in (("fpf-pwc", "FPF:PWC"), ("fpf-pwl", "FPF:PWL"))
        for place, a, b in _pairs(cells, PENDULUM, method, "fqi")
    ]
    note = _against_paper(cells.values(PENDULUM.paper_study(PENDULUM.whole), "fpf-pwl"))
    return _noted(better(pairs, "return of FPF - return of FQI"), note)


def _against_paper(returns: Floats) -> str:
    low, high = bootstrap(returns)
    return (
        f"After 100 episodes FPF:PWL reaches {returns.mean():.0f} [{low:.0f}, {high:.0f}], median "
        f"{np.median(returns):.0f}, worst {returns.min():.0f}; the paper has -172, worst -234. The settings of Q, "
        "which the paper leaves out, are from its authors' configurations, and our arg max is exact."
    )


def forests_beat_bas(cells: Cells) -> Finding:
    pairs = [
        (f"{name}, {place}", a, b)
        for method, name in (("fpf-pwc", "FPF:PWC"), ("fpf-pwl", "FPF:PWL"))
        for place, a, b in _pairs(cells, PENDULUM, method, "bas")
    ]
    note = (
        "The paper reads BAS off a graph of Pazis and Lagoudakis; ours is run on the same samples as FPF, with a basis "
        "chosen by trial."
    )
    return _noted(better(pairs, "return of FPF - return of BAS"), note)


def linear_beats_constant(cells: Cells) -> Finding:
    found = []
    for curve, name in ((PENDULUM, "pendulum"), (INTEGRATOR, "double integrator")):
        study = curve.paper_study(curve.whole)
        found.append((name, *cells.paired((study, "fpf-pwl"), (study, "fpf-pwc"))))
    result = better(found, f"return of FPF:PWL - return of FPF:PWC at {PENDULUM.whole} and {INTEGRATOR.whole} episodes")
    everywhere = [
        f"{curve.stem} at {place}"
        for curve in (PENDULUM, INTEGRATOR)
        for place, a, b in _pairs(cells, curve, "fpf-pwl", "fpf-pwc")
        if not (np.mean(a - b) > 0 and wilcoxon(a - b) < LEVEL)
    ]
    if everywhere:
        return _noted(result, f"Not shown for {', '.join(everywhere)}.")
    return result


def _noted(finding: Finding, note: str) -> Finding:
    return replace(finding, note=f"{finding.note} {note}".strip())


def linear_survives_bang_bang(cells: Cells) -> Finding:
    linear, constant = cells.paired((CAR, "fpf-pwl"), (CAR, "fpf-pwc"), "steps")
    failed = {m: int((cells.values(CAR, m) <= 0).sum()) for m in ("fpf-pwl", "fpf-pwc")}
    low, high = bootstrap(linear - constant)
    evidence = (
        f"steps of FPF:PWL - steps of FPF:PWC: {np.mean(linear - constant):+.2f} [{low:.2f}, {high:.2f}] "
        f"(95% bootstrap), margin 1 step; failed: {failed['fpf-pwl']} linear, {failed['fpf-pwc']} constant"
    )
    ruling: Ruling = "undecided"
    if high < 1.0 and failed["fpf-pwl"] <= failed["fpf-pwc"]:
        ruling = "confirmed"
    elif low > 1.0:
        ruling = "refuted"
    return Finding(ruling, evidence, wilcoxon(linear - constant))


def car_in_25_steps(cells: Cells) -> Finding:
    found = {m: (reached, failed) for m, (reached, failed) in steps.steps(cells).items() if m != "bas"}
    share = {m: float(np.sum((r >= 20) & (r <= 25))) / (len(r) + failed) for m, (r, failed) in found.items()}
    most = max(float(reached.max(initial=0.0)) for reached, _ in found.values())
    told = ", ".join(f"{m} {100 * s:.1f}%" for m, s in share.items())
    bas, failed = steps.steps(cells)["bas"]
    ours = f"{bas.mean():.1f} on average, 95% within {np.percentile(bas, 95):.0f}, " if len(bas) else ""
    evidence = (
        f"share of policies with 20 to 25 steps: {told}; longest {most:.0f} (paper: 33); our BAS: {ours}{failed} of "
        f"{len(bas) + failed} failed (the paper quotes 20 to 45 steps)"
    )
    ruling: Ruling = "confirmed" if min(share.values()) >= 0.95 and most <= 33 else "refuted"
    return Finding(ruling, evidence)


def two_orders_faster(cells: Cells) -> Finding:
    study = study_at(INTEGRATOR.whole)
    told, lows, highs = [], [], []
    for method in ("fpf-pwc", "fpf-pwl"):
        q, forest = cells.paired((study, "fqi"), (study, method), "action_us")
        low, high = bootstrap(q / forest, lambda ratios: float(np.median(ratios)))
        told.append(f"{method} {np.median(q / forest):.0f}× [{low:.0f}, {high:.0f}]")
        lows.append(low)
        highs.append(high)
    ruling: Ruling = "confirmed" if min(lows) > 100 else "refuted" if max(highs) < 100 else "undecided"
    evidence = f"time of FQI's arg max over time of an action, median [95% bootstrap]: {', '.join(told)}; needed: 100×"
    note = "Our FQI finds its arg max exactly and faster than the paper's merge of trees would."
    return Finding(ruling, evidence, None, note)


def extraction_is_cheaper(cells: Cells) -> Finding:
    told, shares = [], []
    for study, episodes in times.episodes_of(cells).items():
        q, extra = cells.values(study, "fqi", "q_seconds"), cells.values(study, "fpf-pwl", "policy_seconds")
        shares.append(float(np.median(extra / q)))
        told.append(f"{episodes:,.0f} episodes {shares[-1]:.2f}")
    q = cells.values(times.LARGE, "fqi", "q_seconds")
    extra = np.maximum(
        cells.values(times.LARGE, "fpf-pwl", "policy_seconds"), cells.values(times.LARGE, "fpf-pwc", "policy_seconds")
    )
    p = wilcoxon(q - extra)
    evidence = (
        f"seconds of extraction (FPF:PWL) over seconds of Q, medians: {'; '.join(told)}. At 10,000 samples "
        f"Q - extraction: {np.mean(q - extra):+.2f} s, paired Wilcoxon {p_text(p)}"
    )
    falling = all(a > b for a, b in pairwise(shares))
    ruling: Ruling = "undecided"
    if p < LEVEL and np.mean(q - extra) > 0 and shares[-1] < shares[0]:
        ruling = "confirmed"
    elif p < LEVEL and np.mean(q - extra) < 0:
        ruling = "refuted"
    return Finding(ruling, evidence, p, "" if falling else "The share does not fall at every step.")


def mre_equals_tuned_batch(cells: Cells) -> Finding:
    online, batch = cells.values("pendulum-online-mre", "mean"), cells.values("pendulum-6kg-paper", "fpf-pwl")
    margin = MARGIN * abs(float(batch.mean()))
    generator = np.random.default_rng(0)
    draws = [
        generator.choice(online, len(online)).mean() - generator.choice(batch, len(batch)).mean() for _ in range(4_000)
    ]
    low, high = (float(x) for x in np.percentile(draws, [2.5, 97.5]))
    difference = float(online.mean() - batch.mean())
    evidence = (
        f"mean of MRE's trials {online.mean():.1f}, of the batch {batch.mean():.1f}; difference {difference:+.1f} "
        f"[{low:.1f}, {high:.1f}] (95% bootstrap over trials), margin {margin:.1f}"
    )
    ruling: Ruling = "confirmed" if low > -margin else "refuted" if high < -margin else "undecided"
    beyond = "It is better than the batch, not equal to it. " if low > margin else ""
    note = f"{beyond}The paper: -171 online, -172 from a batch. Training episodes of ours end after 100 steps."
    return Finding(ruling, evidence, None, note)


def dropping_the_worst_helps(cells: Cells) -> Finding:
    """The share of the gap to the limit that is closed when the worst tenth of all policies is left out."""
    limit = cells.limit("inverted-pendulum-6kg")
    assert limit is not None
    trials = np.array([row["returns"] for row in cells.rows("pendulum-online-mre", "mean").values()])

    def closed(rows: Floats) -> float:
        pooled = np.sort(rows.ravel())
        kept = pooled[round(WORST_SHARE * len(pooled)) :]
        return float((kept.mean() - pooled.mean()) / (limit - pooled.mean()))

    low, high = bootstrap(trials, closed)
    pooled = np.sort(trials.ravel())
    kept = pooled[round(WORST_SHARE * len(pooled)) :]
    evidence = (
        f"mean of {len(pooled)} policies {pooled.mean():.1f}, without the worst tenth {kept.mean():.1f}: "
        f"{100 * closed(trials):.0f}% of the gap to the limit [{100 * low:.0f}%, {100 * high:.0f}%] (95% bootstrap "
        f"over trials); needed: {100 * LARGE_SHARE:.0f}%"
    )
    ruling: Ruling = "confirmed" if low > LARGE_SHARE else "refuted" if high < LARGE_SHARE else "undecided"
    return Finding(ruling, evidence)


def _behind(exhibit: str) -> tuple[str, ...]:
    """The studies of an exhibit by the paper's methods; ours are not what the paper claims anything of."""
    ours = {curve.our_study(point) for curve in CURVES.values() for point in curve.points}
    return tuple(name for name in EXHIBITS[exhibit].studies if name not in ours and name != "limits")


CLAIMS = (
    Claim(
        "fpf-beats-fqi",
        "FPF clearly outperforms FQI on the Inverted Pendulum, at every number of episodes.",
        "figure-pendulum-6kg",
        tuple(PENDULUM.paper_study(p) for p in PENDULUM.points),
        forests_beat_q,
    ),
    Claim(
        "fpf-beats-bas",
        "BAS ranks systematically lower than both FPF methods on the Inverted Pendulum.",
        "figure-pendulum-6kg",
        _behind("figure-pendulum-6kg"),
        forests_beat_bas,
    ),
    Claim(
        "linear-beats-constant",
        "FPF:PWL is significantly better than FPF:PWC on two of the three problems.",
        "figure-double-integrator",
        (PENDULUM.paper_study(PENDULUM.whole), INTEGRATOR.paper_study(INTEGRATOR.whole)),
        linear_beats_constant,
    ),
    Claim(
        "bang-bang",
        "Even where the best policy is bang-bang, linear leaves do not hurt.",
        "figure-car-on-the-hill",
        (CAR,),
        linear_survives_bang_bang,
    ),
    Claim(
        "car-steps",
        "At least 95% of the policies of each method take 20 to 25 steps, none more than 33; BAS takes 20 to 45.",
        "figure-car-on-the-hill",
        (CAR, "car-on-the-hill-bas"),
        car_in_25_steps,
    ),
    Claim(
        "action-time",
        "FPF finds an action more than two orders of magnitude faster than FQI.",
        "figure-evaluation-time",
        (study_at(INTEGRATOR.whole),),
        two_orders_faster,
    ),
    Claim(
        "extraction-time",
        "Extracting the policy costs less than learning Q as training episodes grow.",
        "figure-learning-time",
        _behind("figure-learning-time"),
        extraction_is_cheaper,
    ),
    Claim(
        "mre-untuned",
        "MRE without any tuning is comparable to the tuned batch.",
        "figure-online-pendulum",
        ("pendulum-online-mre", "pendulum-6kg-paper"),
        mre_equals_tuned_batch,
    ),
    Claim(
        "drop-the-worst",
        "Without the worst 10% of the policies the average return greatly improves.",
        "figure-online-pendulum",
        ("pendulum-online-mre", "limits"),
        dropping_the_worst_helps,
    ),
)
