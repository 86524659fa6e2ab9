"""The reward and the end of a step, by the formulas of a configuration."""

from __future__ import annotations

import math
import re

from policyforest._support.arguments import Floats
from policyforest.data.readers.columns import NEXT
from policyforest.ros.config import EpisodeSettings, RobotConfig


class Judge:
    """Reward and end of a step: (state, action, next state) → (reward, whether it is terminal).

    A state outside of its limits is also terminal."""

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


def known_formulas(config: RobotConfig, episode: EpisodeSettings) -> dict[str, str]:
    """Reward and end of a step as formulas over s0, a0 and next_s0, for an agent that can use them."""
    names = {d.name: f"s{i}" for i, d in enumerate(config.state)}
    names |= {NEXT + name: NEXT + place for name, place in names.items()}
    names |= {a.name: f"a{j}" for j, a in enumerate(config.action)}

    def placed(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found.group(), found.group()), text)

    ends = [] if episode.terminal is None else [f"(({placed(episode.terminal.text)}) != 0)"]
    for i, (low, high) in enumerate(config.state_limits):
        ends += [f"({NEXT}s{i} < {low!r})"] * math.isfinite(low) + [f"({NEXT}s{i} > {high!r})"] * math.isfinite(high)
    terminal = f"{' + '.join(ends)} > 0" if ends else "0"
    reward = placed(episode.reward.text)
    if ends and episode.terminal_reward is not None:
        reward = f"{episode.terminal_reward!r} if {terminal} else {reward}"
    return {"reward": reward, "terminal": terminal}
