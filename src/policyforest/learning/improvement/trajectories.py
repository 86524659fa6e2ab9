"""Action sequences with a high return in a simulation: the cross-entropy method, then improvement by model gradients.

`search_sequence` searches globally: it draws sequences whose actions are held for several steps, keeps the best tenth,
and draws around them. `Trajectories.improve` continues locally (iterative linear-quadratic regulator; Li and Todorov,
2004): the model and the reward are expanded around each trajectory by finite differences, the Riccati recursion gives
a change of every action and its feedback on the state,

    a_t = u_t + alpha k_t + K_t (s_t - x_t),

and the step alpha with the highest return is taken. Many trajectories are improved at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest.learning.improvement.simulation import Simulation
from policyforest.policy.policy import Policy

SEQUENCES, ELITE, HELD = 240, 0.1, (1, 3, 8, 20)
# Trajectories begin at the first share of their length and grow by the second: for an unstable system, improving whole
# sequences at once ends in a bad optimum (cart-pole: a value of 25 to 28 when improved at once, 28.9 when grown).
GROWN_FROM, GROWN_BY = 1 / 3, 1 / 9
# Finite differences, as a share of the data's spread in a direction of the state, or of an action's range.
DIFFERENCE = 0.02
# If most points of an expansion are pairs of directions, the curvature of the rewards is computed once in this many
# rounds.
CURVATURE = 2
# This many steps are expanded at once: the points near them stay in the processor's cache.
AT_ONCE = 256
LARGE_STEPS, SMALL_STEPS = np.array([1.0, 0.5]), np.array([0.2, 0.06])
EASIER, HARDER, FIRST_DAMPING, MOST_DAMPING = 1 / 3, 5.0, 1e-2, 1e6
FLATTEST = 1e-8
# Improvement ends when the best step gains less than this share of a trajectory's value.
SETTLED = 1e-4


def search_sequence(
    simulation: Simulation, start: Floats, n_steps: int, n_rounds: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Returns the best sequence of actions (steps, dimensions) found from a state, and its value."""
    low, high = simulation.action_box.T
    middle, half = (low + high) / 2, (high - low) / 2
    mean, spread = np.zeros((n_steps, len(low))), np.full((n_steps, len(low)), 0.8)
    kept = np.zeros((1, n_steps, len(low)))
    best, top = kept[0], -np.inf
    for _ in range(n_rounds):
        drawn = np.concatenate([_held(rng, SEQUENCES // len(HELD), n_steps, len(low), hold) for hold in HELD])
        tried = np.concatenate([kept, np.clip(mean + spread * drawn, -1.0, 1.0)])
        starts = np.repeat(start[None], len(tried), axis=0)
        worth = simulation.follow(starts, middle + half * tried).worth
        order = np.argsort(-worth, kind="stable")[: int(ELITE * len(tried))]
        if worth[order[0]] > top:
            best, top = tried[order[0]].copy(), float(worth[order[0]])
        elite = tried[order]
        mean, spread = 0.8 * elite.mean(axis=0) + 0.2 * mean, 0.8 * elite.std(axis=0) + 0.2 * spread
        kept = elite[: max(1, len(elite) // 4)]
    return middle + half * best, top


def _held(rng: np.random.Generator, n: int, n_steps: int, m: int, hold: int) -> Floats:
    """Normal noise that stays the same for `hold` steps."""
    noise = rng.standard_normal((n, n_steps // hold + 2, m))
    place = (np.arange(n_steps)[None] + rng.integers(hold, size=n)[:, None]) // hold
    return np.asarray(noise[np.arange(n)[:, None], place])


@dataclass
class Trajectories:
    """Sequences of actions, the states that they visit, their feedback and their values; one row per trajectory."""

    states: Floats
    actions: Floats
    feedback: Floats
    """K_t (rows, steps, action dimensions, directions of the state)"""
    worth: Floats

    @classmethod
    def of(cls, simulation: Simulation, starts: Floats, actions: Floats) -> Trajectories:
        """The trajectories of given sequences, with zero feedback."""
        made = simulation.follow(starts, actions)
        return cls(made.states, made.actions, np.zeros((*actions.shape, simulation.coordinates.number)), made.worth)

    @classmethod
    def grown(
        cls, simulation: Simulation, starts: Floats, actions: Floats, n_steps: int, rounds: tuple[int, int]
    ) -> Trajectories:
        """Trajectories of `n_steps` that begin with the given actions and are improved while they grow: `rounds` of
        improvement at each shorter length, and at the full length."""
        by, rest = max(1, round(GROWN_BY * n_steps)), np.zeros((len(starts), n_steps, actions.shape[2]))
        rest = rest + np.clip(0.0, *simulation.action_box.T)
        made = cls.of(simulation, starts, actions[:, :n_steps])
        while made.actions.shape[1] < n_steps:
            made.improve(simulation, rounds[0])
            longer = np.concatenate([made.actions, rest[:, :by]], axis=1)[:, :n_steps]
            made = cls.of(simulation, starts, longer)
        made.improve(simulation, rounds[1])
        return made

    @classmethod
    def joined(cls, parts: Sequence[Trajectories]) -> Trajectories:
        """All rows of trajectories of the same length."""
        columns = zip(*((p.states, p.actions, p.feedback, p.worth) for p in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def worth_in(self, simulations: Sequence[Simulation]) -> Floats:
        """The mean value of each trajectory over several members of the ensemble, where its feedback is applied."""
        made = [each.follow(self.states[:, 0], self.actions, self.feedback, self.states).worth for each in simulations]
        return np.asarray(np.mean(made, axis=0))

    def learn_from(self, simulation: Simulation, policy: Policy, n_rounds: int) -> None:
        """Where a policy earns more from the same start, replaces a trajectory by the policy's own, improved."""
        starts = self.states[:, 0]
        done = Trajectories.of(simulation, starts, simulation.followed(policy, starts, self.actions.shape[1]))
        rows = np.flatnonzero(done.worth > self.worth + SETTLED * np.abs(self.worth))
        if len(rows) == 0:
            return
        better = Trajectories(done.states[rows], done.actions[rows], done.feedback[rows], done.worth[rows])
        better.improve(simulation, n_rounds)
        self.states[rows], self.actions[rows], self.feedback[rows], self.worth[rows] = (
            better.states, better.actions, better.feedback, better.worth,
        )  # fmt: skip

    def improve(self, simulation: Simulation, n_rounds: int) -> None:
        """Improves the trajectories for at most `n_rounds`, or until the gains are too small."""
        damping, curvature = np.full(len(self.states), FIRST_DAMPING), None
        for number in range(n_rounds):
            old = curvature is not None
            change, self.feedback, curvature = self._backward(simulation, damping, curvature)
            gained = self._forward(simulation, change)
            damping = np.where(gained > 0, np.maximum(EASIER * damping, 1e-6), HARDER * damping)
            settled = gained <= SETTLED * np.abs(self.worth)
            end = number >= 1 and bool((settled & ((gained > 0) | (damping > 10 * FIRST_DAMPING))).all())
            if end and not old:
                break
            if end or (number + 1) % CURVATURE == 0:
                curvature = None
            if (damping > MOST_DAMPING).all():
                break

    def _forward(self, simulation: Simulation, change: Floats) -> Floats:
        """Takes the best step for each trajectory; returns its gain, 0 if no step gains anything."""
        gained = np.zeros(len(self.states))
        for steps in (LARGE_STEPS, SMALL_STEPS):
            rows = np.flatnonzero(gained == 0.0)  # small steps only where large ones gain nothing
            if len(rows) > 0:
                gained[rows] = self._stepped(simulation, change, rows, steps)
        return gained

    def _stepped(self, simulation: Simulation, change: Floats, rows: NDArray[np.intp], steps: Floats) -> Floats:
        k, n = len(steps), len(rows)
        tried = (self.actions[rows] + steps[:, None, None, None] * change[rows]).reshape(k * n, *change.shape[1:])
        feedback, reference = (np.concatenate([part[rows]] * k) for part in (self.feedback, self.states))
        made = simulation.follow(reference[:, 0], tried, feedback, reference)
        worth = made.worth.reshape(k, n)
        best = worth.argmax(axis=0)
        gained = np.maximum(worth[best, np.arange(n)] - self.worth[rows], 0.0)
        better = np.flatnonzero(gained > 0)
        chosen, to = best[better] * n + better, rows[better]
        self.states[to], self.actions[to], self.worth[to] = (part[chosen] for part in made)
        return np.asarray(gained)

    def _backward(
        self, simulation: Simulation, damping: Floats, known: Floats | None
    ) -> tuple[Floats, Floats, Floats | None]:
        """Computes the changes of the actions and their feedback, from the last step to the first. Also returns the
        curvature of the rewards if the next rounds may reuse it (as `known`), else None."""
        n, n_steps, m = self.actions.shape
        d = self.states.shape[2]
        low, high = simulation.action_box.T
        spread = simulation.coordinates.sizes(simulation.spread)
        size = DIFFERENCE * np.concatenate([spread, high - low])
        around = _expanded_in_parts(
            simulation, self.states[:, :-1].reshape(n * n_steps, d), self.actions.reshape(n * n_steps, m), size, known
        )
        slopes, gradient, curvature = (part.reshape(n, n_steps, *part.shape[1:]) for part in around)
        damped = damping[:, None] * simulation.reward_scale / ((high - low) / 2) ** 2
        change, feedback = _core.improve_backward(
            slopes, gradient, curvature, size, np.ascontiguousarray(self.actions), damped,
            np.ascontiguousarray(simulation.action_box), simulation.discount, FLATTEST * simulation.reward_scale,
        )  # fmt: skip
        return change, feedback, around[2] if _many(len(size)) else None


def _many(width: int) -> bool:
    """Whether most of the points that an expansion needs are pairs of directions."""
    return width * (width - 1) // 2 > 2 * width


def _expanded_in_parts(
    simulation: Simulation, states: Floats, actions: Floats, size: Floats, known: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """`_expanded`, for `AT_ONCE` rows at a time."""
    parts = [
        _expanded(
            simulation, states[i : i + AT_ONCE], actions[i : i + AT_ONCE], size,
            None if known is None else known[i : i + AT_ONCE],
        )
        for i in range(0, len(states), AT_ONCE)
    ]  # fmt: skip
    slopes, gradient, curvature = (np.concatenate(column) for column in zip(*parts, strict=True))
    return slopes, gradient, curvature


def _expanded(
    simulation: Simulation, states: Floats, actions: Floats, size: Floats, known: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Slopes of the next state in (s, a), and gradient and second differences of the reward, by finite differences of
    `size` in each direction of (s, a). If the second differences are `known`, they are not computed again."""
    w, one = len(size), np.diag(size)
    pairs = [(i, j) for i in range(w) for j in range(i)]
    moves = np.concatenate([np.zeros((1, w)), one, -one])
    if simulation.rewards_states_alone or _many(w):  # steps from pairs of moves are not simulated
        near = simulation.around(states, actions, moves)
        ahead, rewards = near.ahead, near.rewards
        if known is None:
            both = [(1 + i, 1 + j) for i, j in pairs]
            rewards = np.concatenate([rewards, simulation.rewards_of_pairs(states, actions, moves, both, near)])
    else:
        more = np.array([one[i] + one[j] for i, j in pairs])
        ahead, rewards, _ = simulation.around(states, actions, np.concatenate([moves, more]))
    up, down = slice(1, 1 + w), slice(1 + w, 1 + 2 * w)
    slopes = simulation.coordinates.apart(ahead[up], ahead[down]) / (2 * size[:, None, None])
    gradient = (rewards[up] - rewards[down]) / (2 * size[:, None])
    curvature = _second_differences(rewards, pairs, w) if known is None else known
    return np.ascontiguousarray(slopes.transpose(1, 2, 0)), np.ascontiguousarray(gradient.T), curvature


def _second_differences(rewards: Floats, pairs: Sequence[tuple[int, int]], w: int) -> Floats:
    """Second differences of rewards (points, rows). The points are the rows themselves, moves up in each dimension,
    moves down, and pairs of moves."""
    curvature = np.empty((rewards.shape[1], w, w))
    for i in range(w):
        curvature[:, i, i] = rewards[1 + i] - 2 * rewards[0] + rewards[1 + w + i]
    for k, (i, j) in enumerate(pairs):
        mixed = rewards[1 + 2 * w + k] - rewards[1 + i] - rewards[1 + j] + rewards[0]
        curvature[:, i, j] = curvature[:, j, i] = mixed
    return curvature
