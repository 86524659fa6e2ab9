"""Which of several policies is kept: by the returns of a few episodes that begin in the same states."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from policyforest.exploration.policy_selection import best_by_validation, validated

N_EPISODES, SEED = 10, 3


class Bet(gym.Env[Any, Any]):
    """One step, whose reward depends on the start: 0 for the action 0, 1 or -0.8 for 0.5, and 0.5 for 1."""

    observation_space = Box(0.0, 1.0, (1,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.np_random.uniform(0.0, 1.0, 1)
        return self.x, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        pays = {0.0: 0.0, 0.5: 1.0 if self.x[0] < 0.5 else -0.8, 1.0: 0.5}[float(action[0])]
        return self.x, pays, True, False, {}


class Always:
    """A policy with one action."""

    observation_space, action_space = Bet.observation_space, Bet.action_space

    def __init__(self, action: float) -> None:
        self.action = np.array([action])

    def act(self, state: Any) -> Any:
        return self.action


def kept(*actions: float, episodes: int = N_EPISODES, **how: Any) -> float:
    candidates: Any = [Always(action) for action in actions]
    returns = validated(candidates, Bet(), episodes, SEED)
    assert returns.shape == (len(actions), episodes)
    return actions[best_by_validation(returns, **how)]


def test_the_best_mean_wins_and_the_first_of_equal_ones() -> None:
    assert kept(0.0, 1.0) == 1.0
    assert kept(0.0, 0.5) == 0.5  # its mean is positive on these episodes
    assert kept(1.0, 1.0) == 1.0


@pytest.mark.parametrize(("others", "best"), [((0.5,), 0.0), ((1.0,), 1.0), ((0.5, 1.0), 1.0)])
def test_a_preferred_policy_is_kept_unless_another_is_better_by_more_than_a_standard_error(
    others: tuple[float, ...], best: float
) -> None:
    assert kept(0.0, *others, first_preferred=True) == best


def test_one_episode_has_no_standard_error() -> None:
    assert kept(0.0, 1.0, episodes=1, first_preferred=True) == 1.0
