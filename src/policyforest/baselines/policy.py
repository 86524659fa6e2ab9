"""What the baselines' policies have in common: they act on rows of states."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest.arguments import Floats, finite_array
from policyforest.policy import sb3_predict


class BatchPolicy(ABC):
    """`act` and `predict` in terms of `choose`, which maps states (N, dS) to actions (N, dA)."""

    observation_space: Box
    action_space: Box

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

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """Stable-Baselines3's signature."""
        return sb3_predict(self, observation), state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a ``.pforest`` file."""
        from policyforest.policy_files import save_policy

        save_policy(self, path)
