"""How candidates for a policy compare in a learned model: which is best, which cannot be distinguished, and whether an
improvement is accepted.

Values are arrays (members of the ensemble, states), of the same states and the same noise for all candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.improvement.policy_search import better, certainly_better

# Candidates in the order in which they are trusted: the system's own controller first, then those from the samples.
TRUSTED = ("baseline", "linear", "fpf-pwl", "grid", "linear-quadratic", "constant")
# Candidates whose mean becomes a candidate if they cannot be distinguished.
AVERAGED = ("fpf-pwl", "grid", "linear-quadratic")
# An improvement that gains less than this fraction of the start policy's gain over a constant action is not taken.
# (Pendulum of 8 kg: gains of 0.01% in the model were losses of up to 17% for forests in two of seven cases, and losses
# for linear laws in four of fifty.)
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class CandidateValue:
    """The value of a candidate in models that were not used to make it."""

    name: str
    value: float
    """Mean discounted return over states and members"""
    gain: float
    """Mean gain over the best constant action"""
    error: float
    """Standard error of the gain"""


def pays(gain: Floats, gained: float) -> bool:
    """Whether an improvement holds on members that it was not made with, and is not negligible compared with what the
    start policy `gained` over a constant action: errors that all members share are larger than a negligible gain."""
    return better(gain, 1.0) and float(gain.mean()) > NEGLIGIBLE * gained


def gain_over(values: dict[str, Floats], name: str, over: str) -> Floats:
    """By how much a candidate is better than another at the states where both were judged: (members, states)."""
    n = min(values[name].shape[1], values[over].shape[1])
    gain: Floats = values[name][:, :n] - values[over][:, :n]
    return gain


def table_of(values: dict[str, Floats]) -> tuple[CandidateValue, ...]:
    """The candidates, best first."""
    rows = []
    for name, value in values.items():
        gain = gain_over(values, name, "constant")
        rows.append(CandidateValue(name, float(value.mean()), float(gain.mean()), float(gain.std() / gain.size**0.5)))
    return tuple(sorted(rows, key=lambda row: -row.gain))


def champion(values: dict[str, Floats]) -> str:
    """The candidate to start from. A candidate that is later in the order of trust is taken only if it is certainly
    better."""
    order = [name for name in TRUSTED if name in values]
    best = order[0]
    for name in order[1:]:
        gain = gain_over(values, name, best)
        # A plan on a grid also exploits the errors of the model.
        least = NEGLIGIBLE * float(gain_over(values, best, "constant").mean()) if name == "grid" else 0.0
        if certainly_better(gain) and gain.mean() > least:
            best = name
    return best


def alike(values: dict[str, Floats], best: str) -> list[str]:
    """The candidates that the ensemble cannot distinguish from the best one, which comes first: they are not certainly
    worse, or are worse by less than the errors that all members share."""
    if best not in AVERAGED:
        return [best]
    least = NEGLIGIBLE * float(gain_over(values, best, "constant").mean())
    lost = {name: gain_over(values, best, name) for name in AVERAGED if name in values and name != best}
    return [best, *(name for name, loss in lost.items() if loss.mean() <= least or not certainly_better(loss))]


def is_concave(mean: Floats, parts: list[Floats]) -> bool:
    """Whether, on every member, the mean policy has at least the mean value of the policies."""
    return bool((mean.mean(axis=1) >= np.mean(parts, axis=0).mean(axis=1)).all())
