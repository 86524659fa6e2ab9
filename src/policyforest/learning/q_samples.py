"""Samples as Fitted Q Iteration uses them: data that stay the same in all iterations are computed once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.best_actions import SearchMode
from policyforest.forest.executors.interface import Executor
from policyforest.forest.forest_blocks import SharedInputs, SharedStates, Tell, silent
from policyforest.forest.maximiser import Maximiser

# The number of steps of an action dimension on which its thresholds lie: this keeps the search along it cheap.
ACTION_GRID = 1024


class QSamples:
    """Inputs (s, a), the box, and the next states where a maximum is needed; shared by name with an executor."""

    def __init__(self, transitions: Transitions, executor: Executor, name: str, search: SearchMode = "exact") -> None:
        self.transitions, self.executor, self._name = transitions, executor, name
        actions = bounds(transitions.action_space)
        self.box = np.concatenate([transitions.state_box(), actions])
        self.by_lines = search == "bounded" or len(actions) == 1
        """Whether maxima are searched along lines. This is cheap enough for more samples and for averages of forests,
        whereas the exact maximum over several actions can cost milliseconds per state"""
        self.living = ~transitions.terminals
        self.n_living = int(np.count_nonzero(self.living))
        self.ends = 1.0 - self.n_living / len(transitions)
        """The fraction of the samples that are terminal"""

    @property
    def grid(self) -> Mapping[int, int] | None:
        """The number of steps of each action along which lines are searched, if it has more than one value."""
        first = len(self.transitions.state_limits)
        wide = [d for d in range(first, len(self.box)) if self.box[d, 0] < self.box[d, 1]]
        return dict.fromkeys(wide, ACTION_GRID) if self.by_lines and wide else None

    @property
    def n_bytes(self) -> int:
        """The size of the shared data: the columns, the next states and the targets."""
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
        """max_a Q(s', a) for all s' that are not terminal; 0 without a Q."""
        if maximiser is None or self.n_living == 0:
            return np.zeros(self.n_living)
        return self.shared_ahead.values(maximiser, tell)

    def started(self, values: Floats) -> Floats:
        """Checks values to begin with."""
        if values.shape != (self.n_living,):
            raise ValueError(f"start: has shape {values.shape}, must have shape ({self.n_living},)")
        return values

    def targets(self, values: Floats, discount: float) -> Floats:
        """y = r + gamma V(s'), or r alone if s' is terminal."""
        y = self.transitions.rewards.copy()
        y[self.living] += discount * values
        return y
