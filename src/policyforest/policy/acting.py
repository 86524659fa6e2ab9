"""What every kind of policy can do, in terms of `act_batch`: Stable-Baselines3's `predict`, and `save`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest._support.arguments import real_array
from policyforest._support.spaces import bounds
from policyforest.policy.policy_info import PolicyInfo


class ActingPolicy(ABC):
    """A policy that maps rows of states to rows of actions."""

    observation_space: Box
    action_space: Box

    @abstractmethod
    def act_batch(self, states: ArrayLike) -> Any:
        """Actions for rows of states."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """Stable-Baselines3's signature: one observation or rows of them, in the spaces' own types.

        Takes and refuses what `act` and `act_batch` do."""
        array = real_array("observation", observation)
        shape = self.observation_space.shape
        if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
            raise ValueError(f"observation: has shape {array.shape}, must be {shape} or rows of it")
        rows = self.act_batch(array.reshape(-1, *shape))
        box = bounds(self.action_space)
        actions = np.clip(rows, box[:, 0], box[:, 1]).astype(self.action_space.dtype)
        actions = np.clip(actions, self.action_space.low, self.action_space.high)
        return (actions if array.ndim > len(shape) else actions[0]), state

    def with_info(self, info: PolicyInfo) -> Self:
        """The same policy with another info; nothing of it is checked or compiled again."""
        # Not copy.copy: it goes the way of a pickle (`Policy.__reduce__`), which compiles the controller again.
        same = object.__new__(type(self))
        vars(same).update(vars(self) | {"info": info})
        return same

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a ``.pforest`` file: arrays and JSON, never code."""
        from policyforest.policy.policy_files import save_policy

        save_policy(self, path)
