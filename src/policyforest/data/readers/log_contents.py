"""The content of a log over all of its files, from which its description and the warnings are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.readers.assembly import Steps
from policyforest.data.readers.reading_settings import ReadingSettings
from policyforest.data.readers.resolved_columns import ResolvedColumns
from policyforest.data.readers.rows import Problems, Rows, joined
from policyforest.data.sample_checks import Bools, Ints


@dataclass(frozen=True)
class LogPart:
    """One file of a log: its rows, and the samples that were built from them."""

    file: str
    format: str
    rows: Rows
    columns: ResolvedColumns
    steps: Steps


@dataclass(frozen=True)
class LogContents:
    """The samples of all files together, and how they were read."""

    parts: Sequence[LogPart]
    settings: ReadingSettings
    problems: Problems
    bounds_from_log: bool
    """Whether the limits of the actions are the extremes of the log"""
    states: Floats
    actions: Floats
    next_states: Floats
    rewards: Floats | None
    terminals: Bools
    lengths: Ints
    """The number of steps of each episode"""
    ended: Bools
    """For each episode, whether it ended in a terminal state"""
    intervals: Floats
    """Seconds between rows that follow each other"""

    @property
    def columns(self) -> ResolvedColumns:
        """The columns, which are the same in all files."""
        return self.parts[0].columns

    def total(self, name: str) -> int:
        """A count of `Steps`, over all files."""
        return sum(getattr(part.steps, name) for part in self.parts)


def log_contents(
    parts: Sequence[LogPart], settings: ReadingSettings, problems: Problems, bounds_from_log: bool
) -> LogContents:
    steps = [part.steps for part in parts]

    def together(name: str) -> Any:
        return joined([getattr(part, name) for part in steps])

    return LogContents(
        parts,
        settings,
        problems,
        bounds_from_log,
        states=together("states"),
        actions=together("actions"),
        next_states=together("next_states"),
        rewards=None if steps[0].rewards is None else together("rewards"),
        terminals=together("terminals"),
        lengths=joined([np.bincount(part.episodes) for part in steps]),
        ended=joined([_ended(part) for part in steps]),
        intervals=together("intervals"),
    )


def _ended(steps: Steps) -> Bools:
    count = int(steps.episodes.max(initial=-1)) + 1
    ended: Bools = np.bincount(steps.episodes, steps.terminals, minlength=count) > 0
    return ended
