"""Which kind of model an output gets: the simplest that predicts held-out episodes as well as the best does.

The candidates, from simple to complex, are: none, polynomials of rising degree, then the best of these with a forest of
large, smaller and small leaves; last, on request, a linear function with a Gaussian process if the samples are few. If
most samples obey a law that others break (contacts, stops, limits), the forest models these exceptions. The first
candidate whose error is within one standard error (of the paired difference, by episode) of the smallest error is
chosen, because a plan would exploit a complex model that is better by chance. If exceptions that nothing predicts are
most of all errors, a candidate that misses most samples by far less is chosen instead. If there is noise, polynomials
of systems that may be symmetric are shrunk towards odd functions (`symmetry`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.regression import (
    BASES,
    Base,
    ModelInputs,
    OutputKind,
    fit_output,
    predict,
    r_squared,
)
from policyforest.learning.dynamics.typical_errors import hardly_noisy, typical

FOLDS = 5
LEAF_SIZES = (30, 12, 5, 2)
# Polynomials above the second degree are tried with this many samples per coefficient.
SAMPLES_PER_COEFFICIENT = 10
# Polynomials with shrunk products are tried with fewer samples, and with this ridge. (Pendulum of 6 kg, 770 samples,
# commands two steps late, ten seeds: cubic models missed true steps by 0.026 in the mean, shrunk ones by 0.013.)
SAMPLES_PER_SHRUNK, SHRUNK = 4, 0.3
# Trees of the forests that are compared; more change the ranking little.
COMPARED_TREES = 6
# The forests of one fold are grown on this many samples at most, which are enough to rank the kinds.
COMPARED_SAMPLES = 4_000
# An error below this fraction of the variance is rounding: nothing more complex is tried.
EXACT = 1e-10
# A Gaussian process is compared if the numbers of samples and inputs are in these ranges, and more than this fraction
# of the variance is not explained without it: it costs ten times as much per step as the others. (Cart-pole, 120 random
# steps, change of the speeds: R² 0.99 with it, 0.3 to 0.6 without.)
FEWEST_FOR_KERNEL, MOST_FOR_KERNEL, KERNEL_INPUTS = 20, 1_500, 12
EXPLAINED = 1e-3
# Most samples obey a polynomial if their typical error is below this fraction of that of least squares. (Joints with
# stops, as in Reacher-v5: a thousandth. Samples of a smooth system with normal noise: 1.)
MOST_OBEY = 0.1
LAWS: tuple[Base, ...] = ("linear", "quadratic")
# A typical error below this fraction of that of a model that predicts zero needs no better model.
MATTERS = 1e-3
# A Gaussian process is chosen if its typical error is below this fraction of that of the choice without it.
CLEARLY = 0.5
KERNEL = OutputKind("kernel")
# Beyond this multiple of the typical error, the error of a Gaussian process on a held-out episode is not noise: no
# other episode came near. (Cart-pole: one episode of fast turns is missed by 2,000 times the typical error.)
EXTRAPOLATED = 8.0
# From this many episodes on, errors are averaged by episode for the standard error.
ENOUGH_EPISODES = 20
# Polynomials whose error exceeds this multiple of the best kind's error are wrong and not only noisy, so shrinking does
# not help.
HOPELESS = 4.0
# A member of the ensemble may be of another kind if its error is at most this multiple of the chosen one's.
ALTERNATIVE = 1.25


@dataclass(frozen=True)
class HeldOut:
    """Folds of whole episodes, or of stretches of time if there are too few episodes."""

    fold: NDArray[np.int64]
    episode: NDArray[np.int64]

    @classmethod
    def of(cls, episodes: NDArray[np.int64], seed: int) -> HeldOut:
        """Folds for samples of these episodes."""
        names, number = np.unique(episodes, return_inverse=True)
        if len(names) >= FOLDS:
            order = np.random.default_rng([seed, 2]).permutation(len(names))
            return cls((order % FOLDS)[number], number)
        return cls(np.arange(len(episodes)) * FOLDS // max(len(episodes), 1), number)

    def __getitem__(self, rows: NDArray[np.intp]) -> HeldOut:
        return HeldOut(self.fold[rows], self.episode[rows])


@dataclass(frozen=True)
class Choice:
    """The kind that was chosen for an output, with its errors on held-out samples."""

    kind: OutputKind
    alternative: OutputKind
    """Another kind that is nearly as good, for members of the ensemble; the same if there is none"""
    residuals: Floats
    """The errors on held-out samples; for a Gaussian process, without its far extrapolations"""
    score: float
    """R² on held-out samples"""
    errors: Mapping[OutputKind, float]
    """Mean squared error of each candidate, divided by the variance"""
    missed: Mapping[OutputKind, Floats] = field(default_factory=dict, repr=False)
    """The errors of each candidate on held-out samples"""
    judged: Floats | None = field(default=None, repr=False)
    """The weight of each sample in the comparison; None: there was no comparison"""


def choose(
    inputs: ModelInputs, y: Floats, held_out: HeldOut, seed: int, n_jobs: int | None, kernels: bool = False,
    judged: Floats | None = None, shrunk: bool = False,
) -> Choice:  # fmt: skip
    """Compares the candidates on held-out episodes.

    Args:
        kernels: Compare Gaussian processes too.
        judged: How much each sample counts in the comparison.
        shrunk: Compare polynomials with shrunk products too.
    """
    judged = np.ones(len(y)) if judged is None else judged
    variance = _variance(y)
    rest = held_out.fold, seed, n_jobs
    missed = _compared(inputs, y, _parametric(inputs, float(judged.sum()), shrunk), judged, variance, *rest)
    if kernels and _worth_a_kernel(inputs, missed, variance):
        missed[KERNEL] = held_out_errors(KERNEL, inputs, y, *rest)
    chosen = _simplest(missed, judged, variance, held_out.episode)
    if KERNEL in missed and typical(missed[KERNEL]) < CLEARLY * typical(missed[chosen]):
        chosen = KERNEL
    return _made(chosen, missed, judged, y, variance)


def chosen_again(
    like: Choice, inputs: ModelInputs, y: Floats, held_out: HeldOut, seed: int, n_jobs: int | None
) -> Choice | None:
    """The kinds of an earlier choice for more samples, without a comparison; None if there are too many samples for
    it."""
    kinds = dict.fromkeys((like.kind, like.alternative))
    if KERNEL in kinds and len(y) > MOST_FOR_KERNEL:
        return None
    missed = {kind: held_out_errors(kind, inputs, y, held_out.fold, seed, n_jobs) for kind in kinds}
    return _made(like.kind, missed, np.ones(len(y)), y, _variance(y))


def nearly_odd(
    choices: Sequence[Choice], inputs: ModelInputs, targets: Floats, held_out: HeldOut, seed: int, n_jobs: int | None
) -> list[Choice]:
    """The choices for outputs that may be odd functions: the same candidates, but if there is noise, polynomials above
    the first degree are shrunk towards odd functions."""
    compared = [pair for pair in zip(choices, targets.T, strict=True) if pair[0].judged is not None]
    if hardly_noisy((typical(choice.residuals, choice.judged), y) for choice, y in compared):
        return list(choices)
    rest = held_out, seed, n_jobs
    return [_reconsidered(choice, inputs, y, *rest) for choice, y in zip(choices, targets.T, strict=True)]


def _reconsidered(
    choice: Choice, inputs: ModelInputs, y: Floats, held_out: HeldOut, seed: int, n_jobs: int | None
) -> Choice:
    if choice.judged is None or choice.kind.robust or choice.errors[choice.kind] < EXACT:
        return choice
    missed, most = {}, HOPELESS * min(choice.errors.values())
    for kind, before in choice.missed.items():
        polynomial = kind.leaf is None and not kind.robust and kind.base in BASES[2:]
        shrunk = polynomial and choice.errors[kind] <= most
        name = kind._replace(odd=True) if shrunk else kind
        missed[name] = held_out_errors(name, inputs, y, held_out.fold, seed, n_jobs) if shrunk else before
    variance = _variance(y)
    return _made(_simplest(missed, choice.judged, variance, held_out.episode), missed, choice.judged, y, variance)


def _made(
    chosen: OutputKind, missed: Mapping[OutputKind, Floats], judged: Floats, y: Floats, variance: float
) -> Choice:
    error = {kind: float(np.average(e**2, weights=judged)) for kind, e in missed.items()}
    others = [kind for kind in missed if kind != chosen and error[kind] <= ALTERNATIVE * error[chosen]]
    unlike = [kind for kind in others if (kind.leaf is None) != (chosen.leaf is None)] or others or [chosen]
    score = r_squared(missed[chosen], y)
    relative = {kind: e / variance for kind, e in error.items()}
    return Choice(chosen, unlike[0], _noise(chosen, missed[chosen]), score, relative, missed, judged)


def _variance(y: Floats) -> float:
    return max(float(y.var()), 1e-12 * float(np.mean(y**2)), 1e-300)


def _compared(
    inputs: ModelInputs, y: Floats, parametric: list[OutputKind], judged: Floats, variance: float,
    fold: NDArray[np.int64], seed: int, n_jobs: int | None,
) -> dict[OutputKind, Floats]:  # fmt: skip
    """The errors of the candidates, from simple to complex: polynomials, then the best of these with forests."""
    missed: dict[OutputKind, Floats] = {OutputKind("none"): y}
    for kind in parametric:
        missed[kind] = held_out_errors(kind, inputs, y, fold, seed, n_jobs)
    best = min(parametric, key=lambda kind: float(judged @ missed[kind] ** 2))
    lawful = _lawful(parametric, typical(missed[best]), inputs, y, fold, seed, n_jobs)
    if lawful is not None:
        missed |= lawful
        (best,) = lawful
    for leaf in LEAF_SIZES:
        exact = min(float(np.mean(e**2)) for e in missed.values()) < EXACT * variance
        if exact or 4 * inputs.width * leaf > len(y) * (1 - 1 / FOLDS):
            continue
        kind = best._replace(leaf=leaf)
        missed[kind] = held_out_errors(kind, inputs, y, fold, seed, n_jobs)
    return missed


def _noise(chosen: OutputKind, missed: Floats) -> Floats:
    """The errors of a model, as noise: without the far extrapolations of a Gaussian process, and without the constant
    that was shrunk away."""
    if chosen.odd:
        return np.asarray(missed - missed.mean())
    if chosen != KERNEL:
        return missed
    most = EXTRAPOLATED * typical(missed)
    return np.clip(missed, -most, most)


def _parametric(inputs: ModelInputs, n_judged: float, shrunk: bool) -> list[OutputKind]:
    """The polynomials that there are enough samples for, from simple to complex."""
    found = [OutputKind("linear")]
    for base in BASES[2:]:
        n = inputs.n_coefficients(base)
        if shrunk and base in BASES[2:4] and SAMPLES_PER_SHRUNK * n <= n_judged:
            found.append(OutputKind(base, None, SHRUNK))
        enough = 3 * n <= len(inputs.rows) if base == "quadratic" else SAMPLES_PER_COEFFICIENT * n <= n_judged
        if enough:
            found.append(OutputKind(base))
    return found


def _lawful(
    parametric: list[OutputKind], usual: float, inputs: ModelInputs, y: Floats, fold: NDArray[np.int64], seed: int,
    n_jobs: int | None,
) -> dict[OutputKind, Floats] | None:  # fmt: skip
    """The simplest polynomial that most samples obey much better than the one of least squares, with its errors."""
    rows = np.arange(len(y))
    for kind in parametric:
        if kind.base not in LAWS:
            continue
        robust = kind._replace(robust=True)
        # Held-out samples do not obey a law that its own samples do not obey; checking this first saves five fits.
        law = fit_output(robust, inputs, y, rows, n_estimators=COMPARED_TREES, seed=seed, n_jobs=n_jobs)
        if typical(y - predict(law, inputs, inputs.rows)) > 2 * MOST_OBEY * usual:
            continue
        missed = held_out_errors(robust, inputs, y, fold, seed, n_jobs)
        if typical(missed) < MOST_OBEY * usual:
            return {robust: missed}
    return None


def _worth_a_kernel(inputs: ModelInputs, missed: Mapping[OutputKind, Floats], variance: float) -> bool:
    """Whether a Gaussian process is also compared: if the samples are few and nothing else explains them."""
    enough = FEWEST_FOR_KERNEL <= len(inputs.rows) <= MOST_FOR_KERNEL and inputs.width <= KERNEL_INPUTS
    return enough and min(float(np.mean(e**2)) for e in missed.values()) > EXPLAINED * variance


def held_out_errors(
    kind: OutputKind, inputs: ModelInputs, y: Floats, fold: NDArray[np.int64], seed: int, n_jobs: int | None
) -> Floats:
    """The errors on each sample of models that have not seen its fold."""
    missed = np.empty(len(y))
    rng = np.random.default_rng([seed, 3])
    for f in np.unique(fold):
        train, held = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if len(train) == 0:
            missed[held] = y[held]
            continue
        if kind.leaf is not None and len(train) > COMPARED_SAMPLES:
            train = np.sort(rng.permutation(train)[:COMPARED_SAMPLES])
        fitted = fit_output(kind, inputs, y, train, n_estimators=COMPARED_TREES, seed=seed, n_jobs=n_jobs)
        missed[held] = y[held] - predict(fitted, inputs, inputs.rows[held])
    return missed


def _simplest(
    missed: Mapping[OutputKind, Floats], judged: Floats, variance: float, episode: NDArray[np.int64]
) -> OutputKind:
    """The first kind whose squared errors are as small as the best one's, up to one standard error. If exceptions are
    most of these errors, the first of those with a far smaller typical error."""
    squares = {kind: judged * e**2 for kind, e in missed.items()}

    def as_good(kind: OutputKind, other: OutputKind) -> bool:
        apart: Floats = squares[kind] - squares[other]
        if len(np.unique(episode)) >= ENOUGH_EPISODES:
            apart = np.bincount(episode, apart).astype(np.float64)
        rounding = 1e-9 * variance * len(squares[kind])
        return bool(apart.sum() <= rounding or apart.sum() <= apart.std() * np.sqrt(len(apart)))

    best = min(squares, key=lambda kind: float(squares[kind].mean()))
    chosen = next(kind for kind in squares if as_good(kind, best))
    usual = {kind: typical(e, judged) for kind, e in missed.items()}
    if usual[chosen] <= MATTERS * usual[OutputKind("none")]:
        return chosen
    lawful = (kind for kind in missed if usual[kind] < MOST_OBEY * usual[chosen] and as_good(kind, chosen))
    return next(lawful, chosen)
