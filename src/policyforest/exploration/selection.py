"""From the gathered samples to the policy to keep: several are learned, the best is chosen (§ Online learning)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from policyforest.arguments import whole_number
from policyforest.dynamics_forest import ENOUGH_SAMPLES
from policyforest.evaluation import evaluate
from policyforest.fitted_policy import FittedPolicyForest
from policyforest.fitted_q import FittedQIteration
from policyforest.offline_evaluation import FittedQEvaluation
from policyforest.policy import Policy
from policyforest.transitions import Transitions

# Validation must not use the episodes that a policy is judged by afterwards.
VALIDATION_SEED = 1_000_003


Learned = Callable[[int, int], None]
"""Called with the number of policies that are learned, and of those that will be"""


def policies(
    learner: FittedPolicyForest, samples: Transitions, n: int, seed: int, callback: Learned | None = None
) -> list[Policy]:
    """n policies whose forests were grown with different seeds."""
    number = whole_number("n", n, at_least=1)
    if learner.q_learner.resample == "auto" and len(samples) >= ENOUGH_SAMPLES:
        # The answer would be not to resample: do not fit a model n times to learn that.
        learner = replace(learner, q_learner=replace(learner.q_learner, resample=None))
    seeds = np.random.SeedSequence([seed, 1]).generate_state(number, np.uint64).tolist()
    learned = []
    for s in seeds:
        one = replace(learner, random_state=s, q_learner=replace(learner.q_learner, random_state=s))
        learned.append(one.fit(samples))
        if callback is not None:
            callback(len(learned), number)
    return learned


def best_by_validation(candidates: Sequence[Policy], env: gym.Env[Any, Any], episodes: int, seed: int) -> Policy:
    """The policy with the best mean return; all play episodes of the same starts and noise."""
    number = whole_number("validation_episodes", episodes, at_least=1)
    means = [evaluate(p, env, episodes=number, seed=VALIDATION_SEED + seed).mean for p in candidates]
    return candidates[int(np.argmax(means))]


def best_on_samples(candidates: Sequence[Policy], samples: Transitions, learner: FittedQIteration) -> Policy:
    """The policy of the best value at the starts of the episodes, by fitted Q evaluation."""
    return candidates[int(np.argmax([policy_value(p, samples, learner) for p in candidates]))]


def policy_value(policy: Policy, samples: Transitions, learner: FittedQIteration, iterations: int = 40) -> float:
    """Fitted Q evaluation: the mean of Q(s, pi(s)) where episodes begin."""
    evaluation = FittedQEvaluation(policy, samples, learner.discount, iterations, learner.n_estimators, learner.n_jobs)
    first = np.unique(samples.episodes, return_index=True)[1]
    return float(evaluation.values(samples.states[first], evaluation.fit()).mean())
