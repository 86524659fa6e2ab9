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
from policyforest.forests import Forest, grow_forest
from policyforest.policy import Policy
from policyforest.spaces import bounds
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
    """Fitted Q evaluation: y = r + gamma Q(s', pi(s')), iterated; the mean of Q(s, pi(s)) where episodes begin."""
    inputs = np.concatenate([samples.states, samples.actions], axis=1)
    living = ~samples.terminals
    ahead = np.concatenate([samples.next_states, policy.act_batch(samples.next_states)], axis=1)[living]
    first = np.unique(samples.episodes, return_index=True)[1]
    starts = np.concatenate([samples.states[first], policy.act_batch(samples.states[first])], axis=1)
    box = np.concatenate([samples.state_box(), bounds(samples.action_space)])
    forest: Forest | None = None
    for h in range(iterations):
        targets = samples.rewards.copy()
        if forest is not None and len(ahead):
            targets[living] += learner.discount * forest.predict(ahead, learner.n_jobs)
        # Leaves of ln N samples: what is asked for is a mean, not a maximum.
        forest = grow_forest(
            inputs,
            targets,
            n_estimators=learner.n_estimators,
            periodic=samples.periodic,
            box=box,
            random_state=h,
            n_jobs=learner.n_jobs,
        )
    assert forest is not None
    return float(forest.predict(starts).mean())
