"""Series of numbers, each at its own times, resampled to the steps of a controller.

The state of a step is the reading nearest in time to its beginning. The action is the one in force at its middle,
because a controller takes some time to answer. Rewards are summed, and a flag is set if it was set at any time during
the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns
from policyforest.data.readers.rows import Rows

# Seconds; times since 1970 in floating point are 0.24 microseconds apart.
SLACK = 3e-7

StepRule = Literal["state", "action", "sum", "any"]


@dataclass(frozen=True)
class Series:
    """Values at times that never decrease."""

    times: Floats
    values: Floats

    def at_steps(self, rule: StepRule, ticks: Floats) -> Floats:
        """One value per tick; the step of the last tick is as long as the one before. NaN before the first value."""
        if len(self.times) == 0:
            return np.full(len(ticks), np.nan)
        ends = np.append(ticks[1:], ticks[-1] + (ticks[-1] - ticks[-2] if len(ticks) > 1 else 0.0))
        if rule == "state":
            after = np.clip(np.searchsorted(self.times, ticks), 1, max(1, len(self.times) - 1))
            before = after - 1
            after = np.minimum(after, len(self.times) - 1)
            nearer = np.abs(self.times[after] - ticks) < np.abs(ticks - self.times[before])
            return self.values[np.where(nearer, after, before)]
        if rule == "action":
            row = np.searchsorted(self.times, (ticks + ends) / 2, side="right") - 1
            held: Floats = np.where(row >= 0, self.values[np.maximum(row, 0)], np.nan)
            return held
        # Times are rounded when they are written: a value that is early by no more than the rounding counts as on time.
        early = np.minimum(1e-6 * (ends - ticks), SLACK)
        first, last = np.searchsorted(self.times, ticks - early), np.searchsorted(self.times, ends - early)
        last[-1] = len(self.times) if len(ticks) > 1 else max(last[-1], 1)
        # Each sum adds only its own values, so a single reward keeps its bits; differences of running sums would not
        # keep them.
        pairs = np.stack([first, last], axis=1).ravel()
        summed: Floats = np.where(first < last, np.add.reduceat(np.append(self.values, 0.0), pairs)[::2], 0.0)
        return summed if rule == "sum" else (summed > 0).astype(np.float64)


def ticks_between(first: float, last: float, period: float, most: int = 10**8) -> Floats:
    """first, first + period, … up to last, with a tolerance for rounding."""
    count = int(np.floor((last - first) / period + 1e-6)) + 1
    if count > most:
        raise ValueError(
            f"period: is {period} s for {last - first:g} s of log, which gives {count:,} steps, must give at most "
            f"{most:,}"
        )
    ticks: Floats = first + period * np.arange(count, dtype=np.float64)
    return ticks


def resampled(rows: Rows, columns: ResolvedColumns, period: float) -> Rows:
    """Rows at every `period` seconds, within each stretch that has no break."""
    assert rows.time is not None
    starts = np.flatnonzero(rows.breaks).tolist()
    parts = [_stretch(rows, columns, period, a, b) for a, b in zip(starts, [*starts[1:], len(rows)], strict=True)]

    def joined(name: str) -> Floats:
        return np.concatenate([part[name] for part in parts])

    def flags(name: str, given: object) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        return None if given is None else joined(name).astype(np.bool_)

    return Rows(
        rows.source,
        {c.name: joined(c.name) for c in columns.numbers},
        joined("lines:").astype(np.int64),
        joined("breaks:").astype(np.bool_),
        flags("terminal:", rows.terminal),
        flags("truncated:", rows.truncated),
        joined("time:"),
        rows.unit,
        rows.interleaved,
    )


def _stretch(rows: Rows, columns: ResolvedColumns, period: float, first: int, end: int) -> dict[str, Floats]:
    assert rows.time is not None
    times = rows.time[first:end]
    ticks = ticks_between(times[0], times[-1], period)
    states = {c.name for c in (*columns.state, *columns.next_state)}
    summed = {columns.reward.name} if isinstance(columns.reward, Column) else set()
    part: dict[str, Floats] = {"time:": ticks, "breaks:": np.arange(len(ticks)) == 0}
    for name, values in rows.numbers.items():
        rule: StepRule = "state" if name in states else "sum" if name in summed else "action"
        series = values[first:end]
        given = np.isfinite(series)  # an empty cell keeps the value before it
        part[name] = Series(times[given], series[given]).at_steps(rule, ticks)
    for name, flags in (("terminal:", rows.terminal), ("truncated:", rows.truncated)):
        if flags is not None:
            part[name] = Series(times, flags[first:end].astype(np.float64)).at_steps("any", ticks)
    part["lines:"] = Series(times, rows.lines[first:end].astype(np.float64)).at_steps("state", ticks)
    return part
