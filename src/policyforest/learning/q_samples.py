"""Samples as Fitted Q Iteration uses them: what stays the same from one iteration to the next is made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.executors.interface import Executor
from policyforest.forest.forest_blocks import SharedInputs, SharedStates, Tell, silent
from policyforest.forest.maximiser import Maximiser

# Steps of the action box that thresholds on a single action dimension are drawn from: keeps the exact arg max cheap.
ACTION_GRID = 1024


class QSamples:
    """Inputs (s, a), the box, and the next states where a maximum is needed; shared by name with an executor."""

    def __init__(self, transitions: Transitions, executor: Executor, name: str) -> None:
        self.transitions, self.executor, self._name = transitions, executor, name
        self.box = np.concatenate([transitions.state_box(), bounds(transitions.action_space)])
        self.living = ~transitions.terminals
        self.n_living = int(np.count_nonzero(self.living))

    @property
    def single(self) -> bool:
        """Whether there is one action dimension: the maximum over several costs a millisecond a state."""
        return len(self.transitions.action_space.low) == 1

    @property
    def grid(self) -> Mapping[int, int] | None:
        return {len(self.box) - 1: ACTION_GRID} if self.single and self.box[-1, 0] < self.box[-1, 1] else None

    @property
    def n_bytes(self) -> int:
        """Of what is shared: the columns, the next states and the targets."""
        inputs, ahead = len(self.transitions) * (len(self.box) + 1), self.n_living * len(self.transitions.state_limits)
        return 8 * (inputs + ahead)

    @cached_property
    def inputs(self) -> Floats:
        """Rows (s, a)."""
        return np.concatenate([self.transitions.states, self.transitions.actions], axis=1)

    @cached_property
    def shared_inputs(self) -> SharedInputs:
        columns = [*self.transitions.states.T, *self.transitions.actions.T]
        return SharedInputs(self.executor, self._name, columns, self.box, self.transitions.periodic)

    @cached_property
    def shared_ahead(self) -> SharedStates:
        return SharedStates(self.executor, self._name, self.transitions.next_states[self.living])

    def values(self, maximiser: Maximiser | None, tell: Tell = silent) -> Floats:
        """max_a Q(s', a) where s' is not terminal; 0 without a Q."""
        if maximiser is None or self.n_living == 0:
            return np.zeros(self.n_living)
        return self.shared_ahead.values(maximiser, tell)

    def started(self, values: Floats) -> Floats:
        """Values to begin with, checked."""
        if values.shape != (self.n_living,):
            raise ValueError(f"start: has shape {values.shape}, must have shape ({self.n_living},)")
        return values

    def targets(self, values: Floats, discount: float) -> Floats:
        """y = r + gamma V(s'), r alone where s' is terminal."""
        y = self.transitions.rewards.copy()
        y[self.living] += discount * values
        return y
