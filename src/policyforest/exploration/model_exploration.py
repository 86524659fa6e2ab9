"""The agent that plans with the learned model: it replans when that pays, and explores what the model does not know.

Until the first plan it holds each random action for several steps, which moves a system more than a new action in every
step. From then on it acts by the policy of the last plan (`model_planner`). A run directory holds the policy of every
plan along with the episodes, so that a resumed run continues bit for bit without planning again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, real_number, whole_number
from policyforest._support.blas import one_blas_thread
from policyforest.data.plant import KnownFunction
from policyforest.data.signal_options import SignalOptions
from policyforest.data.transitions import Transitions
from policyforest.environments.known_task import known_task
from policyforest.exploration.agents import RunDir, discount_of, our_planner
from policyforest.exploration.compared_kinds import learned_again, reused
from policyforest.exploration.explorers import EpisodeKind, Explorer, HeldActions, held
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.guards import guard_settings
from policyforest.exploration.known_formulas import known_function, known_name
from policyforest.exploration.model_planner import HELD, IDLE, OPTIMISTIC, ModelPlan, ModelPlanner, ModelTask
from policyforest.exploration.plan_files import PlanFiles, StoredPlan, may_lack_plan, plans_in_vain
from policyforest.exploration.policy_selection import PolicyCallback, best_by_validation, validated
from policyforest.exploration.problem import Explorable
from policyforest.exploration.run_directory import Record, RunDirectory
from policyforest.exploration.shown_policies import ShownPolicy, best_of_run, newest_and_best, reliable, shown_policies
from policyforest.forest.executors.interface import Executor
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.improvement.simple_policies import constant_policy, middle_action
from policyforest.policy.baseline import NoisyBaseline
from policyforest.policy.policy import Policy

PLAN_AGENT = "plan"
"""The agent's name on the command line."""
# The number of newest policies that compete with each plan, and of the policies that `best_policy` chooses from.
REMEMBERED = 3
# The longest episode in an environment without a time limit, unless one is given.
LONGEST_EPISODE = 1_000


