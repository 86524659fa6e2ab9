"""What an agent has learned of its system so far: the finished episodes, their samples, and how well they cover it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.excursions import beyond, warn_outside, warn_time_limit
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import Episode
from policyforest.exploration.episode_report import EpisodeReport
from policyforest.exploration.explorers import EpisodeKind
from policyforest.exploration.planner import knownness_box
from policyforest.exploration.problem import Problem
from policyforest.forest.knownness import KnownnessForest


class Experience:
    """The finished episodes of a run.

    new_knownness: makes an empty knownness forest over a box of states and actions.
    """

    def __init__(self, problem: Problem, new_knownness: Callable[[Floats], KnownnessForest]) -> None:
        self._problem, self._new_knownness = problem, new_knownness
        self.episodes: list[Episode] = []
        self.known: KnownnessForest | None = None
        """None before the first episode"""
        self._warned_outside = self._warned_limit = False
        self._parts: list[Transitions] = []  # joined when needed: a run of many episodes is read at once

    @property
    def total_steps(self) -> int:
        """Steps of all episodes."""
        return sum(len(episode.rewards) for episode in self.episodes)

    @property
    def samples(self) -> Transitions:
        """All samples, in their order."""
        if not self._parts:
            raise ValueError("transitions: the agent has none yet, at least one episode must have ended")
        if len(self._parts) > 1:
            self._parts = [Transitions.concatenate(self._parts)]
        return self._parts[0]

    def samples_with(self, episode: Episode) -> Transitions:
        """All samples and those of one more episode, which is checked but not added."""
        return Transitions.concatenate([*self._parts, self._problem.transitions([episode])])

    def add(self, episode: Episode) -> None:
        """Adds an episode."""
        part = self._problem.transitions([episode])
        self.episodes.append(episode)
        self._parts.append(part)
        self._warn_once(part)
        fixed = np.isfinite(self._problem.state_limits).all() and not self._leaves_box(part)
        if self.known is None or not fixed:  # where the box is read off the data, it may have grown
            self.known = self._new_knownness(knownness_box(self.samples))
            part = self.samples
        self.known.insert(np.concatenate([part.states, part.actions], axis=1))

    def _leaves_box(self, part: Transitions) -> bool:
        """Whether samples lie outside of what the knownness forest covers."""
        if self.known is None:
            return False
        box = self.known.box[: part.states.shape[1]]
        return bool(((part.states < box[:, 0]) | (part.states > box[:, 1])).any())

    def _warn_once(self, part: Transitions) -> None:
        """A run warns once that observations leave their box, and once that its episodes seem to end only by a time
        limit."""
        if not self._warned_outside and part.n_outside:
            self._warned_outside = True
            outside = beyond(part.states, part.state_limits)
            rows = np.where(outside, part.states, part.next_states)
            warn_outside(rows, outside | beyond(rows, part.state_limits), part.state_limits, stacklevel=5)
        if not self._warned_limit:
            lengths = np.array([len(episode.rewards) for episode in self.episodes])
            ended = np.array([episode.terminal for episode in self.episodes])
            self._warned_limit = warn_time_limit(lengths, ended, stacklevel=5)

    def report(self, kind: EpisodeKind, plan_seconds: float) -> EpisodeReport:
        """The report of the last episode. `kind` is how it was planned; the seconds are those of the plan after it."""
        episode = self.episodes[-1]
        return EpisodeReport(
            len(self.episodes) - 1,
            kind,
            len(episode.rewards),
            self.total_steps,
            float(episode.rewards.sum()),
            episode.terminal,
            0.0 if self.known is None else self.known.coverage(),
            plan_seconds,
        )
