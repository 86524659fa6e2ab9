"""What is reported of each episode, and what observes an agent from outside: callbacks, tables, logs, progress bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from policyforest.exploration.explorers import EpisodeKind


@dataclass(frozen=True)
class EpisodeReport:
    """What one episode was, for callbacks, tables and logs."""

    episode: int
    """From 0"""
    kind: EpisodeKind
    """What it was planned with: "random", "plain" or "optimistic" """
    steps: int
    total_steps: int
    episode_return: float
    """The sum of its rewards"""
    terminal: bool
    coverage: float
    """Mean knownness of the box of states and actions, after the episode"""
    plan_seconds: float
    """Of the plan after the episode; 0 where there was none, or where it is made in the background"""


EpisodeCallback = Callable[[EpisodeReport], bool | None]
"""Called after each episode; ends the learning by returning False"""
