"""Sequences of actions that earn much in a simulation: the cross-entropy method, then the slopes of the model.

`search_sequence` looks everywhere: it draws sequences whose actions are held for several steps, keeps the best tenth,
and draws around them. `Trajectories.improve` climbs from there (iterative linear-quadratic regulator; Li and Todorov,
2004): the model and the reward are expanded around each trajectory by finite differences, the Riccati recursion gives
a change of every action and its feedback on the state,

    a_t = u_t + alpha k_t + K_t (s_t - x_t),

and the step alpha that earns most is taken. Many trajectories are improved side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.learning.improvement.simulation import Simulation

SEQUENCES, ELITE, HELD = 240, 0.1, (1, 3, 8, 20)
# Trajectories grow from this part of their length by that part at a time: of an unstable system whole sequences end in
# a bad optimum (cart-pole: worth 25 to 28 when improved at once, 28.9 when grown).
GROWN_FROM, GROWN_BY = 1 / 3, 1 / 9
# Differences for slopes, as parts of a dimension's spread and of the action's range.
DIFFERENCE = 0.02
STEPS = np.array([1.0, 0.5, 0.2, 0.06])
EASIER, HARDER, FIRST_DAMPING, MOST_DAMPING = 1 / 3, 5.0, 1e-2, 1e6
FLATTEST, LARGEST = 1e-8, 1e12
# Improvement ends when the best step gains less than this part of a trajectory's worth.
SETTLED = 1e-4


def search_sequence(
    simulation: Simulation, start: Floats, n_steps: int, n_rounds: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """The best sequence of actions (steps, dimensions) that was found from a state, and its worth."""
    low, high = simulation.action_box.T
    middle, half = (low + high) / 2, (high - low) / 2
    mean, spread = np.zeros((n_steps, len(low))), np.full((n_steps, len(low)), 0.8)
    kept = np.zeros((1, n_steps, len(low)))
    best, top = kept[0], -np.inf
    for _ in range(n_rounds):
        drawn = np.concatenate([_held(rng, SEQUENCES // len(HELD), n_steps, len(low), hold) for hold in HELD])
        tried = np.concatenate([kept, np.clip(mean + spread * drawn, -1.0, 1.0)])
        starts = np.repeat(start[None], len(tried), axis=0)
        worth = simulation.worth(simulation.follow(starts, middle + half * tried)[1])
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
    """Sequences of actions, the states that they pass, their feedback and what they are worth; one row each."""

    states: Floats
    actions: Floats
    feedback: Floats
    """K_t (rows, steps, action dimensions, state dimensions)"""
    worth: Floats

    @classmethod
    def of(cls, simulation: Simulation, starts: Floats, actions: Floats) -> Trajectories:
        """The trajectories of sequences, without feedback yet."""
        states, rewards = simulation.follow(starts, actions)
        feedback = np.zeros((*actions.shape, starts.shape[1]))
        return cls(states, actions.copy(), feedback, simulation.worth(rewards))

    @classmethod
    def grown(
        cls, simulation: Simulation, starts: Floats, actions: Floats, n_steps: int, rounds: tuple[int, int]
    ) -> Trajectories:
        """Trajectories of `n_steps` that begin with sequences of actions, improved while they grow; `rounds` of
        improvement at each length, and at the last."""
        by, rest = max(1, round(GROWN_BY * n_steps)), np.zeros((len(starts), n_steps, actions.shape[2]))
        rest = rest + np.clip(0.0, *simulation.action_box.T)
        made = cls.of(simulation, starts, actions[:, :n_steps])
        while made.actions.shape[1] < n_steps:
            made.improve(simulation, rounds[0])
            longer = np.concatenate([made.actions, rest[:, :by]], axis=1)[:, :n_steps]
            made = cls.of(simulation, starts, longer)
        made.improve(simulation, rounds[1])
        return made

    def improve(self, simulation: Simulation, n_rounds: int) -> None:
        """Climbs until nothing is gained."""
        damping = np.full(len(self.states), FIRST_DAMPING)
        for number in range(n_rounds):
            change, self.feedback = self._backward(simulation, damping)
            gained = self._forward(simulation, change)
            damping = np.where(gained > 0, np.maximum(EASIER * damping, 1e-6), HARDER * damping)
            settled = gained <= SETTLED * np.abs(self.worth)
            if number >= 1 and (settled & ((gained > 0) | (damping > 10 * FIRST_DAMPING))).all():
                break
            if (damping > MOST_DAMPING).all():
                break

    def _forward(self, simulation: Simulation, change: Floats) -> Floats:
        """Takes for each trajectory the step that earns most; returns what it gains, 0 where none does."""
        n, n_steps, m = self.actions.shape
        k, low, high = len(STEPS), *simulation.action_box.T
        states = np.empty((k, n, n_steps + 1, self.states.shape[2]))
        actions, rewards, alive = np.empty((k, n, n_steps, m)), np.empty((k, n, n_steps)), np.ones(k * n)
        states[:, :, 0] = self.states[:, 0]
        for t in range(n_steps):
            apart = simulation.apart(states[:, :, t], np.broadcast_to(self.states[:, t], states[:, :, t].shape))
            taken = self.actions[:, t] + STEPS[:, None, None] * change[:, t]
            taken = taken + np.einsum("bin,abn->abi", self.feedback[:, t], apart)
            actions[:, :, t] = np.clip(np.nan_to_num(taken), low, high)
            ahead, earned, chance = simulation.step(
                states[:, :, t].reshape(k * n, -1), actions[:, :, t].reshape(k * n, m)
            )
            states[:, :, t + 1], rewards[:, :, t] = ahead.reshape(k, n, -1), (alive * earned).reshape(k, n)
            alive = alive * (1.0 - chance)
        worth = simulation.worth(rewards)
        best = worth.argmax(axis=0)
        gained = np.maximum(worth[best, np.arange(n)] - self.worth, 0.0)
        rows = np.flatnonzero(gained > 0)
        self.states[rows], self.actions[rows] = states[best[rows], rows], actions[best[rows], rows]
        self.worth[rows] = worth[best[rows], rows]
        return np.asarray(gained)

    def _backward(self, simulation: Simulation, damping: Floats) -> tuple[Floats, Floats]:
        """The changes of the actions and their feedback, from the last step to the first."""
        n, n_steps, m = self.actions.shape
        d = self.states.shape[2]
        slopes, gradient, curvature = _expanded(
            simulation, self.states[:, :-1].reshape(n * n_steps, d), self.actions.reshape(n * n_steps, m)
        )
        slopes, gradient = slopes.reshape(n, n_steps, d, d + m), gradient.reshape(n, n_steps, d + m)
        curvature = curvature.reshape(n, n_steps, d + m, d + m)
        low, high = simulation.action_box.T
        damped = np.diag(simulation.reward_scale / ((high - low) / 2) ** 2) * damping[:, None, None]
        change, feedback = np.empty((n, n_steps, m)), np.empty((n, n_steps, m, d))
        first, second = np.zeros((n, d)), np.zeros((n, d, d))
        for t in range(n_steps - 1, -1, -1):
            f = slopes[:, t]
            q = gradient[:, t] + simulation.discount * np.einsum("bni,bn->bi", f, first)
            form = curvature[:, t] + simulation.discount * f.transpose(0, 2, 1) @ second @ f
            own, cross = form[:, d:, d:], form[:, d:, :d]
            inverse = _negative_inverse(own - damped, FLATTEST * simulation.reward_scale)
            move, gain = -np.einsum("bij,bj->bi", inverse, q[:, d:]), -inverse @ cross
            here = self.actions[:, t]
            stuck = ((here >= high - 1e-9) & (move > 0)) | ((here <= low + 1e-9) & (move < 0))
            move, gain = np.where(stuck, 0.0, move), np.where(stuck[:, :, None], 0.0, gain)
            change[:, t], feedback[:, t] = move, gain
            back = gain.transpose(0, 2, 1)
            first = q[:, :d] + np.einsum(
                "bni,bi->bn", back, q[:, d:] + np.einsum("bij,bj->bi", own, move)
            ) + np.einsum("bin,bi->bn", cross, move)  # fmt: skip
            mixed = back @ cross
            second = form[:, :d, :d] + back @ own @ gain + mixed + mixed.transpose(0, 2, 1)
            first, second = _finite(first), _finite((second + second.transpose(0, 2, 1)) / 2)
        return change, feedback


def _finite(numbers: Floats) -> Floats:
    """What overflowed is no slope: it counts as flat."""
    return np.asarray(np.nan_to_num(np.clip(numbers, -LARGEST, LARGEST), nan=0.0))


def _negative_inverse(form: Floats, flattest: float) -> Floats:
    values, vectors = np.linalg.eigh(_finite(form))
    values = np.minimum(values, -flattest)
    return np.asarray((vectors / values[:, None, :]) @ vectors.transpose(0, 2, 1))


def _expanded(simulation: Simulation, states: Floats, actions: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes of the next state, and gradient and curvature of the reward, in (s, a); the curvature made concave."""
    here = np.concatenate([states, actions], axis=1)
    n, d = states.shape
    w = here.shape[1]
    low, high = simulation.action_box.T
    size = np.concatenate([DIFFERENCE * simulation.spread, DIFFERENCE * (high - low)])
    moves = np.concatenate([np.zeros((1, w)), np.diag(size), -np.diag(size)])
    rows = (here[None] + moves[:, None]).reshape(-1, w)
    ahead, rewards, _ = simulation.step(rows[:, :d], rows[:, d:])
    ahead, rewards = ahead.reshape(len(moves), n, d), rewards.reshape(len(moves), n)
    up, down = slice(1, 1 + w), slice(1 + w, 1 + 2 * w)
    slopes = simulation.apart(ahead[up], ahead[down]) / (2 * size[:, None, None])
    gradient = (rewards[up] - rewards[down]) / (2 * size[:, None])
    curvature = np.empty((n, w, w))
    for i in range(w):
        curvature[:, i, i] = rewards[1 + i] - 2 * rewards[0] + rewards[1 + w + i]
    pairs = [(i, j) for i in range(w) for j in range(i)]
    both = np.concatenate([here + moves[1 + i] + moves[1 + j] for i, j in pairs])
    linear = np.concatenate([ahead[0] + slopes[i] * size[i] + slopes[j] * size[j] for i, j in pairs])
    together = simulation.reward(both[:, :d], both[:, d:], linear).reshape(len(pairs), n)
    for k, (i, j) in enumerate(pairs):
        mixed = together[k] - rewards[1 + i] - rewards[1 + j] + rewards[0]
        curvature[:, i, j] = curvature[:, j, i] = mixed
    values, vectors = np.linalg.eigh(_finite(curvature))
    concave = (vectors * np.minimum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return _finite(slopes.transpose(1, 2, 0)), _finite(gradient.T), concave / np.outer(size, size)
