"""What a step was worth, by the formulas of a configuration."""

from __future__ import annotations

from policyforest._support.arguments import Floats
from policyforest.data.readers.columns import NEXT
from policyforest.ros.config import EpisodeSettings, RobotConfig


class Judge:
    """Reward and end of a step: (state, action, next state) → (reward, whether it is terminal).

    A state outside of its limits is terminal too."""

    def __init__(self, config: RobotConfig, episode: EpisodeSettings) -> None:
        self._episode = episode
        self.states = [d.name for d in config.state]
        self.actions = [a.name for a in config.action]
        self._limits = config.state_limits

    def __call__(self, before: Floats, action: Floats, after: Floats) -> tuple[float, bool]:
        names = [*self.states, *(NEXT + name for name in self.states), *self.actions]
        values = dict(zip(names, [*before.tolist(), *after.tolist(), *action.tolist()], strict=True))
        ends = self._episode.terminal is not None and self._episode.terminal(values) != 0.0
        terminal = ends or any(not low <= x <= high for x, (low, high) in zip(after, self._limits, strict=True))
        if terminal and self._episode.terminal_reward is not None:
            return self._episode.terminal_reward, True
        return self._episode.reward(values), terminal
