"""A policy that keeps its own history: it takes measurements one by one and returns actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest._support.signal_buffer import SignalBuffer
from policyforest._support.signals import Signals
from policyforest._support.spaces import bounds


class PolicyController:
    """Runs a policy step by step: derived signals, history and actuators are computed here, as the exported C does.

    `reset()` begins an episode; `step(observation)` returns the action. While the history fills, the action is the
    idle action, which also counts as the command before the first step.

    A measurement that is refused (NaN, another shape, a derived signal without a finite value) is an error. It breaks
    the history, because the rows before and after the gap are more than one control step apart; the history fills again
    from the next step on. The action of the refused step is the idle action, as far as the actuators allow it.
    `last_action` returns this action, the exported C gives the same one, and it counts as the last command."""

    def __init__(self, policy: Any, signals: Signals, precision: type = np.float64) -> None:
        self.signals = signals
        self._act, self._real = policy.act, precision
        self._buffer = SignalBuffer(signals, bounds(policy.action_space), precision)

    def reset(self) -> None:
        """Begins an episode: forgets the measurements, and assumes that the idle action was commanded before."""
        self._buffer.reset()

    @property
    def state(self) -> NDArray[Any] | None:
        """The state that follows from the measurements so far; None while the history fills."""
        return self._buffer.state

    @property
    def last_action(self) -> NDArray[Any]:
        """The action of the last step; after an error, the idle action, as far as the actuators allow it."""
        return self._buffer.last_action

    def step(self, observation: ArrayLike) -> NDArray[Any]:
        """The action for a measurement; call it once per control step."""
        command = self._buffer.idle
        try:
            state = self._buffer.measure(observation)
            if state is not None:
                command = np.asarray(self._act(state), dtype=self._real)
        except (TypeError, ValueError):
            self._buffer.act(self._buffer.idle)
            raise
        return self._buffer.act(command)
