"""The errors of a learned model, and the clause of a certificate that follows from them.

The error of a held-out step in units of the model's typical errors is max_d |s'_d - f_d(s, a)| / sigma_d. The bound eps
is sigma times the k-th smallest of M such numbers, with k = ceil(coverage * M). For independent steps, the chance that
a new step stays within eps follows a Beta(k, M - k + 1) distribution. Its lower limit with 99% confidence is therefore
the lower limit of Clopper and Pearson for k of M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from policyforest._support.angles import difference
from policyforest._support.arguments import Floats, finite_array, real_number
from policyforest.certification.learned_step import LearnedStep
from policyforest.certification.modest_numbers import percent
from policyforest.data.transitions import Transitions

CONFIDENCE = 0.99
FEWEST_STEPS = 20


@dataclass(frozen=True)
class ErrorClause:
    """The evidence of held-out steps for a bound on the model's errors."""

    within: int
    steps: int
    confidence: float
    share: float
    """At least this share of steps stays within the bound, with the confidence"""

    def words(self) -> str:
        """The clause of the certificate."""
        return (
            f"on held-out data {self.within:,} of {self.steps:,} steps did "
            f"(at least {percent(self.share)} with {100 * self.confidence:g}% confidence, for independent steps)"
        )


def model_errors(step: LearnedStep, held_out: Transitions) -> Floats:
    """s' - f(s, a) of each held-out step, the short way round for angles."""
    predicted, after = step.step(step.states(held_out.states), held_out.actions), step.states(held_out.next_states)
    columns = [difference(after[:, d], predicted[:, d], step.periodic, d) for d in range(step.n_states)]
    return np.stack(columns, axis=1)


def error_bound(errors: Floats, typical: Floats, coverage: float) -> Floats:
    """eps of each state dimension, so that `coverage` of the errors are within it."""
    coverage = real_number("coverage", coverage, at_least=0.0)
    if not 0.0 < coverage <= 1.0:
        raise ValueError(f"coverage: is {coverage}, must be above 0 and at most 1")
    if len(errors) < FEWEST_STEPS:
        raise ValueError(f"held_out: has {len(errors)} steps, must have at least {FEWEST_STEPS}")
    scores = np.sort((np.abs(errors) / typical).max(axis=1))
    factor = float(scores[math.ceil(coverage * len(scores)) - 1])
    # One unit in the last place more, so that the step that sets the bound is within it after rounding.
    return np.nextafter(typical * factor * (1 + 1e-12), np.inf)


def error_clause(errors: Floats, bound: Floats, confidence: float = CONFIDENCE) -> ErrorClause:
    """The number of errors within a bound, and the share of further steps that stay within it."""
    within = int((np.abs(errors) <= bound).all(axis=1).sum())
    return ErrorClause(within, len(errors), confidence, clopper_pearson(within, len(errors), confidence))


def clopper_pearson(successes: int, trials: int, confidence: float) -> float:
    """The lower limit of a share: the largest p with P(at least so many successes) <= 1 - confidence."""
    if successes == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_least(successes, trials, middle) <= 1.0 - confidence:
            low = middle
        else:
            high = middle
    return low


def _at_least(successes: int, trials: int, p: float) -> float:
    """The chance of at least so many successes."""
    if p <= 0.0 or p >= 1.0:
        return float(p >= 1.0)
    counts = np.arange(successes, trials + 1)
    logs = np.array([math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in counts])
    return float(np.exp(logs + counts * math.log(p) + (trials - counts) * math.log1p(-p)).sum())


def given_error(error: object, n_states: int) -> Floats:
    """A bound that the user gives: one number, or one for each state."""
    array = np.asarray(error, dtype=np.float64)
    array = finite_array("error", np.full(n_states, array) if array.ndim == 0 else array, 1)
    if array.shape != (n_states,) or (array < 0).any():
        raise ValueError(f"error: is {error!r}, must be {n_states} numbers of at least 0")
    return array
