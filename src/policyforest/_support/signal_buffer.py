"""The memory of signals while a system runs: measurements go in one by one, states and actions come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest._support.arguments import Floats, real_array
from policyforest._support.signal_formulas import Memory
from policyforest._support.signals import Signals


class SignalBuffer:
    """Keeps filters, past measurements and past actions of one episode, in one precision."""

    def __init__(self, signals: Signals, action_box: Floats, precision: type = np.float64) -> None:
        self.signals = signals
        self._box, self._real = action_box, precision
        idle = np.array(signals.idle or (0.0,) * len(signals.actions))
        self.idle: NDArray[Any] = np.clip(idle, action_box[:, 0], action_box[:, 1]).astype(precision)
        """The action before the first one, and while the history fills"""
        self._memory: Memory | None = None
        self._rows: list[NDArray[Any]] = []
        self._actions: list[NDArray[Any]] = []

    def reset(self, before: NDArray[Any] | None = None) -> None:
        """Forgets all measurements; `before`, or the idle action, counts as the previous command."""
        self._memory = Memory()
        self._rows = []
        last = self.idle if before is None else before.astype(self._real)
        self._actions = [last] * max(1, self.signals.history_actions)

    @property
    def state(self) -> NDArray[Any] | None:
        """The state that follows from the measurements so far; None while the history fills."""
        if len(self._rows) < self.signals.history:
            return None
        return np.concatenate([*self._rows, *self._actions[: self.signals.history_actions]])

    @property
    def last_action(self) -> NDArray[Any]:
        """The last action; before the first one, the action that counts as the previous command."""
        if not self._actions:
            raise RuntimeError("last_action: reset was not called; call it at the beginning of each episode")
        return self._actions[0].copy()

    def measure(self, observation: ArrayLike) -> NDArray[Any] | None:
        """Takes a measurement and returns the state. A measurement that is refused breaks the history: all measurements
        are forgotten, and the history fills again; the actions are kept."""
        if self._memory is None:
            raise RuntimeError("step: reset was not called; call it at the beginning of each episode")
        try:
            channels = self._channels(observation, self._memory)
        except (TypeError, ValueError):
            self._memory, self._rows = Memory(), []
            raise
        if channels is not None:
            self._rows = [channels, *self._rows[: self.signals.history - 1]]
        return self.state

    def _channels(self, observation: ArrayLike, memory: Memory) -> NDArray[Any] | None:
        """The channels of a measurement; None before derived signals have a value."""
        row: NDArray[Any] = real_array("observation", observation).astype(self._real)
        if row.shape != (len(self.signals.measured),):
            expected = f"({len(self.signals.measured)},): {', '.join(self.signals.measured)}"
            raise ValueError(f"observation: has shape {row.shape}, must have shape {expected}")
        if not np.isfinite(row).all():
            raise ValueError(f"observation: is {row.tolist()}, must be finite")
        derived, ready = self.signals.program.run(row[None], memory)
        if not ready[0]:
            return None
        columns = np.concatenate([row, derived[0]])
        channels: NDArray[Any] = columns[list(self.signals.kept)]
        if not np.isfinite(channels).all():
            d = self.signals.kept[int(np.argmin(np.isfinite(channels)))] - len(row)
            name, text = self.signals.derived[d]
            raise ValueError(f"observation: {name} = {text} is not finite at {row.tolist()}, must be finite")
        return channels

    def act(self, command: NDArray[Any]) -> NDArray[Any]:
        """The action that a command becomes; it is also remembered."""
        action = command
        if not self.signals.actuators.idle:
            action = self.signals.actuators.applied(command[None], self._actions[0][None], self._box)[0]
        self._actions = [action, *self._actions[:-1]]
        return action.copy()
