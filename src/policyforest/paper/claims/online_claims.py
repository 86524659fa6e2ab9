"""Claims about Multi-Resolution Exploration on the pendulum and on the swing-up (Figures 10 to 12)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import RESAMPLES, bootstrap
from policyforest.paper.verdicts import MARGIN, Claim, Finding, Ruling

MRE, BATCH = "pendulum-online-mre", "pendulum-6kg-paper"
SWING_UP, OUR_FINAL, OURS = "swing-up-mre", "swing-up-mre-our-final", "swing-up-ours"
WORST_SHARE, LARGE_SHARE = 0.10, 0.10
"""Of the policies, and of the gap to the limit"""
PAPER_TRIALS = 10
# Ten trials, the paper's number, decide neither claim, so we ran more, twice. The three looks at the results together
# may be wrong with a probability of 5%.
TRIALS = (PAPER_TRIALS, 30, 80)
CONFIDENCE = 1.0 - 0.05 / len(TRIALS)
PAPER_WORST = -51.0
"""The worst policy of the paper's swing-up"""


def mre_equals_tuned_batch(cells: Cells) -> Finding:
    online, batch = cells.values(MRE, "mean"), cells.values(BATCH, "fpf-pwl")
    (low, high), margin = _difference(online, batch), MARGIN * abs(float(batch.mean()))
    evidence = (
        f"mean of MRE's {len(online)} trials {online.mean():.1f}, of the batch {batch.mean():.1f}; difference "
        f"{online.mean() - batch.mean():+.1f} [{low:.1f}, {high:.1f}] ({100 * CONFIDENCE:.1f}% bootstrap over trials), "
        f"margin {margin:.1f}"
    )
    beyond = "It is better than the batch, not equal to it. " if low > margin else ""
    looks = _looks(online, lambda first: _comparable(*_difference(first, batch), margin))
    note = f"{beyond}The paper: -171 online, -172 from a batch. Our training episodes end after 100 steps. {looks}"
    return Finding(_comparable(low, high, margin), evidence, None, note)


def _difference(online: Floats, batch: Floats) -> tuple[float, float]:
    """The bootstrap interval of the difference of two means; trials and policies are drawn apart.

    scipy draws all samples of the one before those of the other, from the same random numbers, so that the stored
    interval would be another."""
    generator = np.random.default_rng(0)
    draws = [
        generator.choice(online, len(online)).mean() - generator.choice(batch, len(batch)).mean()
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(draws, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    return float(low), float(high)


def _comparable(low: float, high: float, margin: float) -> Ruling:
    return "confirmed" if low > -margin else "refuted" if high < -margin else "undecided"


def dropping_the_worst_helps(cells: Cells) -> Finding:
    """The share of the gap to the limit that is closed when the worst tenth of all policies is left out."""
    limit = cells.limit("inverted-pendulum-6kg")
    assert limit is not None
    trials = np.array([row["returns"] for row in cells.rows(MRE, "mean").values()])

    def closed(rows: Floats) -> float:
        pooled = np.sort(rows.ravel())
        return float((_without_worst(pooled).mean() - pooled.mean()) / (limit - pooled.mean()))

    low, high = bootstrap(trials, closed, confidence=CONFIDENCE)
    pooled = np.sort(trials.ravel())
    evidence = (
        f"mean of {len(pooled)} policies {pooled.mean():.1f}, without the worst tenth "
        f"{_without_worst(pooled).mean():.1f}: {100 * closed(trials):.0f}% of the gap to the limit "
        f"[{100 * low:.0f}%, {100 * high:.0f}%] ({100 * CONFIDENCE:.1f}% bootstrap "
        f"over {len(trials)} trials); needed: {100 * LARGE_SHARE:.0f}%"
    )
    note = _looks(trials, lambda first: _helps(*bootstrap(first, closed, confidence=CONFIDENCE)))
    return Finding(_helps(low, high), evidence, None, note)


def _looks(trials: Floats, rule: Callable[[Floats], Ruling]) -> str:
    """The verdicts from the first trials alone, and the correction for having looked more than once."""
    earlier = ", ".join(f"the first {n}: {rule(trials[:n])}" for n in TRIALS[:-1] if n < len(trials))
    level = f"{100 * CONFIDENCE:.1f}%"
    shared = f"We looked {len(TRIALS)} times, so each interval has {level} to keep the total error at 5%."
    return f"Verdicts from fewer trials: {earlier}. {shared}" if earlier else shared


def _without_worst(pooled: Floats) -> Floats:
    return pooled[round(WORST_SHARE * len(pooled)) :]


def _helps(low: float, high: float) -> Ruling:
    return "confirmed" if low > LARGE_SHARE else "refuted" if high < LARGE_SHARE else "undecided"


def no_policy_below_the_paper_s(cells: Cells) -> Finding:
    """Trials are few, but a single policy that is far worse refutes it."""
    trials = np.array([row["returns"] for row in cells.rows(SWING_UP, "mean").values()])
    share = float(np.mean(trials < PAPER_WORST))
    low, high = bootstrap(trials, lambda rows: float(np.mean(rows < PAPER_WORST)))
    evidence = (
        f"worst of {trials.size} policies {trials.min():.1f} (paper: {PAPER_WORST:g}); share of policies below "
        f"{PAPER_WORST:g}: {100 * share:.0f}% [{100 * low:.0f}%, {100 * high:.0f}%] (95% bootstrap over trials)"
    )
    means = {study: cells.values(study, "mean").mean() for study in (OUR_FINAL, SWING_UP, OURS)}
    note = (
        f"The main cause is MRE's samples: from them, our learner makes policies with a mean of {means[OUR_FINAL]:.0f} "
        f"({OUR_FINAL}), and the paper's learner with {means[SWING_UP]:.0f}; from our explorer's samples, our learner "
        f"reaches {means[OURS]:.0f}. The density ratio never reports a place as known, so optimism does not end; and "
        "plans of 20 steps are as long as the swing-up itself. The original knownness does no better. One trial each "
        "in MuJoCo, DART and Gazebo misses the paper's value by less (table-engines)."
    )
    return Finding("confirmed" if trials.min() >= PAPER_WORST else "refuted", evidence, None, note)


CLAIMS = (
    Claim(
        "mre-untuned",
        "MRE without any tuning is comparable to the tuned batch.",
        ("figure-online-pendulum",),
        (MRE, BATCH),
        mre_equals_tuned_batch,
    ),
    Claim(
        "drop-the-worst",
        "Without the worst 10% of the policies the average return greatly improves.",
        ("figure-online-pendulum",),
        (MRE, "limits"),
        dropping_the_worst_helps,
    ),
    Claim(
        "swing-up-policies",
        "On the swing-up no policy learned by MRE is worse than -51.",
        ("figure-online-swing-up", "figure-swing-up-episodes", "figure-exploration"),
        (SWING_UP, OUR_FINAL, OURS),
        no_policy_below_the_paper_s,
        fewest=5,
    ),
)
