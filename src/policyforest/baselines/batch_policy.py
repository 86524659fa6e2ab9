"""The base class of the baselines' policies, which act on rows of states."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array
from policyforest.policy.acting import ActingPolicy


class BatchPolicy(ActingPolicy):
    """`act` and `act_batch` in terms of `choose`, which maps states (N, dS) to actions (N, dA)."""

    @abstractmethod
    def choose(self, states: Floats) -> Floats: ...

    def act_batch(self, states: ArrayLike) -> Floats:
        """Actions for rows of states; NaN is an error."""
        rows = finite_array("states", states, 2)
        if rows.shape[1] != self.observation_space.shape[0]:
            raise ValueError(f"states: has {rows.shape[1]} columns, must have {self.observation_space.shape[0]}")
        return self.choose(rows)

    def act(self, state: ArrayLike) -> Floats:
        """The action for one state."""
        action: Floats = self.act_batch(finite_array("state", state, 1)[np.newaxis])[0]
        return action
