"""The value of a policy, estimated from samples alone: Fitted Q Evaluation, with an interval and a warning.

The Q function of a given policy pi solves Q(s, a) = r + gamma Q(s', pi(s')); `FittedQEvaluation` fits it. The value is
the mean of Q(s, pi(s)) over the states that episodes begin with. For an interval, episodes are drawn with replacement
and all is fitted again. If the policy takes actions that the samples do not cover, their values are guesses of the
forest; the share of such state-actions is reported.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array, real_number, seed_number, whole_number
from policyforest._support.spaces import check_fit
from policyforest.data.sample_checks import Ints
from policyforest.data.transitions import Transitions
from policyforest.environments.evaluation import student_975
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import ENOUGH_SAMPLES, DynamicsModel
from policyforest.learning.fitted_q_evaluation import FittedQEvaluation

# The fraction of the discounted future that is left when iterating ends.
FORGOTTEN = 0.05
# The samples that a model draws in each iteration, and the forests that Q is averaged over. (Pendulum, two seeds that
# are not in the table of docs/judging.md: Spearman 0.82 and 0.75 without drawn samples, 0.91 and 0.85 with them; on the
# second seed 0.92 if half of them have the policy's actions, and 0.93 with the last ten forests in place of one.)
DRAWN_SAMPLES, N_AVERAGED = 1_500, 10
# A state-action is little known if it is further from the samples than all but this share of them are.
LITTLE_KNOWN = 0.05
# Rows that are compared with each other, at most, and distances that are held at once.
MOST_KNOWN, MOST_ASKED, BLOCK = 20_000, 2_000, 1 << 22
# From this share of little-known state-actions on there is a warning.
TOO_MUCH = 0.2


class CoverageWarning(UserWarning):
    """A policy takes actions that the samples hardly cover."""


@dataclass(frozen=True)
class OfflineEvaluation:
    """A policy's value by Fitted Q Evaluation: the discounted sum of rewards from the states where episodes begin."""

    value: float
    interval: tuple[float, float]
    """The 95% interval, from episodes drawn with replacement; infinite if none are drawn"""
    unknown: float
    """The share of the policy's states and actions that the samples hardly cover; about 0.05 for the policy that made
    the samples"""
    discount: float
    n_samples: int
    n_episodes: int

    def __str__(self) -> str:
        low, high = self.interval
        interval = f"[{low:.4g}, {high:.4g}]" if math.isfinite(low) else "not asked for"
        return (
            f"value {self.value:.4g}, 95% interval {interval}, {100 * self.unknown:.0f}% of its actions little known "
            f"({self.n_samples} samples in {self.n_episodes} episodes, discount {self.discount:g})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        interval = list(self.interval) if math.isfinite(self.interval[0]) else None
        return {
            "value": self.value,
            "interval": interval,
            "unknown": self.unknown,
            "discount": self.discount,
            "samples": self.n_samples,
            "episodes": self.n_episodes,
        }


def evaluate_offline(
    policy: Any,
    transitions: Transitions,
    *,
    discount: float | None = None,
    starts: ArrayLike | None = None,
    bootstrap: int = 20,
    iterations: int | None = None,
    resample: int | Literal["auto"] | DynamicsModel | None = "auto",
    n_estimators: int = 25,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = 1,
) -> OfflineEvaluation:
    """Estimates the value of a policy from samples that were collected with any other policy.

    Args:
        policy: An object with the method ``act_batch(states)``.
        transitions: The samples; preferably not those that the policy was learned from.
        discount: gamma; default: the policy's own.
        starts: Rows of states whose value is estimated; default: those that episodes begin with.
        bootstrap: How often episodes are drawn again for the interval; 0 for no interval.
        iterations: The number of iterations; default: until the values have settled, or only 5% of the discounted
            future is left.
        resample: Samples drawn from a learned model in each iteration, half of them with the policy's own actions:
            "auto" if the model predicts well, a number, None for never, or a `DynamicsModel` of these samples.
        n_estimators: The number of trees of each forest.
        random_state: The seed.
        n_jobs: The number of threads; the result does not depend on it.
    """
    _check(policy, transitions)
    judge = _Judge(policy, gamma=_gamma(policy, discount), iterations=iterations, n_estimators=n_estimators,
                   resample=_resample(resample, transitions), n_jobs=n_jobs)  # fmt: skip
    times, seed = whole_number("bootstrap", bootstrap, at_least=0), seed_number("random_state", random_state)
    given = None if starts is None else _starts(starts, transitions)
    value, drawn = judge.values(transitions, given, times, seed)
    unknown = _unknown(policy, transitions, np.random.default_rng([seed, 2]))
    _warn_if_unknown(unknown)
    interval = _interval(value, drawn)
    return OfflineEvaluation(value, interval, unknown, judge.gamma, len(transitions), transitions.n_episodes)


@dataclass(frozen=True)
class _Judge:
    """Estimates the value of a policy, on the samples and on episodes that are drawn from them."""

    policy: Any
    gamma: float
    iterations: int | None
    n_estimators: int
    resample: int | Literal["auto"] | DynamicsModel | None
    n_jobs: int | None

    def __post_init__(self) -> None:
        if self.iterations is not None:
            whole_number("iterations", self.iterations, at_least=1)

    def values(
        self, transitions: Transitions, starts: Floats | None, times: int, seed: int
    ) -> tuple[float, list[float]]:
        """The value on the samples, and on `times` samples of as many episodes drawn with replacement."""
        first = np.unique(transitions.episodes, return_index=True)[1]
        value = self.value(transitions, transitions.states[first] if starts is None else starts, seed)
        generator = np.random.default_rng([seed, 1])
        drawn = []
        for b in range(times):
            rows, begun = _drawn_episodes(transitions, generator)
            begin = transitions.states[begun] if starts is None else starts
            drawn.append(self.value(transitions[rows], begin, (seed + 1_000 * (b + 1)) % 2**64))
        return value, drawn

    def value(self, samples: Transitions, begin: Floats, seed: int) -> float:
        """The mean value of some states, by Fitted Q Evaluation on samples."""
        count = _iterations(self.gamma) if self.iterations is None else self.iterations
        model, n_drawn = _model(samples, self.resample, seed, self.n_jobs)
        evaluation = FittedQEvaluation(
            self.policy,
            samples,
            self.gamma,
            count,
            self.n_estimators,
            self.n_jobs,
            # Leaves have one sample: leaves of ln N samples mix ends with steps that continue, and rank 20 policies of
            # the pendulum worse (Spearman 0.89 in place of 0.96); linear leaves diverge.
            min_samples_leaf=1,
            model=model,
            n_drawn=n_drawn,
            n_averaged=min(N_AVERAGED, max(1, count // 4)),
            until_settled=self.iterations is None,
        )
        return float(evaluation.values(begin, evaluation.fit(seed)).mean())


def _gamma(policy: Any, discount: float | None) -> float:
    return real_number("discount", _discount(policy) if discount is None else discount, at_least=0.0, below=1.0)


def _resample(
    resample: int | Literal["auto"] | DynamicsModel | None, transitions: Transitions
) -> int | Literal["auto"] | DynamicsModel | None:
    if isinstance(resample, DynamicsModel):
        if resample.transitions is not transitions:
            raise ValueError("resample: is a model of other samples, must be a model of these transitions")
        return resample
    return resample if resample in ("auto", None) else whole_number("resample", resample, at_least=1)


def _warn_if_unknown(unknown: float) -> None:
    if unknown > TOO_MUCH:
        text = f"{100 * unknown:.0f}% of the policy's actions lie where there are few samples, so its value is a guess"
        advice = "record more samples with actions near its own, or prefer a policy that stays near the samples"
        warnings.warn(f"{text}: {advice}", CoverageWarning, stacklevel=3)


def _check(policy: Any, transitions: Transitions) -> None:
    if not isinstance(transitions, Transitions):
        raise TypeError(f"transitions: is {type(transitions).__name__}, must be Transitions (see pf.read_transitions)")
    if not callable(getattr(policy, "act_batch", None)):
        raise TypeError(f"policy: is {policy!r}, must have act_batch(states)")
    check_fit(policy, transitions.observation_space, transitions.action_space)


def _discount(policy: Any) -> float:
    told = getattr(getattr(policy, "info", None), "settings", {}).get("discount")
    if told is None:
        raise ValueError("discount: is None and the policy does not record one, must be given")
    return float(told)


def _iterations(discount: float) -> int:
    return 1 if discount == 0 else max(10, math.ceil(math.log(FORGOTTEN) / math.log(discount)))


def _starts(starts: ArrayLike, transitions: Transitions) -> Floats:
    rows = finite_array("starts", starts, 2)
    if rows.shape[1] != transitions.states.shape[1] or not len(rows):
        raise ValueError(f"starts: has shape {rows.shape}, must have rows of {transitions.states.shape[1]} numbers")
    return rows


def _model(
    samples: Transitions, resample: int | str | DynamicsModel | None, seed: int, n_jobs: int | None
) -> tuple[DynamicsModel | None, int]:
    """The model that samples are drawn from, and their number. A given model was fitted on all samples, so drawn
    episodes need their own."""
    if resample is None or (resample == "auto" and len(samples) >= ENOUGH_SAMPLES):
        return None, 0
    given = isinstance(resample, DynamicsModel) and resample.transitions is samples
    model = resample if given else DynamicsForest(random_state=seed, n_jobs=n_jobs).fit(samples)
    assert isinstance(model, DynamicsModel)
    if isinstance(resample, int):
        return model, resample
    return (model, DRAWN_SAMPLES) if model.is_useful else (None, 0)


def _drawn_episodes(transitions: Transitions, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """As many episodes as there are, drawn with replacement: their rows, and the row that each begins with.

    An episode that is drawn twice keeps its number, so that cross-validation never has its copies in two folds."""
    first, which = np.unique(transitions.episodes, return_index=True, return_inverse=True)[1:]
    drawn = generator.integers(len(first), size=len(first))
    return np.repeat(np.arange(len(which)), np.bincount(drawn, minlength=len(first))[which]), first[drawn]


def _interval(value: float, drawn: list[float]) -> tuple[float, float]:
    if len(drawn) < 2:
        return -math.inf, math.inf
    half = student_975(len(drawn) - 1) * float(np.std(drawn, ddof=1))
    return value - half, value + half


def _unknown(policy: Any, transitions: Transitions, generator: np.random.Generator) -> float:
    """The share of (s', pi(s')) that is further from all samples than nearly all samples are from each other.

    (The knownness of MRE is too coarse here: its outermost leaves reach to the border of the box, so that actions far
    beyond the samples count as known wherever states are dense: 36% in place of 100% on a chain of states.)
    """
    samples = _on_circles(transitions.states, transitions)
    samples = np.concatenate([samples, transitions.actions], axis=1)
    living = transitions.next_states[~transitions.terminals]
    asked = living if len(living) else transitions.states
    chosen = np.concatenate([_on_circles(asked, transitions), policy.act_batch(asked)], axis=1)
    spread = samples.std(axis=0)
    scale = 1.0 / np.where(spread > 0, spread, np.where(np.ptp(chosen, axis=0) > 0, np.ptp(chosen, axis=0), 1.0))
    known = _some(samples * scale, MOST_KNOWN, generator)
    among = _nearest(known, _some(known, MOST_ASKED, generator), itself=True)
    usual = np.quantile(among, 1 - LITTLE_KNOWN)
    distances = _nearest(known, _some(chosen * scale, MOST_ASKED, generator), itself=False)
    return float(np.mean(distances > max(float(usual), 1e-9)))


def _on_circles(states: Floats, transitions: Transitions) -> Floats:
    """Angles as points of a circle, so that both ends of a turn are the same."""
    columns = []
    for d, column in enumerate(states.T):
        if d in transitions.periodic:
            low, high = transitions.periodic[d]
            angle = 2 * np.pi * (column - low) / (high - low)
            columns += [np.cos(angle), np.sin(angle)]
        else:
            columns.append(column)
    return np.stack(columns, axis=1)


def _some(rows: Floats, most: int, generator: np.random.Generator) -> Floats:
    return rows if len(rows) <= most else rows[generator.choice(len(rows), most, replace=False)]


def _nearest(known: Floats, asked: Floats, itself: bool) -> Floats:
    """The distance of each row to the nearest known row; with `itself`, the row itself is a known one and does not
    count."""
    squares = (known**2).sum(axis=1)
    found = []
    for block in np.array_split(asked, max(1, len(asked) * len(known) // BLOCK)):
        distances = squares - 2 * block @ known.T + (block**2).sum(axis=1)[:, None]
        place = min(1, distances.shape[1] - 1) if itself else 0
        found.append(np.partition(distances, place, axis=1)[:, place])
    distances = np.maximum(np.concatenate(found), 0.0)
    nearest: Floats = np.sqrt(distances)
    return nearest
