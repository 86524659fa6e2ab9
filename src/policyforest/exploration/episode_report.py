"""What is reported of each episode, and what observes an agent from outside: callbacks, tables, logs, progress bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from policyforest.exploration.explorers import EpisodeKind


@dataclass(frozen=True)
class EpisodeReport:
    """The summary of one episode, for callbacks, tables and logs."""

    episode: int
    """The number of the episode, from 0"""
    kind: EpisodeKind
    """How its actions were planned: "random", "plain" or "optimistic" """
    steps: int
    total_steps: int
    episode_return: float
    """The sum of its rewards"""
    terminal: bool
    coverage: float
    """Mean knownness of the box of states and actions, after the episode"""
    plan_seconds: float
    """The time of the plan after the episode; 0 if there was none, or if it is made in the background"""


EpisodeCallback = Callable[[EpisodeReport], bool | None]
"""Called after each episode; ends the learning by returning False"""
