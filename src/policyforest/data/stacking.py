"""Stacking: converts samples of measurements to samples of the state that a policy acts on, which includes history.

Rows at the beginning of an episode whose history is not known are lost; they are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest._support.signal_formulas import Memory
from policyforest._support.signals import Signals
from policyforest._support.spaces import bounds

if TYPE_CHECKING:
    from policyforest.data.transitions import Transitions

Before = Literal["unknown", "idle"]
"""The command before an episode: not known, or the idle action"""


def rows_before(signals: Signals, before: Before) -> int:
    """The largest number of rows of an episode that are lost before the first state is complete."""
    return signals.warm_up + (signals.history_actions if before == "unknown" else 0)


def stacked_rows(data: Transitions, signals: Signals, before: Before) -> tuple[dict[str, Any], int]:
    """The fields of the stacked samples, and how many samples were lost."""
    parts = [_stacked(data, rows, signals, before) for rows in _runs(data)]
    kept = [part for part in parts if part is not None]
    if not kept:
        longest = int(np.unique(data.episodes, return_counts=True)[1].max())
        raise ValueError(
            f"history: is {signals.history} with {signals.history_actions} past actions, which needs episodes of more "
            f"than {rows_before(signals, before)} rows; the longest has {longest}"
        )
    fields = {name: np.concatenate([part[name] for part in kept]) for name in kept[0]}
    return fields, len(data) - len(fields["rewards"])


def stacked_box(data: Transitions, signals: Signals) -> tuple[Floats, dict[int, tuple[float, float]]]:
    """The limits of the stacked state, and which of its dimensions are angles."""
    known = dict(zip(signals.measured, data.state_limits, strict=True))
    rows = [known.get(name, np.array([-np.inf, np.inf])) for name in signals.channel_names] * signals.history
    rows += [*bounds(data.action_space)] * signals.history_actions
    turns = {signals.measured[d]: turn for d, turn in data.periodic.items()}
    names = [*signals.channel_names] * signals.history
    return np.array(rows), {d: turns[name] for d, name in enumerate(names) if name in turns}


def stacked_space(limits: Floats) -> Box:
    """The observation space of a stacked state."""
    return Box(limits[:, 0], limits[:, 1], dtype=np.float64)


def _runs(data: Transitions) -> list[NDArray[np.intp]]:
    """Rows that follow each other: of one episode, each beginning where the one before ended."""
    cut = data.episodes[1:] != data.episodes[:-1]
    cut = cut | (data.next_states[:-1] != data.states[1:]).any(axis=1)
    return np.split(np.arange(len(data)), np.flatnonzero(cut) + 1)


def _stacked(data: Transitions, rows: NDArray[np.intp], signals: Signals, before: Before) -> dict[str, Any] | None:
    measured = np.concatenate([data.states[rows], data.next_states[rows[-1:]]])
    channels = channel_rows(measured, signals)
    actions = data.actions[rows]
    first = signals.warm_up
    if before == "unknown":
        first = max(first, signals.history_actions)
    else:
        idle = np.array(signals.idle or (0.0,) * actions.shape[1])
        actions = np.concatenate([np.tile(idle, (signals.history_actions, 1)), actions])
    if first >= len(rows):
        return None
    shifted = signals.history_actions if before == "idle" else 0
    places = np.arange(first, len(rows) + 1)
    blocks = [channels[places - i] for i in range(signals.history)]
    blocks += [actions[places + shifted - j] for j in range(1, signals.history_actions + 1)]
    states = np.concatenate(blocks, axis=1)
    kept = rows[first:]
    return {
        "states": states[:-1],
        "actions": data.actions[kept],
        "rewards": data.rewards[kept],
        "next_states": states[1:],
        "terminals": data.terminals[kept],
        "episodes": data.episodes[kept],
    }


def channel_rows(measured: Floats, signals: Signals) -> Floats:
    """The channels of measured rows that follow each other; a derived channel that is not finite is a ValueError."""
    derived, ready = signals.program.run(np.ascontiguousarray(measured), Memory())
    columns: Floats = np.concatenate([measured, derived], axis=1)[:, list(signals.kept)]
    bad = ~np.isfinite(columns) & ready[:, None]
    if bad.any():
        row, c = np.argwhere(bad)[0]
        name, text = signals.derived[signals.kept[c] - measured.shape[1]]
        at = measured[row].tolist()
        raise ValueError(
            f"derive: {name} = {text} is {columns[row, c]} at {at}, must be finite (is there a division by zero?)"
        )
    return columns
