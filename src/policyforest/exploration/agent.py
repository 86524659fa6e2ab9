"""An agent that explores a system it knows nothing of: it acts in real time and plans between episodes.

    agent.begin_episode()
    action = agent.act(state)                                  # constant time, never waits for planning
    agent.observe(action, reward, next_state, terminal)
    agent.end_episode(background=True)                         # plans while the robot is brought back to its start

With a Gymnasium environment, `learn` does all of this. Episode e of a run with a seed has random streams of its own, a
plan is a function of the samples and the seed: so a run that is killed can be continued to the same bits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Self

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, whole_number
from policyforest._support.settings import result_settings
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import Episode, random_streams
from policyforest.exploration.explorers import Behaviour, EpisodeKind, Explorer, uniform_action
from policyforest.exploration.loop import learn
from policyforest.exploration.planner import Plan, PlanInput, Planner, checked_r_max, knownness_box
from policyforest.exploration.problem import Explorable, Problem
from policyforest.exploration.run_directory import EpisodeReport, RunDirectory
from policyforest.exploration.running_episode import RunningEpisode
from policyforest.exploration.selection import PolicyCallback, best_by_validation, best_on_samples, policies
from policyforest.forest.executors.interface import Executor
from policyforest.forest.knownness import KnownnessForest
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.policy.policy import Policy


class ExploringAgent:
    """Explores by an `Explorer`, plans by a `Planner`; see `policyforest.exploration` for ready ones.

    Parameters
    ----------
    problem: an environment, a `Problem`, or the two spaces of a system, (observations, actions).
    explorer, planner: who acts, and how it is planned.
    final: how `policies` learns from the gathered samples; default: the planner's learners, without optimism.
    r_max: the largest reward that a step can pay; None: the largest seen so far.
    seed: the same seed gives the same run.
    max_steps: the longest episode of `learn`, if shorter than the environment's own time limit.
    run_dir: where every finished episode is kept, durably; a directory that holds a run is refused (`pf.resume`).
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
    ) -> None:
        self.env = problem if isinstance(problem, gym.Env) else None
        self.problem = Problem.of(problem)
        self.explorer, self.planner = explorer, planner
        self.final = final or replace(planner.policy_learner, q_learner=planner.q_learner)
        self.max_steps = None if max_steps is None else whole_number("max_steps", max_steps, at_least=1)
        self.r_max = checked_r_max(r_max)
        self.seed = whole_number("seed", seed, at_least=0, at_most=2**62)
        self.episodes: list[Episode] = []
        self._parts: list[Transitions] = []
        self._known: KnownnessForest | None = None
        self._plans: dict[EpisodeKind, Plan] = {}
        self._behaviour: Behaviour | None = None  # replaced as a whole, by one assignment
        self._planning: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._running: RunningEpisode | None = None
        self.log: list[EpisodeReport] = []
        self.run: RunDirectory | None = None
        if run_dir is not None:
            self.run = RunDirectory.create(run_dir, self.settings())

    @property
    def n_episodes(self) -> int:
        """Finished episodes."""
        return len(self.episodes)

    @property
    def total_steps(self) -> int:
        """Steps of all finished episodes."""
        return sum(len(episode.rewards) for episode in self.episodes)

    def begin_episode(self, *, wait: bool = True) -> None:
        """Begins an episode; with `wait` False even while planning, under the policy that there is until it is done."""
        if self._running is not None:
            raise RuntimeError("begin_episode: an episode is running; call end_episode or abandon_episode first")
        if wait:
            self.wait()
        self._running = RunningEpisode(self.problem, random_streams(self.seed, self.n_episodes)[1])

    def act(self, state: ArrayLike) -> Floats:
        """The action in a state. Constant time; a plan that has become ready is used from the next call on."""
        running = self._running
        if running is None or running.ended:
            raise RuntimeError("act: no episode is running; call begin_episode first")
        here = running.see(state)
        behaviour, kind = self._behaviour, self.explorer.kind(self.n_episodes)
        if behaviour is None or kind == "random":
            return uniform_action(self.problem.action_space, running.rng)
        return self.explorer.action(behaviour, here, self.n_episodes, running.rng)

    def observe(self, action: ArrayLike, reward: float, next_state: ArrayLike, terminal: bool) -> None:
        """What came of an action: the one that was really taken, the reward, the next state, and whether it ends the
        task (a time limit does not: call end_episode for that)."""
        if self._running is None:
            raise RuntimeError("observe: no episode is running; call begin_episode first")
        if self.r_max is not None and reward > self.r_max:
            raise ValueError(f"r_max: is {self.r_max}, must be at least the reward {reward} that was just seen")
        self._running.took(action, reward, next_state, terminal)

    def abandon_episode(self) -> None:
        """Forgets the running episode; the finished ones are kept."""
        self._running = None

    def end_episode(self, *, background: bool = False) -> None:
        """Ends the episode and plans the next; `background`: in a thread, and `act` switches when it is ready.

        If the episode cannot be written to the run directory, the error is raised and nothing is lost: call again."""
        if self._running is None:
            raise RuntimeError("end_episode: no episode is running; call begin_episode first")
        if len(self._running) == 0:
            raise RuntimeError("end_episode: nothing was observed; call abandon_episode to forget an empty episode")
        self.wait()
        self._keep(self._running.episode(), background)

    def keep_pending(self) -> None:
        """Keeps an episode that has ended but could not be written."""
        if self._running is not None and self._running.ended:
            self.end_episode()

    @property
    def planning(self) -> bool:
        """Whether a plan is being made in the background."""
        return self._planning is not None and self._planning.is_alive()

    def wait(self) -> None:
        """Waits for a plan in the background; what went wrong in it is raised here."""
        if self._planning is not None:
            self._planning.join()
            self._planning = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    @property
    def policy(self) -> Policy | None:
        """What the agent acts by now; None before its first plan."""
        behaviour = self._behaviour
        return None if behaviour is None else behaviour.policy

    @property
    def transitions(self) -> Transitions:
        """All samples of finished episodes."""
        if not self._parts:
            raise ValueError("transitions: there are none, at least one episode must have ended")
        if len(self._parts) > 1:
            self._parts = [Transitions.concatenate(self._parts)]
        return self._parts[0]

    @property
    def known(self) -> KnownnessForest | None:
        """The knownness forest; None before the first episode has ended."""
        return self._known

    @property
    def estimated_r_max(self) -> float:
        """R_max, or the largest reward seen where it was not given."""
        return float(self.transitions.rewards.max()) if self.r_max is None else self.r_max

    def _keep(self, episode: Episode, background: bool) -> None:
        """Writes a finished episode, takes it in, then plans: in this order, so that a failure to write loses nothing
        and a crash while planning costs no episode."""
        kind, next_kind = self.explorer.kind(self.n_episodes), self.explorer.kind(self.n_episodes + 1)
        part = self.problem.transitions([episode])
        samples = Transitions.concatenate([*self._parts, part])
        start = None if next_kind == "random" else self.planner.start(self._plans.get(next_kind), samples)
        if self.run is not None:
            self.run.add(self.n_episodes, episode, next_kind, start)
        self._running = None
        self._take(episode, part)
        seconds = 0.0 if next_kind == "random" else self._plan_next(next_kind, self._task(next_kind, start), background)
        self.log.append(self._report(kind, seconds))
        if self.run is not None:
            self.run.note(self.log[-1])

    def _report(self, kind: EpisodeKind, seconds: float) -> EpisodeReport:
        episode = self.episodes[-1]
        return EpisodeReport(
            self.n_episodes - 1,
            kind,
            len(episode.rewards),
            self.total_steps,
            float(episode.rewards.sum()),
            episode.terminal,
            0.0 if self._known is None else self._known.coverage(),
            seconds,
        )

    def _take(self, episode: Episode, part: Transitions) -> None:
        self.episodes.append(episode)
        self._parts.append(part)
        fixed = np.isfinite(self.problem.state_limits).all()
        if self._known is None or not fixed:  # where the box is read off the data, it may have grown
            self._known = self.planner.knownness_forest(knownness_box(self.transitions), self.seed)
            part = self.transitions
        self._known.insert(np.concatenate([part.states, part.actions], axis=1))

    def _task(self, kind: EpisodeKind, start: Floats | None) -> PlanInput:
        known = self._known if kind == "optimistic" else None
        seed = int(np.random.SeedSequence([self.seed, self.n_episodes]).generate_state(1, np.uint64)[0])
        return PlanInput(self.transitions, seed, start, known, self.estimated_r_max)

    def _plan_next(self, kind: EpisodeKind, task: PlanInput, background: bool) -> float:
        if not background:
            self._adopt(kind, self.planner.plan(task))
            return self._plans[kind].seconds
        self._planning = threading.Thread(target=self._plan_behind, args=(kind, task), name="planning", daemon=True)
        self._planning.start()
        return 0.0

    def _plan_behind(self, kind: EpisodeKind, task: PlanInput) -> None:
        try:
            self._adopt(kind, self.planner.plan(task))
        except BaseException as error:  # raised again in the thread that acts
            self._failure = error

    def _adopt(self, kind: EpisodeKind, plan: Plan) -> None:
        self._plans[kind] = plan
        self._behaviour = Behaviour(plan.policy)

    def restore(self, run: RunDirectory) -> None:
        """Takes in the episodes of a run directory, and makes those plans again that the next episode needs."""
        records = list(run.records())
        last = {record.next_kind: i for i, record in enumerate(records)}
        for i, record in enumerate(records):
            kind = self.explorer.kind(i)
            self._take(record.episode, self.problem.transitions([record.episode]))
            # The next episode needs the last plan, and the plan after it what it begins with.
            needed = i == len(records) - 1 or (self.planner.warm_start and last.get("plain") == i)
            if needed and record.next_kind != "random":
                self._adopt(record.next_kind, self.planner.plan(self._task(record.next_kind, record.start)))
            self.log.append(self._report(kind, 0.0))
        run.shorten_log(len(records))
        self.run = run

    def settings(self) -> dict[str, Any]:
        """All that a run depends on, as plain data."""
        return {
            "problem": self.problem.settings(),
            "explorer": asdict(self.explorer),
            "planner": self.planner.settings(),
            "final": result_settings(self.final) | {"q": result_settings(self.final.q_learner)},
            "r_max": self.r_max,
            "seed": self.seed,
            "max_steps": self.max_steps,
        }

    def learn(
        self,
        episodes: int | None = None,
        total_timesteps: int | None = None,
        *,
        callback: Callable[[EpisodeReport], bool | None] | None = None,
        progress_bar: bool = False,
    ) -> Self:
        """Explores the environment until the run has so many episodes or steps in all, whichever comes first.

        `callback` is called with an `EpisodeReport` after each episode, and ends the learning by returning False."""
        learn(self, episodes, total_timesteps, callback, progress_bar)
        return self

    def policies(
        self, n: int = 10, *, callback: PolicyCallback | None = None, executor: Executor | None = None
    ) -> list[Policy]:
        """n different Fitted Policy Forests from the gathered samples, without optimism; `callback(learned, n)` is
        called after each. With an `executor` (`policyforest.executors`) several are learned at once, to the same bits.

        Where plans go on from one another, so do these: they begin with the last Q function without optimism, and take
        as many iterations as such a plan may."""
        learner, last = self.final, self._plans.get("plain")
        if self.planner.warm_start and last is not None:
            horizon = self.planner.most_warm_iterations or learner.q_learner.horizon
            learner = replace(learner, q_learner=replace(learner.q_learner, warm_start=last.q, horizon=horizon))
        return policies(learner, self.transitions, n, self.seed, callback, executor)

    def best_policy(
        self,
        n: int = 10,
        validation_episodes: int = 10,
        *,
        callback: PolicyCallback | None = None,
        executor: Executor | None = None,
    ) -> Policy:
        """The best of n policies: by `validation_episodes` episodes each, as the paper proposes; without an
        environment, by fitted Q evaluation on the samples."""
        whole_number("validation_episodes", validation_episodes, at_least=1)
        candidates = self.policies(n, callback=callback, executor=executor)
        if self.env is None:
            return best_on_samples(candidates, self.transitions, self.planner.q_learner)
        return best_by_validation(candidates, self.env, validation_episodes, self.seed)
