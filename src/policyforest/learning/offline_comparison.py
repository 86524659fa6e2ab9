"""Whether a new policy is better than an existing controller, judged from its log alone.

Episodes are held out in turn. An ensemble of models is learned from the others, each member on episodes drawn with
replacement. Both policies start where held-out episodes begin, and are simulated in the same models with the same
noise. Each member gives one estimate of the gain; the spread of the estimates is the uncertainty of the gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from policyforest._support.arguments import Floats, real_number, seed_number, whole_number
from policyforest.data.readers.datasets import as_transitions
from policyforest.data.sample_checks import Ints
from policyforest.data.transitions import Transitions
from policyforest.environments.evaluation import student_975
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.improvement.rollout_improvement import RolloutImprovement
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.policy.baseline import as_baseline

Statement = Literal["better", "not shown to be better", "worse"]
# Members of the ensemble per fold, the first member that no plan was made with, and rollouts per member.
MEMBERS, FIRST_MEMBER, ROLLOUTS = 3, 200, 200


@dataclass(frozen=True)
class OfflineComparison:
    """The gain of a policy over a baseline, on held-out episodes, in models of the other episodes."""

    value: float
    """Mean discounted return of the new policy"""
    baseline: float
    gain: float
    interval: tuple[float, float]
    """The 95% interval of the gain, from its spread over models"""
    statement: Statement
    n_models: int
    n_episodes: int
    discount: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.statement}: gain {self.gain:.4g}, 95% interval [{low:.4g}, {high:.4g}] (value {self.value:.4g}, "
            f"the baseline's {self.baseline:.4g}; {self.n_models} models, {self.n_episodes} held-out episodes)"
        )


def compare_offline(
    new: Any,
    baseline: Any,
    data: Transitions | Any,
    *,
    discount: float = 0.98,
    folds: int = 4,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = 1,
) -> OfflineComparison:
    """Compares a policy with an existing controller, without running either.

    Args:
        new: A policy, a function of one state, or a formula.
        baseline: The same, such as ``"u = -12*theta - 3*omega"``.
        data: Samples, preferably of the baseline itself with some noise.
        discount: gamma, in [0, 1).
        folds: Parts of the episodes that are held out in turn.
        random_state: The seed.
        n_jobs: Threads; the result does not depend on them.
    """
    samples, seed = as_transitions(data), seed_number("random_state", random_state)
    gamma = real_number("discount", discount, at_least=0.0, below=1.0)
    count = whole_number("folds", folds, at_least=2)
    names, which = np.unique(samples.episodes, return_inverse=True)
    if len(names) < 2 * count:
        raise ValueError(f"data: has {len(names)} episodes, must have at least {2 * count} for {count} folds")
    plant = samples.plant
    spaces = (samples.observation_space, samples.action_space, plant.state_names, plant.action_names)
    judged = [as_baseline(policy, *spaces) for policy in (new, baseline)]
    fold = np.random.default_rng([seed, 3]).permutation(len(names)) % count
    values = [_values(samples, fold[which], k, judged, gamma, seed, n_jobs) for k in range(count)]
    pairs = np.concatenate(values)  # rows: (new, baseline) of one model
    return _comparison(pairs, gamma, len(names))


def _values(
    samples: Transitions, fold: Ints, k: int, policies: list[Any], gamma: float, seed: int, n_jobs: int | None
) -> Floats:
    """The mean returns of the policies in each member of the model without fold k."""
    held_out, kept = samples[fold == k], samples[fold != k]
    model = DynamicsForest(random_state=seed + k, n_jobs=n_jobs).fit(kept)
    rollouts = ModelRollouts(model, gamma, MEMBERS, n_jobs)
    first = np.unique(held_out.episodes, return_index=True)[1]
    rng = np.random.default_rng([seed, 5, k])
    starts = held_out.states[rng.choice(first, ROLLOUTS)]
    n_steps = 2 * RolloutImprovement(gamma).n_steps
    return np.array(
        [
            [rollouts.values(p, starts, seed=seed + 13 * b, member=b, n_steps=n_steps).mean() for p in policies]
            for b in range(FIRST_MEMBER, FIRST_MEMBER + MEMBERS)
        ]
    )


def _comparison(pairs: Floats, gamma: float, n_episodes: int) -> OfflineComparison:
    gains = pairs[:, 0] - pairs[:, 1]
    gain, half = float(gains.mean()), student_975(len(gains) - 1) * float(gains.std(ddof=1))
    statement: Statement = "not shown to be better"
    if gain - half > 0.0:
        statement = "better"
    elif gain + half < 0.0:
        statement = "worse"
    new, old = pairs.mean(axis=0)
    interval = (gain - half, gain + half)
    return OfflineComparison(float(new), float(old), gain, interval, statement, len(gains), n_episodes, gamma)
