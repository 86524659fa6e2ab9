"""What every kind of policy can do, in terms of `act_batch`: Stable-Baselines3's `predict`, and `save`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, real_array
from policyforest._support.signals import Signals
from policyforest._support.spaces import bounds
from policyforest.policy.policy_info import PolicyInfo

if TYPE_CHECKING:
    from policyforest.policy.controller import PolicyController


def require_signals(signals: Signals | None, n_states: int, action_box: Floats) -> None:
    """Refuses signals whose states or actions do not match those of a policy."""
    if signals is None:
        return
    if not isinstance(signals, Signals):
        raise TypeError(f"signals: is {signals!r}, must be Signals or None")
    if signals.n_states != n_states or len(signals.actions) != len(action_box):
        made = f"states of {signals.n_states} numbers and {len(signals.actions)} actions"
        raise ValueError(f"signals: give {made}, must give {n_states} and {len(action_box)} as the policy has")
    signals.actuators.checked(action_box)


class ActingPolicy(ABC):
    """A policy that maps rows of states to rows of actions."""

    observation_space: Box
    action_space: Box
    signals: Signals | None = None
    """How measurements become states and commands become actions; None: the states are the measurements"""

    @abstractmethod
    def act_batch(self, states: ArrayLike) -> Any:
        """Actions for rows of states."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """Returns actions for one observation or for rows of observations, with Stable-Baselines3's signature.

        Observations and actions have the types of their spaces. Accepts and refuses the same inputs as `act` and
        `act_batch`."""
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
        """The same policy with another info; nothing is checked or compiled again."""
        # Not copy.copy: it uses the pickle protocol (`Policy.__reduce__`), which compiles the controller again.
        same = object.__new__(type(self))
        vars(same).update(vars(self) | {"info": info})
        return same

    def with_signals(self, signals: Signals | None) -> Self:
        """The same policy with other signals; nothing is compiled again."""
        require_signals(signals, self.observation_space.shape[0], bounds(self.action_space))
        same = object.__new__(type(self))
        vars(same).update(vars(self) | {"signals": signals})
        return same

    def controller(self) -> PolicyController:
        """A controller that keeps the history itself: `reset()`, then `step(observation)` once per control step."""
        from policyforest.policy.controller import PolicyController

        n_states, n_actions = self.observation_space.shape[0], self.action_space.shape[0]
        plain = Signals(tuple(f"s{d}" for d in range(n_states)), tuple(f"a{d}" for d in range(n_actions)))
        return PolicyController(self, self.signals or plain)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a ``.pforest`` file: arrays and JSON, never code."""
        from policyforest.policy.policy_files import save_policy

        save_policy(self, path)
