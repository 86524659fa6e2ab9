"""One member of a learned model as a simulator: trajectories are planned in it without noise, and policies are played.

In the core, the edge of the data is a hard limit. A search that follows slopes needs a smooth one: here a step beyond
the data is charged by the square of its distance from the data, and the reward of a terminal step counts as much as
such a step is likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.angles import within_half_a_turn
from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import known_ends, known_rewards
from policyforest.forest.growth_rules import period_rows
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.edge import Edge
from policyforest.learning.dynamics.kernel import spread_rows
from policyforest.learning.improvement.coordinates import Coordinates
from policyforest.policy.policy import Policy

# The charge for leaving the data by its whole width, in a plan that is relied on and in one that explores.
LEAVING, EXPLORING = 100.0, 1.0
# The number of visited states from which novelty is measured, and the largest novelty.
PLACES, NEWEST = 150, 5.0
# States are simulated up to this many widths of the data beyond its edge.
REACH = 3.0
# The smallest spread of a state dimension, as a share of its magnitude, for dimensions that hardly vary.
SMALLEST = 1e-3


class Followed(NamedTuple):
    """Episodes in a simulation: the states that they visit (rows, steps + 1, dimensions), the actions taken, and their
    values."""

    states: Floats
    actions: Floats
    worth: Floats


class Near(NamedTuple):
    """The results of steps from points near rows (s, a)."""

    ahead: Floats
    """(moves, rows, dimensions)"""
    rewards: Floats
    """(moves, rows)"""
    others: list[Floats]
    """The next states in the other members, each shaped like `ahead`"""


@dataclass(frozen=True)
class Simulation:
    """Simulates many states at once, one per row.

    Args:
        model: The learned model.
        native: One of its members, compiled.
        discount: gamma.
        leaving: The charge for a step that leaves the data by its whole width, in standard deviations of the reward.
        novelty: In a plan that explores, the bonus for a step to a state far from all samples, or to one about which
            members disagree.
        rivals: The other members, whose predictions are compared.
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
        """The standard deviation of each state dimension in the data."""
        states = self.model.transitions.states
        return np.asarray(np.maximum(states.std(axis=0), SMALLEST * (1.0 + np.abs(states).max(axis=0))))

    @cached_property
    def coordinates(self) -> Coordinates:
        """The directions in which states can move."""
        return Coordinates(self.model)

    @cached_property
    def reward_scale(self) -> float:
        """The unit in which differences between rewards are measured."""
        rewards = self.model.transitions.rewards
        return max(float(rewards.std()), 1e-3 * float(np.abs(rewards).max()), 1e-9)

    @cached_property
    def edge(self) -> Edge:
        """The edge of the data."""
        return self.model.edge(self.discount)

    @cached_property
    def _width(self) -> Floats:
        width = self.edge.box[:, 1] - self.edge.box[:, 0]
        return np.asarray(np.where(width > 1e-9, width, np.inf))

    @cached_property
    def _reach(self) -> tuple[Floats, Floats]:
        """The bounds to which states are clipped, so that numbers stay moderate where a model diverges."""
        low, high = self.edge.box.T
        return low - REACH * (high - low) - 1.0, high + REACH * (high - low) + 1.0

    def step(
        self, states: Floats, actions: Floats, residuals: NDArray[np.uint32] | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Next states, rewards and the probabilities that the step is terminal; `residuals`: rows of observed noise."""
        here, taken = np.ascontiguousarray(states), np.ascontiguousarray(actions)
        ahead, rewards, chance, paid = self.native.step(here, taken, residuals, False)
        ahead = np.clip(np.where(np.isnan(ahead), here, ahead), *self._reach)
        others = [member.step(here, taken, residuals, False)[0] for member in self._disputing]
        return ahead, *self._earned(here, taken, ahead, rewards, chance, paid, others)

    def around(self, states: Floats, actions: Floats, moves: Floats) -> Near:
        """Steps from points near rows (s, a): `moves` has a row (directions, actions) for each point, the first of them
        zeros. Gaussian processes are extrapolated from the rows by their derivatives."""
        n, d = states.shape
        here, taken = self._moved(states, actions, moves)
        ahead, rewards, chance, paid = self.native.step_around(here, taken, n)
        ahead = np.clip(np.where(np.isnan(ahead), here, ahead), *self._reach)
        others = [member.step_around(here, taken, n)[0] for member in self._disputing]
        earned, _ = self._earned(here, taken, ahead, rewards, chance, paid, others)
        shape = len(moves), n, d
        return Near(ahead.reshape(shape), earned.reshape(len(moves), n), [other.reshape(shape) for other in others])

    @property
    def rewards_states_alone(self) -> bool:
        """Whether the reward of a step follows from its state, action and next state, without the learned model."""
        return self.model.known_reward is not None and not self._disputing

    def rewards_of_pairs(
        self, states: Floats, actions: Floats, moves: Floats, pairs: Sequence[tuple[int, int]], near: Near
    ) -> Floats:
        """The rewards (pairs, rows) of steps from points displaced by two moves; `pairs` holds the numbers of the two.
        `near` holds the steps after single moves, from which the next states are extrapolated."""
        n, (first, second) = len(states), np.array(pairs).T
        here, taken = self._moved(states, actions, moves[first] + moves[second])
        ahead, others = self._added(near.ahead, pairs), [self._added(other, pairs) for other in near.others]
        rewards = chance = paid = np.zeros(len(here))
        if self.model.known_reward is None:
            # The model's rewards are expanded around the rows themselves, which come first.
            before = np.concatenate([states, here]), np.concatenate([actions, taken])
            made = self.native.earn_around(*before, np.concatenate([near.ahead[0], ahead]), n)
            rewards, chance, paid = (part[n:] for part in made)
        earned, _ = self._earned(here, taken, ahead, rewards, chance, paid, others)
        return earned.reshape(len(pairs), n)

    def _added(self, ahead: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
        """The next states from points displaced by both moves of a pair: the changes of the two moves are added."""
        change = self.coordinates.apart(ahead, ahead[:1])
        first, second = np.array(pairs).T
        return self.coordinates.moved(ahead[0], change[first] + change[second]).reshape(-1, ahead.shape[2])

    def _moved(self, states: Floats, actions: Floats, moves: Floats) -> tuple[Floats, Floats]:
        """States and actions of points near rows (s, a): all rows with the first move, then with the next one."""
        n = self.coordinates.number
        here = self.coordinates.moved(states, moves[:, None, :n]).reshape(-1, states.shape[1])
        taken = (actions + moves[:, None, n:]).reshape(-1, actions.shape[1])
        return np.ascontiguousarray(here), np.ascontiguousarray(taken)

    @property
    def _disputing(self) -> tuple[_core.LearnedModel, ...]:
        """The other members if novelty counts, else none."""
        return self.rivals if self.novelty > 0.0 else ()

    def _earned(
        self, here: Floats, taken: Floats, ahead: Floats, rewards: Floats, chance: Floats, paid: Floats,
        others: list[Floats],
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """The rewards of rows of steps, with charges and bonuses, and the probabilities that they are terminal."""
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
        """How much members disagree about next states, from 0 to 1: by a standard deviation of the data or more."""
        apart = np.stack([self.apart(other, outcome) for other in (outcome, *others)]).std(axis=0) / self.spread
        return np.asarray(np.clip(np.nan_to_num(apart, nan=1.0).max(axis=1), 0.0, 1.0))

    def _beyond(self, ahead: Floats) -> Floats:
        """The charge for a step beyond the data and, in a plan that explores, the bonus for a new state."""
        low, high = self.edge.box.T
        charged, rows = np.zeros(len(ahead)), np.flatnonzero(~((ahead >= low) & (ahead <= high)).all(axis=1))
        if len(rows) > 0:
            outside = np.maximum(np.maximum(low - ahead[rows], ahead[rows] - high), 0.0) / self._width
            charged[rows] = -self.leaving * self.reward_scale * (outside**2).sum(axis=1)
        return charged if self.novelty == 0.0 else charged + self.novelty * self._new(ahead)

    def _new(self, states: Floats) -> Floats:
        """The novelty of states: 0 if they are as near to a chosen place as all visited states are, then rising with
        the distance up to `NEWEST`, so that a search has a slope to follow."""
        places, radius = self._visited
        return np.clip(self._distances(states, places) / radius - 1.0, 0.0, NEWEST)

    def _distances(self, states: Floats, places: Floats) -> Floats:
        """The distance from each state to the nearest place, in standard deviations of the data."""
        periods = period_rows(self.model.transitions.periodic, states.shape[1])
        return _core.nearest_distances(np.ascontiguousarray(states), places, self.spread, periods)

    @cached_property
    def _visited(self) -> tuple[Floats, float]:
        """Places, which are visited states far from each other, and the largest distance of a visited state from the
        nearest place."""
        data = self.model.transitions
        states = np.concatenate([data.states, data.next_states[~data.terminals]])
        number = max(1, min(PLACES, len(data) // 2))
        chosen = spread_rows(states / self.spread, number)
        places = np.ascontiguousarray(states[chosen])
        return places, max(float(self._distances(states, places).max()), 1e-9)

    def apart(self, a: Floats, b: Floats) -> Floats:
        """a - b; for angles, the shorter way round the circle."""
        return within_half_a_turn(a - b, self.model.transitions.periodic)

    def follow(
        self, starts: Floats, actions: Floats, feedback: Floats | None = None, reference: Floats | None = None
    ) -> Followed:
        """Simulates sequences of actions, with optional feedback on the directions from a reference to the states."""
        begin, given = np.ascontiguousarray(starts), np.ascontiguousarray(actions)
        gains = places = None
        if feedback is not None and reference is not None:
            gains = np.ascontiguousarray(self.coordinates.gains(feedback, reference[:, :-1]))
            places = np.ascontiguousarray(reference)
        made = _core.track(self.native, begin, given, gains, places, self._box, self._reach_rows)
        return self._followed(*made)

    def followed(self, policy: Policy, starts: Floats, n_steps: int) -> Floats:
        """The actions (rows, steps, dimensions) that a policy takes without noise."""
        here, actions = np.ascontiguousarray(starts), []
        for _ in range(n_steps):
            actions.append(np.clip(policy.native.act_batch(here), *self.action_box.T))
            ahead = self.native.step(here, actions[-1], None, False)[0]
            here = np.clip(np.where(np.isnan(ahead), here, ahead), *self._reach)
        return np.stack(actions, axis=1)

    def play(
        self, policy: Policy, starts: Floats, n_steps: int, rng: np.random.Generator, noise: float = 0.0
    ) -> Followed:
        """Plays a policy with the observed noise, and with `noise` on its actions, as a share of their range."""
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
        """The values of simulated paths; all steps are evaluated at once."""
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
        """The discounted sums of rows of rewards; minus infinity for a sum that is not finite."""
        sums = rewards @ self.discount ** np.arange(rewards.shape[-1])
        return np.asarray(np.where(np.isfinite(sums), sums, -np.inf))
