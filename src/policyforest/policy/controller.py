"""A policy that keeps its own history: measurements go in one by one, actions come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest._support.arguments import real_array
from policyforest._support.signal_formulas import Memory
from policyforest._support.signals import Signals
from policyforest._support.spaces import bounds


class PolicyController:
    """Runs a policy step by step: derived signals, history and actuators are computed here, as the exported C does.

    `reset()` begins an episode; `step(observation)` returns the action. While the history fills, the action is the
    idle one, which also counts as what was commanded before the first step."""

    def __init__(self, policy: Any, signals: Signals, precision: type = np.float64) -> None:
        self.signals = signals
        self._act, self._real = policy.act, precision
        self._box = bounds(policy.action_space)
        self._changes = not signals.actuators.idle
        self._memory: Memory | None = None
        idle = signals.idle or (0.0,) * len(signals.actions)
        self._idle = np.clip(np.array(idle), self._box[:, 0], self._box[:, 1]).astype(precision)
        self._rows: list[NDArray[Any]] = []
        self._actions: list[NDArray[Any]] = []

    def reset(self) -> None:
        """Begins an episode: forgets the measurements, and takes the idle action for what was commanded before."""
        self._memory = Memory()
        self._rows = []
        self._actions = [self._idle] * max(1, self.signals.history_actions)

    @property
    def state(self) -> NDArray[Any] | None:
        """The state that the policy acts on next, by what was measured so far; None while the history fills."""
        if len(self._rows) < self.signals.history:
            return None
        return np.concatenate([*self._rows, *self._actions[: self.signals.history_actions]])

    def step(self, observation: ArrayLike) -> NDArray[Any]:
        """The action for a measurement; call it once per control step."""
        if self._memory is None:
            raise RuntimeError("step: reset was not called, must be called at the beginning of each episode")
        row: NDArray[Any] = real_array("observation", observation).astype(self._real)
        if row.shape != (len(self.signals.measured),):
            expected = f"({len(self.signals.measured)},): {', '.join(self.signals.measured)}"
            raise ValueError(f"observation: has shape {row.shape}, must have shape {expected}")
        if not np.isfinite(row).all():
            raise ValueError(f"observation: is {row.tolist()}, must be finite")
        self._take(row)
        state = self.state
        command = self._idle if state is None else np.asarray(self._act(state), dtype=self._real)
        action = command
        if self._changes:
            action = self.signals.actuators.applied(command[None], self._actions[0][None], self._box)[0]
        self._actions = [action, *self._actions[:-1]]
        return action.copy()

    def _take(self, row: NDArray[Any]) -> None:
        assert self._memory is not None
        memory = self._memory.copy()
        derived, ready = self.signals.program.run(row[None], memory)
        if ready[0] and not np.isfinite(derived).all():
            d = int(np.argmin(np.isfinite(derived[0])))
            name, text = self.signals.derived[d]
            raise ValueError(f"observation: {name} = {text} is {derived[0, d]} at {row.tolist()}, must be finite")
        self._memory = memory
        if ready[0]:
            channels = np.concatenate([row, derived[0]])[list(self.signals.kept)]
            self._rows = [channels, *self._rows[: self.signals.history - 1]]
