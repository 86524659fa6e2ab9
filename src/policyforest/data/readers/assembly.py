"""Builds samples (s, a, r, s') from the rows of a log: splits the rows into episodes, and adds the next states.

A row holds a state and the action that was taken there; the next state is the state of the next row in the same
episode. An episode ends at a break in the file (a new label, or an omitted row), when time goes back or jumps by more
than the largest gap, and after a terminal or truncated row. If an episode was only cut off, its last row is used as a
next state and is not a sample. Logs differ in the row that holds the terminal flag:

- "step": the row's action led to the end, as in Gymnasium's steps. If no row holds the state after it, the row's own
  state is used instead: no action is taken there, and no learner reads it.
- "state": the row's state is the terminal state. The sample before it is terminal, and the row itself is not a sample.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from policyforest._support.angles import turned_within
from policyforest._support.arguments import Floats
from policyforest._support.formulas import Expression
from policyforest.data.readers.columns import NEXT
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns
from policyforest.data.readers.rows import Problems, Rows
from policyforest.data.sample_checks import Bools, Ints

# A pause of more control periods than this is a gap.
GAP_PERIODS = 3.0


@dataclass(frozen=True)
class Steps:
    """Samples of one file, and counts of what was found while they were built."""

    states: Floats
    actions: Floats
    next_states: Floats
    rewards: Floats | None
    terminals: Bools
    episodes: Ints
    """Numbers from 0"""
    times: Floats | None
    rows: Ints
    """The row of each sample"""
    intervals: Floats
    """Seconds between rows that follow each other"""
    n_gaps: int
    n_duplicates: int
    n_last: int
    """Rows that are used only as next states"""


def degrees_to_radians(rows: Rows, names: Sequence[str]) -> None:
    """Converts columns from degrees to radians, in place."""
    for name in _state_names("degrees", names, rows.numbers):
        for column in (name, NEXT + name):
            if column in rows.numbers:
                rows.numbers[column] = np.deg2rad(rows.numbers[column])


def wrap_angles(rows: Rows, names: Sequence[str], columns: ResolvedColumns) -> None:
    """Wraps angles into [-pi, pi), in place."""
    for name in _state_names("angles", names, {c.name: None for c in columns.state}):
        for column in (name, NEXT + name):
            if column in rows.numbers:
                rows.numbers[column] = turned_within(rows.numbers[column], -np.pi, np.pi)


def without_duplicates(rows: Rows, problems: Problems) -> tuple[Rows, int]:
    """Removes rows that repeat the time and the content of the row before them."""
    if rows.time is None or len(rows) < 2:
        return rows, 0
    again = np.concatenate([[False], np.diff(rows.time) == 0]) & ~rows.breaks
    same = again.copy()
    for values in rows.numbers.values():
        same[1:] &= (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    for flags in (rows.terminal, rows.truncated):
        if flags is not None:
            same[1:] &= flags[1:] == flags[:-1]
    for row in np.flatnonzero(again & ~same):
        problems.add(
            rows.place(int(row)), f"has the time of the row before it, {rows.time[row]:.15g}, with other values"
        )
    kept = rows.only(~(again & ~same))
    again = same[~(again & ~same)]
    # A repeated row is not a break: the row after it also follows the row before it.
    breaks = kept.breaks.copy()
    whole = kept.only(~again)
    object.__setattr__(whole, "breaks", breaks[~again])
    return whole, int(again.sum())


def with_gaps(rows: Rows, max_gap: float | None) -> tuple[Rows, Floats, int]:
    """Adds breaks where time goes back or jumps; also returns the remaining intervals and the number of jumps."""
    if rows.time is None or len(rows) < 2:
        return rows, np.empty(0), 0
    step = np.diff(rows.time)
    joined = ~rows.breaks[1:]
    forward = joined & (step > 0)
    largest = (
        max_gap if max_gap is not None else GAP_PERIODS * float(np.median(step[forward])) if forward.any() else 0.0
    )
    # A tolerance for times that were rounded when they were written.
    jumps = joined & (step > largest * (1 + 1e-6))
    breaks = rows.breaks.copy()
    breaks[1:] |= jumps | (step < 0)
    whole = rows.only(np.ones(len(rows), dtype=np.bool_))
    object.__setattr__(whole, "breaks", breaks)
    return whole, step[joined & ~jumps & (step > 0)], int(jumps.sum())


def assemble(
    rows: Rows, columns: ResolvedColumns, problems: Problems, intervals: Floats, gaps: int, duplicates: int
) -> Steps:
    """Builds samples from rows whose breaks are all known."""
    terminal = _terminal_flags(rows, columns)
    breaks = rows.breaks.copy()
    breaks[1:] |= terminal[:-1] if rows.truncated is None else (terminal | rows.truncated)[:-1]
    states, actions = _stack(rows, columns.state), _stack(rows, columns.action)
    following = _following(rows, columns, states, actions, terminal, breaks)
    sample = following.sample
    rewards = _rewards(rows, columns, following.states)
    usable = sample.copy()
    for name, values in [(c.name, actions[:, i]) for i, c in enumerate(columns.action)]:
        usable &= _given(rows, sample & usable, values, f"action {name} is empty", problems)
    if rewards is not None:
        usable &= _given(rows, sample & usable, rewards, _reward_reason(columns), problems)
    episodes = np.cumsum(breaks) - 1
    # A sample that was left out cuts its episode in two.
    kept = np.flatnonzero(usable)
    cut = np.cumsum(sample & ~usable)
    return Steps(
        states[kept],
        actions[kept],
        following.states[kept],
        None if rewards is None else rewards[kept],
        following.terminals[kept],
        _renumbered(episodes[kept] * (cut[-1] + 1 if len(cut) else 1) + cut[kept]),
        None if rows.time is None else rows.time[kept],
        kept.astype(np.int64),
        intervals,
        gaps,
        duplicates,
        int(np.count_nonzero(~sample)),
    )


@dataclass(frozen=True)
class _Following:
    """The row that follows each row."""

    states: Floats
    terminals: Bools
    sample: Bools
    """Whether a row and the row after it form a sample"""


def _following(
    rows: Rows, columns: ResolvedColumns, states: Floats, actions: Floats, terminal: Bools, breaks: Bools
) -> _Following:
    if columns.next_state:
        return _Following(_stack(rows, columns.next_state), terminal, np.ones(len(rows), dtype=np.bool_))
    if not len(rows):  # a file with a header alone
        return _Following(states, terminal, terminal)
    has_next = np.append(~breaks[1:], False)
    # A row without any action is the state after the step before it, even if that step was the last.
    final = np.append(~rows.breaks[1:] & np.isnan(actions[1:]).all(axis=1), False)
    if columns.episode is not None:  # by its label, the row after a terminal step belongs to the episode
        final |= np.append(~rows.breaks[1:], False) & terminal & (columns.terminal_marks == "step")
    shifted = np.concatenate([states[1:], states[-1:]])
    next_states = np.where((has_next | final)[:, None], shifted, states)
    if columns.terminal_marks == "state":
        sample = has_next & ~terminal
        return _Following(next_states, np.append(terminal[1:], False) & sample, sample)
    return _Following(next_states, terminal, has_next | terminal | final)


def _terminal_flags(rows: Rows, columns: ResolvedColumns) -> Bools:
    if not isinstance(columns.terminal, Expression):
        return np.zeros(len(rows), dtype=np.bool_) if rows.terminal is None else rows.terminal
    values = dict(rows.numbers)
    if any(name.startswith(NEXT) and name not in values for name in columns.terminal.names):
        raise ValueError(f"terminal: {columns.terminal.text!r} names a next state; write it for the state itself")
    if columns.next_state and columns.terminal_marks == "state":
        values |= {s.name: rows.numbers[n.name] for s, n in zip(columns.state, columns.next_state, strict=True)}
    value = columns.terminal(values)
    if not np.isfinite(value).all():
        row = int(np.argmin(np.isfinite(value)))
        raise ValueError(f"terminal: {columns.terminal.text!r} is {value[row]} at {rows.place(row)}, must be finite")
    flags: Bools = value != 0
    return flags


def _rewards(rows: Rows, columns: ResolvedColumns, next_states: Floats) -> Floats | None:
    if columns.reward is None:
        return None
    if isinstance(columns.reward, Column):
        return rows.numbers[columns.reward.name]
    ahead = {NEXT + column.name: next_states[:, d] for d, column in enumerate(columns.state)}
    return columns.reward({**rows.numbers, **ahead})


def _reward_reason(columns: ResolvedColumns) -> str:
    if isinstance(columns.reward, Expression):
        return f"the reward {columns.reward.text!r} is not a finite number"
    return "the reward is empty"


def _given(rows: Rows, sample: Bools, values: Floats, reason: str, problems: Problems) -> Bools:
    missing = sample & ~np.isfinite(values)
    for row in np.flatnonzero(missing):
        problems.add(rows.place(int(row)), f"{reason}, and it is not the last row of its episode")
    return ~missing


def _stack(rows: Rows, columns: Sequence[Column]) -> Floats:
    return np.stack([rows.numbers[column.name] for column in columns], axis=1)


def _renumbered(labels: Ints) -> Ints:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _state_names(argument: str, names: Sequence[str], known: Collection[str]) -> Sequence[str]:
    for name in names:
        if name not in known:
            raise ValueError(f"{argument}: is {name!r}, must be one of {', '.join(known)}")
    return names
