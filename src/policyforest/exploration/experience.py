"""What an agent has learned of its system so far: the finished episodes, their samples, and how well they cover it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policyforest._support.arguments import Floats
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
        self._parts: list[Transitions] = []  # joined when they are asked for: a run of many episodes is read at once

    @property
    def total_steps(self) -> int:
        """Steps of all episodes."""
        return sum(len(episode.rewards) for episode in self.episodes)

    @property
    def samples(self) -> Transitions:
        """All samples, in their order."""
        if not self._parts:
            raise ValueError("transitions: there are none, at least one episode must have ended")
        if len(self._parts) > 1:
            self._parts = [Transitions.concatenate(self._parts)]
        return self._parts[0]

    def samples_with(self, episode: Episode) -> Transitions:
        """All samples and those of one more episode, which is checked and not taken in."""
        return Transitions.concatenate([*self._parts, self._problem.transitions([episode])])

    def add(self, episode: Episode) -> None:
        """Takes in an episode."""
        part = self._problem.transitions([episode])
        self.episodes.append(episode)
        self._parts.append(part)
        fixed = np.isfinite(self._problem.state_limits).all()
        if self.known is None or not fixed:  # where the box is read off the data, it may have grown
            self.known = self._new_knownness(knownness_box(self.samples))
            part = self.samples
        self.known.insert(np.concatenate([part.states, part.actions], axis=1))

    def report(self, kind: EpisodeKind, plan_seconds: float) -> EpisodeReport:
        """What the last episode was; `kind` is what it was planned with, the seconds are those of the plan after it."""
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
