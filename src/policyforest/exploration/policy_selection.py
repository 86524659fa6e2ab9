"""From the gathered samples to the policy to keep: several are learned, the best is chosen (§ Online learning)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import Floats, whole_number
from policyforest.data.transitions import Transitions
from policyforest.environments.evaluation import evaluate
from policyforest.exploration.planner import Plan, Planner
from policyforest.forest.executors.interface import Executor, Threads
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.fitted_q_evaluation import FittedQEvaluation
from policyforest.policy.policy import Policy

# Validation must not use the episodes that a policy is judged by afterwards.
VALIDATION_SEED = 1_000_003


PolicyCallback = Callable[[int, int], None]
"""Called with the number of policies that are learned, and of those that will be"""


def continuing(learner: FittedPolicyForest, planner: Planner, last: Plan | None) -> FittedPolicyForest:
    """If each plan continues from the previous one, the final learner also does: from the last plan without optimism,
    with as many iterations as such a plan may take."""
    if last is None or not planner.warm_start:
        return learner
    horizon = planner.most_warm_iterations or learner.q_learner.horizon
    return replace(learner, q_learner=replace(learner.q_learner, warm_start=last.q, horizon=horizon))


def policies(
    learner: FittedPolicyForest,
    samples: Transitions,
    n: int,
    seed: int,
    callback: PolicyCallback | None = None,
    executor: Executor | None = None,
) -> list[Policy]:
    """n policies whose forests were grown with different seeds, each by one task of `executor`."""
    number = whole_number("n", n, at_least=1)
    seeds = np.random.SeedSequence([seed, 1]).generate_state(number, np.uint64).tolist()
    runner = executor or Threads(1)
    learned: dict[int, Policy] = {}
    for i, policy in runner.map(_policy, seeds, runner.share("policies", (learner, samples, executor is None))):
        learned[i] = policy
        if callback is not None:
            callback(len(learned), number)
    return [learned[i] for i in range(number)]


def _policy(seed: int, n_jobs: int, shared: tuple[FittedPolicyForest, Transitions, bool]) -> Policy:
    """One policy; `keeps_jobs`: on the threads that the learner was told to use, not on those of the task."""
    learner, samples, keeps_jobs = shared
    seeded: dict[str, int] = {"random_state": seed} if keeps_jobs else {"random_state": seed, "n_jobs": n_jobs}
    return replace(learner, **seeded, q_learner=replace(learner.q_learner, **seeded)).fit(samples)  # type: ignore[arg-type]


def validated(
    candidates: Sequence[Policy],
    env: gym.Env[Any, Any],
    episodes: int,
    seed: int,
    guarded: Callable[[Policy], Any] = lambda policy: policy,
    max_steps: int | None = None,
) -> Floats:
    """The returns (candidates, episodes) of episodes of the same starts and noise. `guarded` gives the object that acts
    instead of a policy; an episode that is longer than `max_steps` is cut."""
    number = whole_number("validation_episodes", episodes, at_least=1)
    judge = partial(evaluate, env=env, episodes=number, seed=VALIDATION_SEED + seed, max_steps=max_steps)
    return np.array([judge(guarded(policy)).returns for policy in candidates])


def best_by_validation(returns: Floats, *, first_preferred: bool = False) -> int:
    """The candidate with the best mean return. If the first candidate is preferred, it is the best unless another is
    better by more than one standard error of the difference: ten episodes of Pendulum-v1 may differ by more than
    policies do."""
    best, number = int(np.argmax(returns.mean(axis=1))), returns.shape[1]
    gains = returns[best] - returns[0]
    if first_preferred and float(gains.mean()) <= float(gains.std(ddof=min(1, number - 1))) / number**0.5:
        best = 0
    return best


def best_on_samples(candidates: Sequence[Policy], samples: Transitions, learner: FittedQIteration) -> Policy:
    """The policy of the best value at the starts of the episodes, by fitted Q evaluation."""
    return candidates[int(np.argmax([policy_value(p, samples, learner) for p in candidates]))]


def policy_value(policy: Policy, samples: Transitions, learner: FittedQIteration, iterations: int = 40) -> float:
    """Fitted Q evaluation: the mean of Q(s, pi(s)) where episodes begin."""
    evaluation = FittedQEvaluation(policy, samples, learner.discount, iterations, learner.n_estimators, learner.n_jobs)
    first = np.unique(samples.episodes, return_index=True)[1]
    return float(evaluation.values(samples.states[first], evaluation.fit()).mean())
