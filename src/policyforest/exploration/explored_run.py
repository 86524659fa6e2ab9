"""The present state of a run: its episodes, samples and log, the policy in use, and the policies to learn from all of
it."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym

from policyforest._support.arguments import LARGEST_SEED, threads, whole_number
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import Episode
from policyforest.exploration.background_plans import BackgroundPlans
from policyforest.exploration.episode_report import EpisodeReport
from policyforest.exploration.experience import Experience
from policyforest.exploration.guards import GuardedPolicy
from policyforest.exploration.journal import Journal
from policyforest.exploration.planner import Planner, checked_r_max
from policyforest.exploration.policy_selection import (
    PolicyCallback,
    best_by_validation,
    best_on_samples,
    continuing,
    policies,
    validated,
)
from policyforest.exploration.problem import Explorable, Problem
from policyforest.exploration.run_directory import RunDirectory
from policyforest.forest.executors.interface import Executor
from policyforest.forest.knownness import KnownnessForest
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.policy.policy import Policy


class ExploredRun:
    """What an agent has explored; `ExploringAgent` adds how it does so. The parameters are described there."""

    max_steps: int | None = None
    """The longest episode of `learn`, if shorter than the environment's own time limit"""

    def __init__(
        self, problem: Explorable, planner: Planner, final: FittedPolicyForest | None, r_max: float | None, seed: int
    ) -> None:
        self.env = problem if isinstance(problem, gym.Env) else None
        self.problem = Problem.of(problem)
        self.planner = planner
        self.final = final or replace(planner.policy_learner, q_learner=planner.q_learner)
        for learner in (planner.q_learner, planner.policy_learner, self.final.q_learner, self.final):
            threads(learner.n_jobs)  # refuses a wrong number before the first episode
        self.r_max = checked_r_max(r_max)
        self.seed = whole_number("seed", seed, at_least=0, at_most=LARGEST_SEED)
        self._experience = Experience(self.problem, lambda box: self.planner.knownness_forest(box, self.seed))
        self._plans = BackgroundPlans()
        self._journal = Journal()

    @property
    def episodes(self) -> list[Episode]:
        """The finished episodes."""
        return self._experience.episodes

    @property
    def n_episodes(self) -> int:
        """Finished episodes."""
        return len(self.episodes)

    @property
    def total_steps(self) -> int:
        """Steps of all finished episodes."""
        return self._experience.total_steps

    @property
    def transitions(self) -> Transitions:
        """All samples of finished episodes."""
        return self._experience.samples

    @property
    def known(self) -> KnownnessForest | None:
        """The knownness forest; None before the first episode has ended."""
        return self._experience.known

    @property
    def estimated_r_max(self) -> float:
        """R_max, or the largest reward seen if it was not given."""
        return float(self.transitions.rewards.max()) if self.r_max is None else self.r_max

    @property
    def policy(self) -> Policy | None:
        """The policy by which the agent acts now; None before its first plan."""
        behaviour = self._plans.behaviour
        return None if behaviour is None else behaviour.policy

    @property
    def planning(self) -> bool:
        """Whether a plan is being made in the background."""
        return self._plans.planning

    def wait(self) -> None:
        """Waits for a plan in the background; an error in it is raised here."""
        self._plans.wait()

    @property
    def never_ends(self) -> bool:
        """Whether the environment declares no time limit."""
        return self.env is not None and (self.env.spec is None or self.env.spec.max_episode_steps is None)

    @property
    def longest_judged(self) -> int | None:
        """The largest number of steps of episodes that judge a policy: that of the run if the environment has no time
        limit."""
        return self.max_steps if self.never_ends else None

    @property
    def log(self) -> list[EpisodeReport]:
        """A report of each finished episode."""
        return self._journal.log

    @property
    def run(self) -> RunDirectory | None:
        """The run directory."""
        return self._journal.run

    def guarded(self, policy: Policy) -> Policy | GuardedPolicy:
        """A policy as it may be played in the environment: under the guard, if there is one."""
        return policy

    def policies(
        self, n: int = 10, *, callback: PolicyCallback | None = None, executor: Executor | None = None
    ) -> list[Policy]:
        """n different Fitted Policy Forests from the gathered samples, without optimism; `callback(learned, n)` is
        called after each. With an `executor` (`policyforest.executors`) several are learned at once, to the same bits.

        If plans continue from the previous plan, so do these policies: they begin with the last Q function without
        optimism, and take at most as many iterations as such a plan."""
        learner = continuing(self.final, self.planner, self._plans.last("plain"))
        return policies(learner, self.transitions, n, self.seed, callback, executor)

    def best_policy(
        self,
        n: int = 10,
        validation_episodes: int = 10,
        *,
        callback: PolicyCallback | None = None,
        executor: Executor | None = None,
    ) -> Policy:
        """The best of n policies: by `validation_episodes` episodes each, as the paper proposes, under the guard if
        there is one; without an environment, by fitted Q evaluation on the samples."""
        whole_number("validation_episodes", validation_episodes, at_least=1)
        candidates = self.policies(n, callback=callback, executor=executor)
        if self.env is None:
            return best_on_samples(candidates, self.transitions, self.planner.q_learner)
        how = self.seed, self.guarded, self.longest_judged
        return candidates[best_by_validation(validated(candidates, self.env, validation_episodes, *how))]
