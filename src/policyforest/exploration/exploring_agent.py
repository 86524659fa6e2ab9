"""An agent that explores an unknown system: it acts in real time and plans between episodes.

    agent.begin_episode()
    action = agent.act(state)                                  # constant time, never waits for planning
    agent.observe(action, reward, next_state, terminal)
    agent.end_episode(background=True)                         # plans while the robot is brought back to its start

With a Gymnasium environment, `learn` does all of this. Episode e of a run with a seed has random streams of its own, a
plan is a function of the samples and the seed: so a run that is killed can be continued to the same bits.

| part | its job |
|---|---|
| `running_episode` | what was seen and done in the episode that is running |
| `experience` | the finished episodes, their samples, and how well they cover states and actions |
| `background_plans` | the plans, and the thread that makes them |
| `journal` | the log, and the run directory |
| `explored_run` | all of these from outside, and the final policies |
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Self, Unpack

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, whole_number
from policyforest.data.signal_options import SignalOptions, require_signal_options
from policyforest.environments.episodes import Episode, random_streams
from policyforest.exploration.agent_settings import agent_settings
from policyforest.exploration.episode_report import EpisodeCallback
from policyforest.exploration.explored_run import ExploredRun
from policyforest.exploration.explorers import EpisodeKind, Explorer, uniform_action
from policyforest.exploration.guards import GuardedPolicy, fitted_guard, stacked_system
from policyforest.exploration.loop import explore_environment
from policyforest.exploration.planner import PlanInput, Planner
from policyforest.exploration.problem import Explorable
from policyforest.exploration.run_directory import Record, RunDirectory, plans_needed
from policyforest.exploration.running_episode import RunningEpisode
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.policy.baseline import NoisyBaseline
from policyforest.policy.policy import Policy


class ExploringAgent(ExploredRun):
    """Explores by an `Explorer`, plans by a `Planner`; see `policyforest.exploration` for ready ones.

    Args:
        problem: An environment, a `Problem`, or the two spaces of a system, (observations, actions).
        explorer: Chooses the actions.
        planner: Learns Q and a policy between episodes.
        final: How `policies` learns from the gathered samples; default: the planner's learners, without optimism.
        r_max: The largest reward that a step can pay; None: the largest seen so far.
        seed: The same seed gives the same run.
        max_steps: The longest episode of `learn`, if shorter than the environment's own time limit.
        run_dir: Where every finished episode is kept, durably; a directory that holds a run is refused (`pf.resume`).
        guard: Keeps actions near those of an existing controller, and lets that controller act in states that are not
            safe.
        **signals: `SignalOptions`: the states of an environment with a history, delay, derived signals and actuators.
    """

    def __init__(
        self,
        problem: Explorable,
        explorer: Explorer,
        planner: Planner,
        *,
        final: FittedPolicyForest | None = None,
        r_max: float | None = None,
        seed: int = 0,
        max_steps: int | None = None,
        run_dir: str | os.PathLike[str] | None = None,
        guard: NoisyBaseline | None = None,
        **signals: Unpack[SignalOptions],
    ) -> None:
        require_signal_options(type(self).__name__, signals)
        super().__init__(stacked_system(problem, signals, guard), planner, final, r_max, seed)
        self._guard = fitted_guard(guard, self.problem)
        self.explorer = explorer
        self.max_steps = None if max_steps is None else whole_number("max_steps", max_steps, at_least=1)
        self._running: RunningEpisode | None = None
        self._unplanned: Record | None = None
        if run_dir is not None:
            self._journal.run = RunDirectory.create(run_dir, self.settings())

    @property
    def guard(self) -> NoisyBaseline | None:
        """The guard, which keeps actions near those of an existing controller."""
        return self._guard

    @guard.setter
    def guard(self, guard: NoisyBaseline | None) -> None:
        if self._journal.run is not None:
            raise ValueError(
                "guard: the run directory was created without it, must be given to the agent together with run_dir"
            )
        self._guard = fitted_guard(guard, self.problem)
        if self.env is not None:
            stacked_system(self.env, {}, guard)

    @property
    def task(self) -> gym.Env[Any, Any] | None:
        """The environment as its episodes are played."""
        return self.env

    def guarded(self, policy: Policy) -> Policy | GuardedPolicy:
        """A policy as it may be played in the environment: under the guard, if there is one."""
        return policy if self._guard is None else GuardedPolicy(policy, self._guard)

    def begin_episode(self, *, wait: bool = True) -> None:
        """Begins an episode; with `wait=False` also while a plan is being made.

        The previous policy acts until the new plan is ready."""
        if self._running is not None:
            raise RuntimeError("begin_episode: an episode is running; call end_episode or abandon_episode first")
        if wait:
            self.wait()
        self._running = RunningEpisode(self.problem, random_streams(self.seed, self.n_episodes)[1])

    def act(self, state: ArrayLike) -> Floats:
        """The action in a state. Constant time; a plan that has become ready is used from the next call on."""
        running = self._acting_episode()
        here = running.see(state)
        behaviour, kind = self._plans.behaviour, self.explorer.kind(self.n_episodes)
        if behaviour is None or kind == "random":
            wanted = uniform_action(self.problem.action_space, running.rng)
        else:
            wanted = self.explorer.action(behaviour, here, self.n_episodes, running.rng)
        return self._guarded(here, wanted)

    def observe(self, action: ArrayLike, reward: float, next_state: ArrayLike, terminal: bool) -> None:
        """Records the result of an action: the action that was really taken, the reward, the next state, and whether it
        ends the task (a time limit does not; after one, call `end_episode`)."""
        self._running_episode("observe").took(action, reward, next_state, terminal, self.r_max)

    def abandon_episode(self) -> None:
        """Forgets the running episode; the finished ones are kept."""
        self._running = None

    def cut_episode(self) -> None:
        """Ends the running episode after its last sound step; one without steps is forgotten."""
        if self._running is not None and len(self._running):
            self.end_episode()
        self.abandon_episode()

    def end_episode(self, *, background: bool = False) -> None:
        """Ends the episode and plans the next; `background`: in a thread, and `act` switches when it is ready.

        If the episode cannot be written to the run directory, the error is raised and nothing is lost: call again."""
        running = self._running_episode("end_episode")
        if len(running) == 0:
            raise RuntimeError("end_episode: nothing was observed; call abandon_episode to forget an empty episode")
        self._before_recording()
        # In this order, a failure to write loses nothing, and a crash while planning costs no episode.
        record = self._record(running.episode())
        self._journal.keep(self.n_episodes, record)
        self._running = None
        self._experience.add(record.episode)
        seconds, self._unplanned = 0.0, record
        try:
            self.wait()
            seconds = self._plan(record, background)
            self._unplanned = None
        finally:  # the episode is kept and reported whatever goes wrong in its plan
            self._note(seconds)

    def keep_pending(self) -> None:
        """Keeps an episode that has ended but could not be written, and makes a plan that was interrupted."""
        if self._running is not None and self._running.ended:
            self.end_episode()
        if self._unplanned is not None:
            self._plan(self._unplanned)
            self._unplanned = None

    def restore(self, run: RunDirectory) -> None:
        """Restores the episodes of a run directory, and makes those plans again that the next episode needs."""
        records = list(run.records())
        needed = plans_needed(records, self.planner.warm_start)
        for i, record in enumerate(records):
            self._experience.add(record.episode)
            if i in needed:
                self._plan(record)
            self._note(0.0)
        self._journal.resume(run)

    def learn(
        self,
        episodes: int | None = None,
        total_timesteps: int | None = None,
        *,
        callback: EpisodeCallback | None = None,
        progress_bar: bool = False,
    ) -> Self:
        """Explores the environment until the run has this many episodes or steps in total, whichever comes first.

        `callback` is called with an `EpisodeReport` after each episode, and ends the learning by returning False."""
        explore_environment(self, episodes, total_timesteps, callback, progress_bar)
        return self

    def settings(self) -> dict[str, Any]:
        """Everything that a run depends on, as plain data."""
        return agent_settings(self)

    def _guarded(self, state: Floats, wanted: Floats) -> Floats:
        return wanted if self._guard is None else self._guard.bounded(state, wanted)

    def _running_episode(self, caller: str) -> RunningEpisode:
        if self._running is None:
            raise RuntimeError(f"{caller}: no episode is running; call begin_episode first")
        return self._running

    def _acting_episode(self) -> RunningEpisode:
        running = self._running_episode("act")
        if running.ended:
            raise RuntimeError("act: no episode is running; call begin_episode first")
        return running

    def _before_recording(self) -> None:
        """Waits for the plan in the background, because a record holds the values that the next plan begins with."""
        self.wait()

    def _record(self, episode: Episode) -> Record:
        """A record of an episode that has just ended, and of the values that the plan after it begins with."""
        next_kind = self.explorer.kind(self.n_episodes + 1)
        samples = self._experience.samples_with(episode)
        return Record(episode, next_kind, self.planner.start(self._plans.last(next_kind), samples))

    def _plan(self, record: Record, background: bool = False) -> float:
        """Plans what follows an episode that was taken in; returns the seconds, 0 for a plan in the background."""
        kind = record.next_kind
        if kind == "random":
            return 0.0
        seed = int(np.random.SeedSequence([self.seed, self.n_episodes]).generate_state(1, np.uint64)[0])
        known = self.known if kind == "optimistic" else None
        plan = partial(self.planner.plan, PlanInput(self.transitions, seed, record.start, known, self.estimated_r_max))
        if not background:
            return self._plans.make(kind, plan)
        self._plans.make_in_background(kind, plan)
        return 0.0

    def _note(self, plan_seconds: float) -> None:
        self._journal.note(self._experience.report(self._kind(self.n_episodes - 1), plan_seconds))

    def _kind(self, episode: int) -> EpisodeKind:
        """The kind of plan of an episode."""
        return self.explorer.kind(episode)
