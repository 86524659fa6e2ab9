"""Small systems whose equations are known, logged in episodes with random actions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf

ACTIONS = Box(-1.0, 1.0, (1,), np.float64)
Rng = np.random.Generator


def logged(
    step: Callable[[Any, Any, Rng], Any],
    start: Callable[[Rng], Any],
    reward: Callable[[Any, Any, Any], float],
    *,
    end: Callable[[Any], bool] = lambda state: False,
    n_episodes: int = 20,
    length: int = 15,
    seed: int = 0,
    **problem: Any,
) -> pf.Transitions:
    """Episodes of `s' = step(s, a, rng)` with uniform actions, up to `length` steps or an end."""
    rng, rows = np.random.default_rng(seed), []
    for episode in range(n_episodes):
        state = start(rng)
        for _ in range(length):
            action = rng.uniform(-1, 1, 1)
            ahead = step(state, action, rng)
            rows.append((state, action, reward(state, action, ahead), ahead, end(ahead), episode))
            if end(ahead):
                break
            state = ahead
    states, actions, rewards, next_states, ends, episodes = (np.array(part) for part in zip(*rows, strict=True))
    return pf.Transitions(states, actions, rewards, next_states, ends, episodes, action_space=ACTIONS, **problem)


def line(noise: float = 0.0, **more: Any) -> pf.Transitions:
    """s' = 0.9 s + 0.2 a, paid the distance to 0.3; ends where the state is told to."""
    return logged(
        lambda s, a, rng: 0.9 * s + 0.2 * a + noise * rng.standard_normal(1),
        lambda rng: rng.uniform(-1, 1, 1),
        lambda s, a, ahead: -((s[0] - 0.3) ** 2),
        **more,
    )


def ending_line(**more: Any) -> pf.Transitions:
    """s' = s + 0.3 a, which ends below -1 and above 1.5."""
    return logged(
        lambda s, a, rng: s + 0.3 * a,
        lambda rng: rng.uniform(-1, 1.5, 1),
        lambda s, a, ahead: -5.0 if ends(ahead) else ahead[0],
        end=ends,
        n_episodes=40,
        **more,
    )


def ends(state: Any) -> bool:
    return bool(state[0] < -1.0 or state[0] > 1.5)


def wheel(radius: float = 1.0) -> pf.Transitions:
    """An angle as radius (sine, cosine) that turns by 0.2 w, and its speed w, which the action changes."""

    def step(s: Any, a: Any, rng: Rng) -> Any:
        angle = np.arctan2(s[0], s[1]) + 0.2 * s[2]
        return np.array([radius * np.sin(angle), radius * np.cos(angle), 0.9 * s[2] + a[0]])

    def start(rng: Rng) -> Any:
        angle = rng.uniform(-3, 3)
        return np.array([radius * np.sin(angle), radius * np.cos(angle), rng.uniform(-1, 1)])

    return logged(step, start, lambda s, a, ahead: s[1])


def disk() -> pf.Transitions:
    """A point in the plane that ends inside of a disk, which no limit on one dimension describes."""
    return logged(
        lambda s, a, rng: s + 0.4 * np.array([a[0], -a[0]]),
        lambda rng: rng.uniform(-1.4, 1.4, 2),
        lambda s, a, ahead: -1.0,
        end=lambda s: bool(np.hypot(*s) < 0.6),
        n_episodes=60,
        length=8,
    )


def set_point(**more: Any) -> pf.Transitions:
    """s' = 0.9 s + 0.2 a beside a set point that somebody moves from time to time."""
    return logged(
        lambda s, a, rng: np.array([0.9 * s[0] + 0.2 * a[0], rng.uniform(-1, 1) if rng.random() < 0.15 else s[1]]),
        lambda rng: rng.uniform(-1, 1, 2),
        lambda s, a, ahead: -((s[0] - s[1]) ** 2),
        **more,
    )
