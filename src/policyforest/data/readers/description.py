"""What was understood of a log, and what usually goes wrong with logs; each warning says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.formulas import Expression
from policyforest.data.readers import log_warnings
from policyforest.data.readers.assembly import Steps
from policyforest.data.readers.columns import Column, Columns
from policyforest.data.readers.log_warnings import Advice
from policyforest.data.readers.rows import Problems, Rows, joined
from policyforest.data.transitions import Transitions


class LogWarning(UserWarning):
    """A log that can be learned from, but is perhaps not what it seems."""


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
    """What was understood of a log."""

    files: tuple[str, ...]
    formats: tuple[str, ...]
    n_rows: int
    n_samples: int
    n_episodes: int
    episode_lengths: tuple[int, int, int]
    """Shortest, median and longest"""
    n_terminal: int
    terminal_share: float
    """Of the episodes"""
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

    def plain(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from dataclasses import asdict

        return asdict(self)


def described(
    rows: Sequence[Rows],
    steps: Sequence[Steps],
    columns: Columns,
    problems: Problems,
    bounds_from_log: bool,
    files: Sequence[tuple[str, str]],
    angles: Sequence[str],
    period: float | None,
    degrees: Sequence[str],
) -> Description:
    states, actions = (joined([getattr(s, name) for s in steps]) for name in ("states", "actions"))
    terminals = joined([s.terminals for s in steps])
    lengths = joined([np.bincount(s.episodes) for s in steps]) if len(terminals) else np.zeros(0, dtype=np.int64)
    ended = _ended(steps)
    intervals = joined([s.intervals for s in steps])
    rewards = None if steps[0].rewards is None else joined([s.rewards for s in steps if s.rewards is not None])
    named = [("state", c.name, states[:, d]) for d, c in enumerate(columns.state)]
    named += [("action", c.name, actions[:, d]) for d, c in enumerate(columns.action)]
    ranges = tuple(_range(role, name, values) for role, name, values in named if len(values))
    seen = log_warnings.Seen(
        columns, states, actions, joined([s.next_states for s in steps]), rewards, terminals, lengths, ended,
        intervals, tuple(angles), bounds_from_log, any(r.interleaved for r in rows),
        any(r.time is not None for r in rows),
        problems, len(files), period is not None, tuple(degrees), sum(s.n_duplicates for s in steps),
    )  # fmt: skip
    return Description(
        files=tuple(name for name, _ in files),
        formats=tuple(dict.fromkeys(kind for _, kind in files)),
        n_rows=sum(map(len, rows)),
        n_samples=len(terminals),
        n_episodes=len(lengths),
        episode_lengths=_lengths(lengths),
        n_terminal=int(terminals.sum()),
        terminal_share=float(ended.mean()) if len(ended) else 0.0,
        columns=ranges,
        reward=_text(columns.reward),
        reward_range=None if rewards is None or not len(rewards) else (float(rewards.min()), float(rewards.max())),
        terminal=_text(columns.terminal),
        period=float(np.median(intervals)) if len(intervals) else None,
        jitter=_jitter(intervals),
        resampled_to=period,
        n_gaps=sum(s.n_gaps for s in steps),
        n_duplicates=sum(s.n_duplicates for s in steps),
        n_last_rows=sum(s.n_last for s in steps),
        n_malformed=problems.count,
        malformed=tuple(problems.shown),
        warnings=log_warnings.advice(seen) if len(terminals) else (),
    )


def described_transitions(data: Transitions, files: Sequence[str]) -> Description:
    """The description of samples that were saved as such."""
    lengths = np.unique(data.episodes, return_counts=True)[1]
    named = [("state", f"state_{d}", column) for d, column in enumerate(data.states.T)]
    named += [("action", f"action_{d}", column) for d, column in enumerate(data.actions.T)]
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
        reward="reward",
        reward_range=(float(data.rewards.min()), float(data.rewards.max())),
        terminal="terminal",
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


def _ended(steps: Sequence[Steps]) -> Any:
    """For each episode, whether it came to a terminal state."""
    flags = []
    for part in steps:
        count = int(part.episodes.max(initial=-1)) + 1
        flags.append(np.bincount(part.episodes, part.terminals, minlength=count) > 0)
    return joined(flags)


def _lengths(lengths: Any) -> tuple[int, int, int]:
    return (int(lengths.min()), int(np.median(lengths)), int(lengths.max())) if len(lengths) else (0, 0, 0)


def _range(role: str, name: str, values: Floats) -> ColumnRange:
    low, high = float(values.min()), float(values.max())
    return ColumnRange(name, role, low, high, float(values.mean()), low == high)


def _jitter(intervals: Floats) -> float | None:
    return float(np.percentile(np.abs(intervals - np.median(intervals)), 95)) if len(intervals) else None


def _text(column: Column | Expression | None) -> str | None:
    return column.text if isinstance(column, Expression) else None if column is None else column.source
