"""Records the episodes of a Gymnasium environment that other code controls: one ``.npz`` file per episode, for the
readers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from policyforest._support.files import replacing


class EpisodeRecorder(gym.Wrapper[Any, Any, Any, Any]):
    """Writes each episode that ends to ``episode_000000.npz`` and so on in a folder: `observations` (T + 1 rows),
    `actions`, `rewards`, `terminations` and `truncations`, as Gymnasium names them. An episode that is left before its
    end is written at the next reset, or when the environment is closed."""

    def __init__(self, env: gym.Env[Any, Any], folder: str | os.PathLike[str]) -> None:
        super().__init__(env)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._number = sum(1 for _ in self.folder.glob("episode_*.npz"))
        self._observations: list[Any] = []
        self._steps: list[tuple[Any, float, bool, bool]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Writes the episode that was left before its end, if any, and begins a new one."""
        self._write()
        observation, info = super().reset(seed=seed, options=options)
        self._observations = [np.array(observation)]
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment and records the step; the last step of an episode writes its file."""
        observation, reward, terminated, truncated, info = super().step(action)
        self._observations.append(np.array(observation))
        self._steps.append((np.array(action), float(reward), bool(terminated), bool(truncated)))
        if terminated or truncated:
            self._write()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Writes the episode that was left before its end, if any, and closes the environment."""
        self._write()
        super().close()

    def _write(self) -> None:
        if not self._steps:
            return
        actions, rewards, terminations, truncations = zip(*self._steps, strict=True)
        with replacing(self.folder / f"episode_{self._number:06d}.npz") as beside, beside.open("wb") as file:
            np.savez(
                file,
                observations=np.array(self._observations),
                actions=np.array(actions),
                rewards=np.array(rewards),
                terminations=np.array(terminations),
                truncations=np.array(truncations),
            )
        self._number += 1
        self._observations, self._steps = [], []
