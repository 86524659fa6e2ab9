"""Wrappers that give environments the properties of real systems: actuators with limits, and commands that act late."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import whole_number
from policyforest._support.signals import Actuators
from policyforest._support.spaces import bounds, require_actions


class LimitedActuators(gym.Wrapper[Any, Any, Any, Any]):
    """Passes commands through actuators; `info["applied"]` is the action that the environment received."""

    def __init__(self, env: gym.Env[Any, Any], actuators: Actuators, idle: tuple[float, ...] = ()) -> None:
        super().__init__(env)
        self._box = bounds(require_actions("env.action_space", env.action_space))
        self._actuators = actuators.checked(self._box)
        low, high = self._box.T
        self._idle = np.clip(np.array(idle or (0.0,) * len(low)), low, high)
        self._last = self._idle

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; the idle action counts as the previous action."""
        self._last = self._idle
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment with the action that the actuators apply."""
        command = np.asarray(action, dtype=np.float64)
        self._last = self._actuators.applied(command[None], self._last[None], self._box)[0]
        applied = self._last.astype(self.action_space.dtype)
        observation, reward, terminated, truncated, info = super().step(applied)
        return observation, reward, terminated, truncated, info | {"applied": applied.astype(np.float64)}


class DelayedActions(gym.Wrapper[Any, Any, Any, Any]):
    """Commands act some control steps late; the idle action (0, or the nearest to it) acts before the first one."""

    def __init__(self, env: gym.Env[Any, Any], delay: int) -> None:
        super().__init__(env)
        low, high = bounds(require_actions("env.action_space", env.action_space)).T
        self.delay = whole_number("delay", delay, at_least=0)
        self._idle = np.clip(np.zeros(len(low)), low, high).astype(env.action_space.dtype)
        self._pending: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode without pending commands."""
        self._pending = [self._idle] * self.delay
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment with the command that is due."""
        self._pending.append(np.array(action))
        observation, reward, terminated, truncated, info = super().step(self._pending.pop(0))
        # An inner wrapper's "applied" is the action of the command that is due now, not of the one just given.
        return observation, reward, terminated, truncated, {k: v for k, v in info.items() if k != "applied"}
