"""Explorers: who acts in which episode. All of them run under the same loop.

| explorer | plans with optimism | actions |
|---|---|---|
| mre | always | as planned |
| greedy | never | as planned |
| epsilon-greedy | never | as planned, but uniform with a chance epsilon that falls from episode to episode |
| random | – | uniform |
| disagreement | more and more rarely | drawn from the trees of the policy forest, N(mean, a spread) |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats, one_of, real_number, whole_number
from policyforest._support.spaces import bounds
from policyforest.environments.episodes import uniform_actions
from policyforest.forest.maximiser import states_in_box
from policyforest.policy.policy import Policy

EpisodeKind = Literal["random", "plain", "optimistic"]
# Episodes after which half of them are optimistic. MountainCar's goal took 1 to 7 optimistic episodes (7 seeds).
FADING = 8.0
# Where the trees agree, actions still vary by this share of their range: otherwise noise hides the effect of an action,
# and the trees agree on a pole that leans for ever (pendulum, seed 1: a return of -167 without it, -129 with it).
LEAST_SPREAD = 0.05
# Random actions are held for up to this many steps.
LONGEST_HOLD = 8
EXPLORERS = ("disagreement", "mre", "epsilon-greedy", "greedy", "random")
"""The names that `make_agent` knows."""


@dataclass(frozen=True)
class EpsilonSchedule:
    """epsilon falls evenly from `start` to `end` over `episodes` episodes, and stays there."""

    start: float = 1.0
    end: float = 0.1
    episodes: int = 50

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            real_number(f"epsilon.{name}", getattr(self, name), at_least=0.0, below=1.0 + 1e-12)
        whole_number("epsilon.episodes", self.episodes, at_least=1)

    def __call__(self, episode: int) -> float:
        share = min(1.0, episode / self.episodes)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class Explorer:
    """What an explorer does in each episode, counted from 0.

    Args:
        name: The name of the explorer.
        optimism: The episodes whose plan is optimistic: "always", "alternate" (every other one), "fading" (all at
            first, then ever fewer: of n planned episodes 8 ln(1 + n / 8), one in 1 + n / 8 at the n-th) or "never".
        draw: Actions are drawn from the disagreement of the policy forest's trees.
        least_spread: The smallest standard deviation of drawn actions, as a share of the action's range; there is none
            while the plan is optimistic, because noise on the way would spoil a plan that leads somewhere new.
        epsilon: The chance of a uniform action in each step.
        random_episodes: The number of first episodes whose actions are uniform; None: all episodes.
    """

    name: str
    optimism: Literal["always", "alternate", "fading", "never"] = "never"
    draw: bool = False
    least_spread: float = 0.0
    epsilon: EpsilonSchedule | None = None
    random_episodes: int | None = 1

    def __post_init__(self) -> None:
        one_of("optimism", self.optimism, ("always", "alternate", "fading", "never"))
        real_number("least_spread", self.least_spread, at_least=0.0, below=1.0)
        if self.random_episodes is not None:
            whole_number("random_episodes", self.random_episodes, at_least=1)

    def kind(self, episode: int) -> EpisodeKind:
        """The kind of plan for episode number `episode`."""
        if self.random_episodes is None or episode < self.random_episodes:
            return "random"
        number = episode - self.random_episodes + 1
        optimistic = {
            "always": True,
            "alternate": number % 2 == 1,
            "fading": _faded(number) > _faded(number - 1),
            "never": False,
        }
        return "optimistic" if optimistic[self.optimism] else "plain"

    def action(self, behaviour: Behaviour, state: Floats, episode: int, rng: np.random.Generator) -> Floats:
        """The action in a state, by a plan; without one, the caller draws a uniform action."""
        if self.epsilon is not None and rng.random() < self.epsilon(episode):
            return uniform_action(behaviour.policy.action_space, rng)
        if not self.draw:
            return behaviour.policy.act(state)
        return behaviour.draw(state, rng, self.least_spread if self.kind(episode) == "plain" else 0.0)


def _faded(n: int) -> int:
    """How many of n planned episodes are optimistic: 4 of the first 4, 8 of 12, 13 of 30, 21 of 100."""
    return math.ceil(FADING * math.log(1.0 + n / FADING))


class Behaviour:
    """A policy and each of its trees, ready to act in constant time."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._trees: list[list[Callable[[Floats], float]]] = [
            [forest[k].predict_one for k in range(len(forest))] for forest in policy.forests
        ]

    def draw(self, state: Floats, rng: np.random.Generator, least_spread: float = 0.0) -> Floats:
        """a_j ~ N(mean, standard deviation) over the trees of pi_j(s), clipped to the action box.

        The standard deviation is at least `least_spread` of the action's range.
        """
        inside = states_in_box(state[np.newaxis], self.policy.state_box, self.policy.periodic)[0]
        box = bounds(self.policy.action_space)
        answers = np.array([[tree(inside) for tree in trees] for trees in self._trees])
        answers = np.clip(answers, box[:, :1], box[:, 1:])
        spread = np.maximum(answers.std(axis=1), least_spread * (box[:, 1] - box[:, 0]))
        drawn = answers.mean(axis=1) + spread * rng.standard_normal(len(answers))
        return held(np.clip(drawn, box[:, 0], box[:, 1]), self.policy.action_space)


def uniform_action(space: Box, rng: np.random.Generator) -> Floats:
    action: Floats = uniform_actions(space, rng, 1)[0]
    return action


def held(action: Floats, space: Box) -> Floats:
    """The action as the space's type holds it, still inside of the box."""
    single: Floats = np.clip(action.astype(space.dtype), space.low, space.high).astype(np.float64)
    return single


def explorer(name: str, *, epsilon: EpsilonSchedule | None = None) -> Explorer:
    """An explorer by its name."""
    one_of("agent", name, EXPLORERS)
    if name == "disagreement":
        return Explorer(name, optimism="fading", draw=True, least_spread=LEAST_SPREAD)
    if name == "epsilon-greedy":
        return Explorer(name, epsilon=epsilon or EpsilonSchedule())
    return Explorer(
        name, optimism="always" if name == "mre" else "never", random_episodes=None if name == "random" else 1
    )


class HeldActions:
    """Uniform actions, each held for some steps."""

    def __init__(self, space: Box, rng: np.random.Generator) -> None:
        self._space, self._rng, self._left = space, rng, 0
        self._action = np.zeros(space.shape[0])

    def next(self) -> Floats:
        """The action of the next step."""
        if self._left == 0:
            low, high = bounds(self._space).T
            self._action = held(low + (high - low) * self._rng.random(len(low)), self._space)
            self._left = int(self._rng.integers(1, LONGEST_HOLD))
        self._left -= 1
        return self._action
