"""How a log was understood, and warnings of common faults, each with a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.formulas import Expression
from policyforest.data.readers.log_contents import LogContents
from policyforest.data.readers.log_warnings import Advice, advice
from policyforest.data.readers.resolved_columns import Column
from policyforest.data.transitions import Transitions

# Rows whose time steps vary by more than this fraction of their median do not have a control period.
VARYING = 0.2


class LogWarning(UserWarning):
    """A log that can be learned from, but may contain a mistake."""


@dataclass(frozen=True)
class ColumnRange:
    """A dimension of the state or the action."""

    name: str
    role: str
    low: float
    high: float
    mean: float
    constant: bool


@dataclass(frozen=True)
class Description:
    """A description of a log: how its columns and rows were understood."""

    files: tuple[str, ...]
    formats: tuple[str, ...]
    n_rows: int
    n_samples: int
    n_episodes: int
    episode_lengths: tuple[int, int, int]
    """Shortest, median and longest"""
    n_terminal: int
    terminal_share: float
    """The share of episodes that end in a terminal state"""
    columns: tuple[ColumnRange, ...]
    reward: str | None
    reward_range: tuple[float, float] | None
    terminal: str | None
    period: float | None
    """Median seconds between rows"""
    jitter: float | None
    """The 95th percentile of |interval - median|, in seconds"""
    resampled_to: float | None
    n_gaps: int
    n_duplicates: int
    n_last_rows: int
    n_malformed: int
    malformed: tuple[str, ...]
    warnings: tuple[Advice, ...]
    n_lost: int = 0
    """Samples that were lost because their history is not known"""
    n_irregular: int = 0
    """Rows whose interval to the row before differs from the median by more than a fifth of the median"""
    delay: str | None = None
    """The evidence for a delay that was found"""

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from dataclasses import asdict

        return asdict(self)


def describe_log(log: LogContents) -> Description:
    """The description of a log, with warnings where it has samples."""
    rewards, intervals = log.rewards, log.intervals
    named = [("state", c.name, log.states[:, d]) for d, c in enumerate(log.columns.state)]
    named += [("action", c.name, log.actions[:, d]) for d, c in enumerate(log.columns.action)]
    return Description(
        files=tuple(part.file for part in log.parts),
        formats=tuple(dict.fromkeys(part.format for part in log.parts)),
        n_rows=sum(len(part.rows) for part in log.parts),
        n_samples=len(log.terminals),
        n_episodes=len(log.lengths),
        episode_lengths=_lengths(log.lengths),
        n_terminal=int(log.terminals.sum()),
        terminal_share=float(log.ended.mean()) if len(log.ended) else 0.0,
        columns=tuple(_range(role, name, values) for role, name, values in named if len(values)),
        reward=_text(log.columns.reward),
        reward_range=None if rewards is None or not len(rewards) else (float(rewards.min()), float(rewards.max())),
        terminal=_text(log.columns.terminal),
        period=float(np.median(intervals)) if len(intervals) else None,
        jitter=_jitter(intervals),
        resampled_to=log.settings.period,
        n_gaps=log.total("n_gaps"),
        n_duplicates=log.total("n_duplicates"),
        n_last_rows=log.total("n_last"),
        n_malformed=log.problems.count,
        malformed=tuple(log.problems.shown),
        warnings=advice(log) if len(log.terminals) else (),
        n_irregular=_n_irregular(intervals),
    )


def describe_transitions(data: Transitions, files: Sequence[str]) -> Description:
    """The description of samples that were saved as transitions."""
    lengths = np.unique(data.episodes, return_counts=True)[1]
    named = [("state", name, column) for name, column in zip(data.plant.state_names, data.states.T, strict=True)]
    named += [("action", name, column) for name, column in zip(data.plant.action_names, data.actions.T, strict=True)]
    return Description(
        files=tuple(files),
        formats=("transitions",),
        n_rows=len(data),
        n_samples=len(data),
        n_episodes=len(lengths),
        episode_lengths=_lengths(lengths),
        n_terminal=int(data.terminals.sum()),
        terminal_share=float(data.terminals.sum() / len(lengths)),
        columns=tuple(_range(role, name, values) for role, name, values in named),
        reward=data.plant.reward if isinstance(data.plant.reward, str) else "reward",
        reward_range=(float(data.rewards.min()), float(data.rewards.max())),
        terminal=data.plant.terminal if isinstance(data.plant.terminal, str) else "terminal",
        period=None,
        jitter=None,
        resampled_to=None,
        n_gaps=0,
        n_duplicates=0,
        n_last_rows=0,
        n_malformed=0,
        malformed=(),
        warnings=(),
    )


def _lengths(lengths: Any) -> tuple[int, int, int]:
    return (int(lengths.min()), int(np.median(lengths)), int(lengths.max())) if len(lengths) else (0, 0, 0)


def _range(role: str, name: str, values: Floats) -> ColumnRange:
    low, high = float(values.min()), float(values.max())
    return ColumnRange(name, role, low, high, float(values.mean()), low == high)


def _jitter(intervals: Floats) -> float | None:
    return float(np.percentile(np.abs(intervals - np.median(intervals)), 95)) if len(intervals) else None


def _n_irregular(intervals: Floats) -> int:
    if not len(intervals):
        return 0
    period = np.median(intervals)
    return int((np.abs(intervals - period) > VARYING * period).sum())


def _text(column: Column | Expression | None) -> str | None:
    return column.text if isinstance(column, Expression) else None if column is None else column.source
