"""One member of a learned model as a simulator without noise: what trajectories are planned in.

The core decides hard where the data ends. A search that follows slopes needs to feel the end coming: here a step beyond
the data is charged by the square of its distance from it, and a step that would end the episode earns what the end
pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import known_ends, known_rewards
from policyforest.forest.growth_rules import period_rows
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.edge import Edge
from policyforest.learning.dynamics.kernel import spread_rows
from policyforest.policy.policy import Policy

# What leaving the data by its whole width costs a plan that is to be relied on, and one that explores.
LEAVING, EXPLORING = 100.0, 1.0
# Visited states that novelty is measured by.
PLACES, NEWEST = 150, 5.0
# States are followed up to so many widths of the data beyond it.
REACH = 3.0
# The smallest difference that matters in a state dimension, as a part of its size: for those that hardly vary.
SMALLEST = 1e-3


class Followed(NamedTuple):
    """Episodes in a simulation: the states that they pass (rows, steps + 1, dimensions), the actions taken, and what
    they are worth."""

    states: Floats
    actions: Floats
    worth: Floats


class Near(NamedTuple):
    """Steps from points near rows."""

    ahead: Floats
    """(moves, rows, dimensions)"""
    rewards: Floats
    """(moves, rows)"""
    others: list[Floats]
    """Where members that disagree lead, as `ahead`"""


@dataclass(frozen=True)
class Simulation:
    """Steps rows of states side by side.

    Args:
        model: The learned model.
        native: One of its members, compiled.
        discount: gamma.
        leaving: What a step costs that leaves the data by its whole width, in standard deviations of the reward.
        novelty: What a step to where no sample is near, or about whose outcome members disagree, is worth to a plan
            that explores.
        rivals: The other members, which disagree.
    """

    model: DynamicsModel
    native: _core.LearnedModel = field(repr=False)
    discount: float
    leaving: float = LEAVING
    novelty: float = 0.0
    rivals: tuple[_core.LearnedModel, ...] = field(default=(), repr=False)

    @cached_property
    def action_box(self) -> Floats:
        """Rows (low, high)."""
        return bounds(self.model.transitions.action_space)

    @cached_property
    def spread(self) -> Floats:
        """Of each state dimension in the data."""
        states = self.model.transitions.states
        return np.asarray(np.maximum(states.std(axis=0), SMALLEST * (1.0 + np.abs(states).max(axis=0))))

    @cached_property
    def reward_scale(self) -> float:
        """What differences of rewards are measured by."""
        rewards = self.model.transitions.rewards
        return max(float(rewards.std()), 1e-3 * float(np.abs(rewards).max()), 1e-9)

    @cached_property
    def edge(self) -> Edge:
        """Where the data ends."""
        return self.model.edge(self.discount)

    @cached_property
    def _width(self) -> Floats:
        width = self.edge.box[:, 1] - self.edge.box[:, 0]
        return np.asarray(np.where(width > 1e-9, width, np.inf))

    @cached_property
    def _reach(self) -> tuple[Floats, Floats]:
        """How far states are followed beyond the data: where a model explodes, numbers stay moderate."""
        low, high = self.edge.box.T
        return low - REACH * (high - low) - 1.0, high + REACH * (high - low) + 1.0

    def step(
        self, states: Floats, actions: Floats, residuals: NDArray[np.uint32] | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Next states, rewards and the chances that the step is the last; `residuals`: rows of observed noise."""
        here, taken = np.ascontiguousarray(states), np.ascontiguousarray(actions)
        ahead, rewards, chance, paid = self.native.step(here, taken, residuals, False)
        ahead = np.clip(np.where(np.isnan(ahead), here, ahead), *self._reach)
        others = [member.step(here, taken, residuals, False)[0] for member in self._disputing]
        return ahead, *self._earned(here, taken, ahead, rewards, chance, paid, others)

    def around(self, states: Floats, actions: Floats, moves: Floats) -> Near:
        """Steps from points near rows (s, a): `moves` has a row for each point, the first of them zeros. Gaussian
        processes are followed by their slopes."""
        n, d = states.shape
        here, taken = _moved(states, actions, moves)
        ahead, rewards, chance, paid = self.native.step_around(here, taken, n)
        ahead = np.clip(np.where(np.isnan(ahead), here, ahead), *self._reach)
        others = [member.step_around(here, taken, n)[0] for member in self._disputing]
        earned, _ = self._earned(here, taken, ahead, rewards, chance, paid, others)
        shape = len(moves), n, d
        return Near(ahead.reshape(shape), earned.reshape(len(moves), n), [other.reshape(shape) for other in others])

    @property
    def rewards_states_alone(self) -> bool:
        """Whether what a step earns is known once its next state is."""
        return self.model.known_reward is not None and not self._disputing

    def rewards_of_pairs(
        self, states: Floats, actions: Floats, moves: Floats, pairs: Sequence[tuple[int, int]], near: Near
    ) -> Floats:
        """The rewards (pairs, rows) of steps from points that two of the moves are added to, by their numbers. `near`
        are the steps after single moves: the next states follow from their slopes."""
        n, (first, second) = len(states), np.array(pairs).T
        here, taken = _moved(states, actions, moves[first] + moves[second])
        ahead, others = self._added(near.ahead, pairs), [self._added(other, pairs) for other in near.others]
        rewards = chance = paid = np.zeros(len(here))
        if self.model.known_reward is None:
            # What the model earns is expanded around the rows themselves, which come first.
            before = np.concatenate([states, here]), np.concatenate([actions, taken])
            made = self.native.earn_around(*before, np.concatenate([near.ahead[0], ahead]), n)
            rewards, chance, paid = (part[n:] for part in made)
        earned, _ = self._earned(here, taken, ahead, rewards, chance, paid, others)
        return earned.reshape(len(pairs), n)

    def _added(self, ahead: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
        """Where steps from points moved by both of each pair lead: to where the changes of both add up to."""
        change = self.apart(ahead, ahead[:1])
        return np.concatenate([ahead[0] + change[i] + change[j] for i, j in pairs])

    @property
    def _disputing(self) -> tuple[_core.LearnedModel, ...]:
        """The members whose opinion about a step counts."""
        return self.rivals if self.novelty > 0.0 else ()

    def _earned(
        self, here: Floats, taken: Floats, ahead: Floats, rewards: Floats, chance: Floats, paid: Floats,
        others: list[Floats],
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """What rows of steps earn, and the chances that they are the last."""
        if self.model.known_terminal is not None:
            chance = known_ends(self.model.known_terminal, here, taken, ahead).astype(np.float64)
        if self.model.known_reward is not None:
            rewards = paid = known_rewards(self.model.known_reward, here, taken, ahead)
        rewards = np.where(np.isfinite(rewards), rewards, self.edge.reward)
        earned = (1.0 - chance) * rewards + chance * paid + self._beyond(ahead)
        if others:
            earned = earned + self.novelty * self._disputed(ahead, others)
        return earned, chance

    def _disputed(self, outcome: Floats, others: list[Floats]) -> Floats:
        """How much members disagree about where steps lead: 0 to 1, a spread of the data in some dimension."""
        apart = np.stack([self.apart(other, outcome) for other in (outcome, *others)]).std(axis=0) / self.spread
        return np.asarray(np.clip(np.nan_to_num(apart, nan=1.0).max(axis=1), 0.0, 1.0))

    def _beyond(self, ahead: Floats) -> Floats:
        """What a step beyond the data costs, or is worth to a plan that explores."""
        low, high = self.edge.box.T
        charged, rows = np.zeros(len(ahead)), np.flatnonzero(~((ahead >= low) & (ahead <= high)).all(axis=1))
        if len(rows) > 0:
            outside = np.maximum(np.maximum(low - ahead[rows], ahead[rows] - high), 0.0) / self._width
            charged[rows] = -self.leaving * self.reward_scale * (outside**2).sum(axis=1)
        return charged if self.novelty == 0.0 else charged + self.novelty * self._new(ahead)

    def _new(self, states: Floats) -> Floats:
        """How new states are: 0 where they are as near to a visited one as those are to each other, then rising with
        the distance up to `NEWEST`, so that there is always a way to more."""
        places, radius = self._visited
        return np.clip(self._distances(states, places) / radius - 1.0, 0.0, NEWEST)

    def _distances(self, states: Floats, places: Floats) -> Floats:
        """From each state to the nearest place, in spreads of the data."""
        periods = period_rows(self.model.transitions.periodic, states.shape[1])
        return _core.nearest_distances(np.ascontiguousarray(states), places, self.spread, periods)

    @cached_property
    def _visited(self) -> tuple[Floats, float]:
        """Visited states that lie far from each other, and how far any other visited state is from them at most."""
        data = self.model.transitions
        states = np.concatenate([data.states, data.next_states[~data.terminals]])
        number = max(1, min(PLACES, len(data) // 2))
        chosen = spread_rows(states / self.spread, number)
        places = np.ascontiguousarray(states[chosen])
        return places, max(float(self._distances(states, places).max()), 1e-9)

    def apart(self, a: Floats, b: Floats) -> Floats:
        """a - b, the short way round for angles."""
        difference = a - b
        for d, (low, high) in self.model.transitions.periodic.items():
            turn = high - low
            difference[..., d] = (difference[..., d] + turn / 2) % turn - turn / 2
        return np.asarray(difference)

    def follow(
        self, starts: Floats, actions: Floats, feedback: Floats | None = None, reference: Floats | None = None
    ) -> Followed:
        """What sequences of actions lead to; with feedback on the distance of states from those of a reference."""
        begin, given = np.ascontiguousarray(starts), np.ascontiguousarray(actions)
        gains = None if feedback is None else np.ascontiguousarray(feedback)
        places = None if reference is None else np.ascontiguousarray(reference)
        made = _core.track(self.native, begin, given, gains, places, self._box, self._reach_rows)
        return self._followed(*made)

    def followed(self, policy: Policy, starts: Floats, n_steps: int) -> Floats:
        """The actions (rows, steps, dimensions) of a policy without noise."""
        here, actions = np.ascontiguousarray(starts), []
        for _ in range(n_steps):
            actions.append(np.clip(policy.native.act_batch(here), *self.action_box.T))
            ahead = self.native.step(here, actions[-1], None, False)[0]
            here = np.clip(np.where(np.isnan(ahead), here, ahead), *self._reach)
        return np.stack(actions, axis=1)

    def play(
        self, policy: Policy, starts: Floats, n_steps: int, rng: np.random.Generator, noise: float = 0.0
    ) -> Followed:
        """Plays a policy with the noise that was observed, and with noise on its actions as a part of their range."""
        n, (low, high) = len(starts), self.action_box.T
        added, n_rows = None, len(self.model.residuals)
        if noise == 0.0:
            rows = rng.integers(n_rows, size=(n_steps, n)).astype(np.uint32)
        else:
            added, rows = np.empty((n_steps, n, len(low))), np.empty((n_steps, n), dtype=np.uint32)
            for t in range(n_steps):
                added[t] = noise * (high - low) * rng.standard_normal((n, len(low)))
                rows[t] = rng.integers(n_rows, size=n)
        begin = np.ascontiguousarray(starts)
        played = _core.play(self.native, policy.native, begin, rows, added, self._box, self._reach_rows)
        return self._followed(*played)

    def _followed(self, states: Floats, actions: Floats, rewards: Floats, chance: Floats, paid: Floats) -> Followed:
        """What paths earn: all their steps side by side."""
        n, n_steps, m = actions.shape
        here = np.ascontiguousarray(states[:, :-1].reshape(n * n_steps, -1))
        ahead, taken = states[:, 1:].reshape(n * n_steps, -1), np.ascontiguousarray(actions.reshape(n * n_steps, m))
        others = [member.step(here, taken, None, False)[0] for member in self._disputing]
        earned, ends = self._earned(here, taken, ahead, rewards.ravel(), chance.ravel(), paid.ravel(), others)
        going = np.cumprod(1.0 - ends.reshape(n, n_steps), axis=1)
        alive = np.concatenate([np.ones((n, 1)), going[:, :-1]], axis=1)
        return Followed(states, actions, self.worth(alive * earned.reshape(n, n_steps)))

    @cached_property
    def _box(self) -> Floats:
        return np.ascontiguousarray(self.action_box)

    @cached_property
    def _reach_rows(self) -> Floats:
        return np.ascontiguousarray(np.stack(self._reach, axis=1))

    def worth(self, rewards: Floats) -> Floats:
        """The discounted sums of rows of rewards; what is not finite is worth nothing at all."""
        sums = rewards @ self.discount ** np.arange(rewards.shape[-1])
        return np.asarray(np.where(np.isfinite(sums), sums, -np.inf))


def _moved(states: Floats, actions: Floats, moves: Floats) -> tuple[Floats, Floats]:
    """States and actions of points near rows (s, a): all rows after the first move, then after the next one."""
    d = states.shape[1]
    points = (np.concatenate([states, actions], axis=1)[None] + moves[:, None]).reshape(-1, moves.shape[1])
    return np.ascontiguousarray(points[:, :d]), np.ascontiguousarray(points[:, d:])