class ModelExploration(ExploringAgent):
    """Our best agent: it plans with a learned model (`pf.DynamicsForest`), between episodes, when that pays.

    Args:
        system: An environment, a `Problem`, or the two spaces of a system, (observations, actions).
        reward: The known reward: a function of rows (states, actions, next_states), or a formula in the names of the
            dimensions (see `data.plant`). None: the reward is learned.
        terminal: The same for terminal steps.
        discount: gamma; default: the problem's own, or 0.98.
        growth: The share by which samples grow before the next plan, unless the model was wrong.
        seed: The same seed gives the same run.
        n_jobs: Threads; the result does not depend on them.
        max_steps: The longest episode, if shorter than the environment's own time limit; default without one: 1,000.
        run_dir: Where every finished episode and every plan is kept.
        guard: Keeps actions near those of an existing controller, and lets that controller act in states that are not
            safe.
        **signals: `SignalOptions`: the states of an environment with a history, delay, derived signals and actuators.
    """

    def __init__(
        self,
        system: Explorable,
        *,
        reward: KnownFunction | None = None,
        terminal: KnownFunction | None = None,
        discount: float | None = None,
        growth: float = 0.25,
        seed: int = 0,
        n_jobs: int | None = 1,
        max_steps: int | None = None,
        run_dir: RunDir = None,
        guard: NoisyBaseline | None = None,
        **signals: Unpack[SignalOptions],
    ) -> None:
        growth = real_number("growth", growth, at_least=0.0)
        gamma = real_number("discount", discount_of(system, discount), at_least=0.0, below=1.0)
        self._known = {"reward": known_name(reward), "terminal": known_name(terminal)}
        self._judged_by = reward, terminal
        self._task: gym.Env[Any, Any] | None = None
        self._found: tuple[int, bool] | None = None
        self._stored: list[StoredPlan] = []
        self._model: DynamicsModel | None = None
        self._compared: DynamicsModel | None = None
        self._plan_files: PlanFiles | None = None
        self._held: HeldActions | None = None
        self._growth = growth
        parts = (system, Explorer(PLAN_AGENT), our_planner(gamma, n_jobs))
        super().__init__(*parts, seed=seed, max_steps=max_steps, guard=guard, **signals)
        functions = {
            name: known_function(name, given, self.problem)
            for name, given in (("reward", reward), ("terminal", terminal))
        }
        self.model_planner = ModelPlanner(gamma, **functions, growth=growth, n_jobs=n_jobs)
        if self.max_steps is None and self.never_ends:
            self.max_steps = LONGEST_EPISODE
        if run_dir is not None:
            self._journal.run = RunDirectory.create(run_dir, self.settings())
            self._plan_files = PlanFiles(self._journal.run.path)

    def settings(self) -> dict[str, Any]:
        """All that a run depends on, as plain data."""
        return {
            "agent": PLAN_AGENT,
            "problem": self.problem.settings(),
            **self._known,
            "discount": self.model_planner.discount,
            "growth": self.model_planner.growth,
            "seed": self.seed,
            "max_steps": self.max_steps,
            **guard_settings(self.guard),
        }

    def begin_episode(self, *, wait: bool = True) -> None:
        """Begins an episode; with `wait=False` also while a plan is being made.

        The previous policy acts until the new plan is ready."""
        super().begin_episode(wait=wait)
        self._held = None

    def act(self, state: ArrayLike) -> Floats:
        """The action in a state. Constant time; a plan that has become ready is used from the next call on."""
        running = self._acting_episode()
        here = running.see(state)
        behaviour = self._plans.behaviour
        if behaviour is None or self._stored[-1].winner == HELD:
            if self._held is None:
                self._held = HeldActions(self.problem.action_space, running.rng)
            return self._guarded(here, self._held.next())
        return self._guarded(here, held(np.asarray(behaviour.policy.act(here)), self.problem.action_space))

    @property
    def task(self) -> gym.Env[Any, Any] | None:
        """The environment with the reward and the ends that are known."""
        if self._task is None and self.env is not None:
            self._task = known_task(self.env, *self._judged_by)
        return self._task

    @property
    def plans(self) -> Sequence[StoredPlan]:
        """The plans so far, oldest first."""
        return tuple(self._stored)

    @property
    def found_nothing(self) -> bool:
        """Whether no policy that is better than a constant action is known yet."""
        if self._found is not None and self._found[0] == self.n_episodes:  # by the plan of `best_policy`
            return not self._found[1]
        return not self._stored or self._stored[-1].explores

    def restore(self, run: RunDirectory) -> None:
        """Loads the episodes and plans of a run directory; plans that are missing or damaged are made again."""
        records = list(run.records())
        self._plan_files = PlanFiles(run.path)
        stored = {plan.episode: plan for plan in self._plan_files.read(len(records))}
        for i, record in enumerate(records):
            self._experience.add(record.episode)
            seconds = 0.0
            if i in stored:
                self._stored.append(stored[i])
                self._plans.use(stored[i].policy)
            elif may_lack_plan(stored, i, len(self._stored)):
                self._learn_models_again()
                seconds = self._plan(record)
            self._note(seconds)
        self._learn_models_again()
        self._journal.resume(run)

    def _learn_models_again(self) -> None:
        """Learns the models of the stored plans that the next plan depends on."""
        if self._stored and (self._model is None or len(self._model.transitions) != self._stored[-1].n_samples):
            self._model, self._compared = learned_again(self._stored, self._learned)

    def policies(
        self, n: int = REMEMBERED, *, callback: PolicyCallback | None = None, executor: Executor | None = None
    ) -> list[Policy]:
        """Up to n policies to choose from: one planned from all samples without exploration, the one whose episodes
        earned most, and those of recent plans with the highest values in the model."""
        return self._choices(n, callback)[0]

    def best_policy(
        self,
        n: int = REMEMBERED,
        validation_episodes: int | None = 10,
        *,
        callback: PolicyCallback | None = None,
        executor: Executor | None = None,
    ) -> Policy:
        """The best of up to n policies, chosen by `validation_episodes` episodes of each, under the guard if there is
        one: the policy planned from all samples, unless another is better by more than one standard error, or the idle
        policy if the chosen one does not earn more. Without an environment, or with None, it is chosen by what the
        policies of the run earned in their episodes, and by members of the model's ensemble that none of them was made
        with. So a run that was good and got worse returns to an earlier policy."""
        if validation_episodes is not None:
            whole_number("validation_episodes", validation_episodes, at_least=1)
        candidates, model = self._choices(n, callback)
        if self.task is not None and validation_episodes is not None:
            return self._validated(candidates, validation_episodes)
        return self._reliable(candidates[0], model)

    def _validated(self, candidates: Sequence[Policy], episodes: int) -> Policy:
        """The best candidate in episodes of each; the idle policy, if that earns as much."""
        assert self.task is not None
        idle = self._labelled(self._idle, IDLE, self.transitions)
        how = self.seed, self.guarded, self.longest_judged
        returns = validated([*candidates, idle], self.task, episodes, *how)
        best = best_by_validation(returns[:-1], first_preferred=True)
        if returns[best].mean() > returns[-1].mean():
            return candidates[best]
        self._found = self.n_episodes, False
        return idle

    def _choices(self, n: int, callback: PolicyCallback | None) -> tuple[list[Policy], DynamicsModel]:
        """Up to n policies, and the model of all samples."""
        number = whole_number("n", n, at_least=1)
        self.wait()
        final = self.model_planner.plan(replace(self.next_task(self.n_episodes), final=True, like=None))
        self._found = self.n_episodes, final.found
        if callback is not None:
            callback(1, number)
        earlier = best_of_run(self._shown(), self.model_planner.judge(final.model, self.seed), number - 1)
        if callback is not None:
            callback(number, number)
        return [self._labelled(final.policy, final.winner, self.transitions), *earlier], final.model

    @one_blas_thread
    def _reliable(self, final: Policy, model: DynamicsModel) -> Policy:
        """The final policy or one that was played, whichever is more reliable."""
        data, planner = self.transitions, self.model_planner
        plans = () if self.guard is not None else self.plans  # the guard chose some of their actions
        candidates = shown_policies(final, plans, data, planner.discount)
        return reliable(candidates, self._idle, planner.judge(model, self.seed))

    def _before_recording(self) -> None:
        """An episode is kept without waiting for a plan in the background, which may fail."""

    def _record(self, episode: Any) -> Record:
        return Record(episode, "plain", None)

    def _plan(self, record: Record, background: bool = False) -> float:
        """Plans if a plan is due; returns the seconds, 0 for a plan in the background."""
        samples, number = self.transitions, self.n_episodes - 1
        if not self.model_planner.due(self._model, samples, plans_in_vain(self._stored)):
            return 0.0
        make = partial(self._make, self.next_task(number), number)
        if not background:
            return self._plans.make("plain", make)
        self._plans.make_in_background("plain", make)
        return 0.0

    def next_task(self, episode: int) -> ModelTask:
        """The inputs of the plan after an episode."""
        samples, like = self.transitions, reused(self._compared, len(self.transitions))
        explored = sum(plan.explores for plan in self._stored)
        sequence = self._stored[-1].sequence if self._stored else None
        return ModelTask(samples, self._seed(episode), self._earlier(), sequence, explored, like=like)

    def _learned(self, plan: StoredPlan, like: DynamicsModel | None) -> DynamicsModel:
        """The model of a stored plan, learned again."""
        return self.model_planner.learn_model(self.transitions[: plan.n_samples], self._seed(plan.episode), like)

    def _earlier(self) -> tuple[Policy, ...]:
        """The newest policies of plans that did not explore, newest first, and the one whose episodes earned most."""
        return newest_and_best(self._shown(), REMEMBERED)

    def _shown(self) -> list[ShownPolicy]:
        """The policies of plans that did not explore, oldest first, with the episodes that they were played in."""
        return shown_policies(self._idle, self._stored, self.transitions, self.model_planner.discount)[1:]

    def _make(self, task: ModelTask, episode: int) -> ModelPlan:
        made = self.model_planner.plan(task)
        policy, number = self._labelled(made.policy, made.winner, task.samples), len(self._stored)
        about = made.winner, made.explores, made.sequence, made.values, number
        stored = StoredPlan(episode, len(task.samples), policy, *about)
        if self._plan_files is not None:
            self._plan_files.write(stored)
        self._stored.append(stored)
        self._model, self._compared = made.model, made.model if task.like is None else self._compared
        return made

    @property
    def _idle(self) -> Policy:
        """The policy that does nothing."""
        return constant_policy(self.transitions, middle_action(self.transitions))

    def _labelled(self, policy: Policy, winner: str, samples: Transitions) -> Policy:
        told = {"discount": self.model_planner.discount, "winner": winner, "known": self._known}
        settings, n = told | samples.plant.given_names, len(samples)
        return policy.with_info(replace(policy.info, settings=settings, n_samples=n, problem=self.problem.id))

    def _seed(self, episode: int) -> int:
        return int(np.random.SeedSequence([self.seed, episode]).generate_state(1, np.uint64)[0])

    def _kind(self, episode: int) -> EpisodeKind:
        before = [plan for plan in self._stored if plan.episode < episode]
        if not before or before[-1].winner == HELD:
            return "random"
        return "optimistic" if before[-1].explores or before[-1].winner == OPTIMISTIC else "plain"
