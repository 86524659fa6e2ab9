"""An environment with a known reward or end: a formula over named columns, or a function of rows."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.labels import formula_names
from policyforest._support.spaces import require_actions, require_observations
from policyforest.data.known_functions import known_ends, known_rewards
from policyforest.data.plant import KnownFunction, Plant


class KnownTask(gym.Wrapper[Any, Any, Any, Any]):
    """Replaces the environment's reward by a known one, and ends episodes by a known rule.

    Args:
        env: An environment with Box spaces.
        reward: A formula such as ``"-(theta**2) - 0.1*u**2"``, or a function of rows (states, actions, next_states);
            None: the environment's own reward.
        terminal: The same for terminal steps, such as ``"abs(next_theta) > 1.5"``. If the environment itself ends an
            episode and this rule does not, the episode counts as truncated.
    """

    def __init__(
        self, env: gym.Env[Any, Any], reward: KnownFunction | None = None, terminal: KnownFunction | None = None
    ) -> None:
        super().__init__(env)
        n_states = require_observations("env.observation_space", env.observation_space).shape[0]
        n_actions = require_actions("env.action_space", env.action_space).shape[0]
        names = environment_plant(env)
        self.plant = Plant(names.state_names, names.action_names, reward, terminal).named(n_states, n_actions)
        """The plant, which learners use exactly instead of learning it"""
        self._reward, self._terminal = self.plant.function("reward"), self.plant.function("terminal")
        self._state: Floats = np.zeros((1, n_states))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode."""
        observation, info = super().reset(seed=seed, options=options)
        self._state = np.array(observation, dtype=np.float64)[None]
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment, and applies the known reward and end to the step."""
        observation, reward, terminated, truncated, info = super().step(action)
        here, self._state = self._state, np.array(observation, dtype=np.float64)[None]
        taken = np.array(action, dtype=np.float64).reshape(1, -1)
        if self._reward is not None:
            reward = float(known_rewards(self._reward, here, taken, self._state)[0])
        if self._terminal is not None:
            ends = bool(known_ends(self._terminal, here, taken, self._state)[0])
            terminated, truncated = ends, bool(truncated or terminated) and not ends
        return observation, reward, terminated, truncated, info


def known_task(
    env: gym.Env[Any, Any], reward: KnownFunction | None, terminal: KnownFunction | None
) -> gym.Env[Any, Any]:
    """The environment with the known reward and end; the environment itself if neither is known."""
    return env if reward is None and terminal is None else KnownTask(env, reward, terminal)


def environment_plant(env: gym.Env[Any, Any]) -> Plant:
    """What an environment declares about itself: its `plant`, its `state_names` and `action_names`, or known names."""
    if env.has_wrapper_attr("plant") and isinstance(found := env.get_wrapper_attr("plant"), Plant):
        return found
    states, actions = env.observation_space.shape, env.action_space.shape
    n_states, n_actions = states[0] if states else 0, actions[0] if actions else 0
    known = formula_names("" if env.spec is None else env.spec.id, n_states, n_actions)
    roles = ("state_names", "action_names")
    told = [env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None for name in roles]
    counts = (n_states, n_actions)
    names = [tuple(t) if t is not None and len(t) == n else k for t, k, n in zip(told, known, counts, strict=True)]
    return Plant(state_names=names[0], action_names=names[1])
