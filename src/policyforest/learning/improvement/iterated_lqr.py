"""Best trajectories in the learned model, many at a time: iterative LQR with bounded actions.

Around a trajectory the model is linear and the reward quadratic, by differences over a part of the data's spread. With
V quadratic at the end, backwards over the steps

    Q(z) = r(z) + gamma V(f(z)),   z = (s, a),   a = a_t + k_t + K_t (s - s_t) maximises it within the action box,

and a run forwards with this law, for several lengths of k, gives the next trajectory. A length is accepted if it earns
more; if none does, the step is shortened (Levenberg and Marquardt). All arrays are in units of the data's spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.learning.improvement.rollouts import ModelRollouts

# Differences are taken over this part of the spread of a state dimension, and of the action box.
STENCIL = 0.05
# The curvature of the reward is computed again after so many iterations, and slopes from both sides with it; between
# them slopes come from one side, which takes half as long.
CURVATURE = 6
LENGTHS = (1.0, 0.5, 0.2, 0.05)
LESS, MORE = 0.3, 8.0
FIRST_DAMPING, LAST_DAMPING = 1e-3, 1e3
# An iteration that gains less than this part of the value's spread ends the search.
SETTLED = 1e-4


@dataclass(frozen=True)
class ModelPaths:
    """B trajectories of T steps: (B, T, …)."""

    states: Floats
    actions: Floats
    gains: Floats
    """How the best action changes with the state, da/ds: (B, T, m, n)"""
    weights: Floats
    """How much an action matters: the curvature of Q along it, in units of the action box: (B, T, m)"""
    values: Floats
    """Discounted return of each trajectory"""
    alive: Floats
    """Chance that step t is reached: (B, T)"""

    def or_better(self, other: ModelPaths) -> ModelPaths:
        """Of each pair, the trajectory that earns more."""
        better = other.values > self.values

        def pick(new: Floats, old: Floats) -> Floats:
            return np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old) if new.ndim > 1 or new.size else new

        return ModelPaths(
            pick(other.states, self.states), pick(other.actions, self.actions), pick(other.gains, self.gains),
            pick(other.weights, self.weights), pick(other.values, self.values), pick(other.alive, self.alive),
        )  # fmt: skip


@dataclass(frozen=True)
class _Expansion:
    """The model around a trajectory, in scaled units."""

    jacobian: Floats
    """d s' / d (s, a): (B, T, n, n + m)"""
    gradient: Floats
    hessian: Floats
    """Second derivatives of the reward; negative semidefinite"""
    going: Floats
    """Chance that the step does not end: (B, T)"""


@dataclass
class TrajectorySearch:
    """Improves trajectories in one member of a model's ensemble."""

    rollouts: ModelRollouts
    member: int
    n_steps: int
    n_iterations: int = 12
    scale: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        data = self.rollouts.model.transitions
        spread = data.states.std(axis=0)
        for d, (low, high) in data.periodic.items():
            spread[d] = min(spread[d], (high - low) / 4)
        self.box = bounds(data.action_space)
        width = (self.box[:, 1] - self.box[:, 0]) / 2
        self.n, self.m = len(spread), len(width)
        self.scale = np.concatenate([np.where(spread > 1e-9, spread, 1.0), width])
        self.periods = data.periodic
        self.varied = [*self._varied_states(), *range(self.n, self.n + self.m)]

    def _varied_states(self) -> list[int]:
        """The state dimensions that a step depends on; the others are computed from these, or never change."""
        model = self.rollouts.model
        known = model.known_reward is not None or model.known_terminal is not None
        if known or model.end.kind != "never":
            return list(range(self.n))
        read = {*model.structure.inputs, *model.reward.read, *(source for _, source in model.structure.copies)}
        return sorted(d for d in read if d < self.n)

    def follow(self, starts: Floats, act: Callable[[Floats], Floats]) -> ModelPaths:
        """The trajectories of a policy from these starts."""
        b, n_steps = len(starts), self.n_steps
        states, actions, alive = np.empty((b, n_steps, self.n)), np.empty((b, n_steps, self.m)), np.empty((b, n_steps))
        values, weight, state = np.zeros(b), np.ones(b), starts
        for t in range(n_steps):
            states[:, t], actions[:, t], alive[:, t] = (
                state,
                np.clip(act(state), self.box[:, 0], self.box[:, 1]),
                weight,
            )
            state, earned, going = self._step(state, actions[:, t])
            values += self.rollouts.discount**t * weight * earned
            weight = weight * going
        return ModelPaths(states, actions, np.empty(0), np.empty(0), values, alive)

    def improve(self, starts: Floats, here: ModelPaths) -> ModelPaths:
        """The best trajectories found from these starts, beginning with given ones."""
        b = len(starts)
        damping = np.full(b, FIRST_DAMPING)
        gains, hessian = np.zeros((b, self.n_steps, self.m, self.n)), None
        for number in range(self.n_iterations):
            around = self._expand(here, hessian, sides=1) if number % CURVATURE else self._expand(here, None)
            hessian = around.hessian
            shift, gains, _ = self._backward(around, here, damping)
            ahead, better = self._line(starts, here, shift, gains)
            gained = np.where(better, ahead.values - here.values, 0.0)
            here = here.or_better(ahead)
            damping = np.clip(np.where(better, LESS * damping, MORE * damping), 1e-6, LAST_DAMPING)
            if gained.mean() < SETTLED * (here.values.std() + 1e-12) and number > 2 and not better.mean() > 0.5:
                break
        _, gains, weights = self._backward(self._expand(here, hessian), here, np.full(b, FIRST_DAMPING))
        scaled = gains * self.scale[self.n :, None] / self.scale[None, : self.n]
        return ModelPaths(here.states, here.actions, scaled, weights, here.values, here.alive)

    def _step(self, states: Floats, actions: Floats) -> tuple[Floats, Floats, Floats]:
        native = self.rollouts.member(self.member)
        states, actions = np.ascontiguousarray(states), np.ascontiguousarray(actions)
        ahead, rewards, chance, paid = self.rollouts.step(native, states, actions, None)
        return ahead, (1.0 - chance) * rewards + chance * paid, 1.0 - chance

    def _difference(self, first: Floats, second: Floats) -> Floats:
        """first - second, by the shorter way round."""
        gap = first - second
        for d, (low, high) in self.periods.items():
            period = high - low
            gap[..., d] -= period * np.round(gap[..., d] / period)
        return gap

    def _expand(self, here: ModelPaths, hessian: Floats | None, sides: int = 2) -> _Expansion:
        """The model around trajectories, by differences to one side or to both; with a known curvature or a new one."""
        b, t_end = here.states.shape[:2]
        nz, h, varied = self.n + self.m, STENCIL, self.varied
        centre = np.concatenate([here.states, here.actions], axis=2).reshape(b * t_end, nz)
        units, k = h * np.eye(nz)[varied], len(varied)
        pairs = [(i, j) for i in range(k) for j in range(i)] if hessian is None else []
        back = [] if sides == 1 else [*-units]
        moves = np.array([np.zeros(nz), *units, *back, *(units[i] + units[j] for i, j in pairs)])
        ahead, earned, going = self._moved(centre, moves)
        plus, minus = slice(1, 1 + k), slice(0, 1) if sides == 1 else slice(1 + k, 1 + 2 * k)
        change = self._difference(ahead[plus], ahead[minus]) / self.scale[: self.n]
        jacobian, gradient = np.zeros((b, t_end, self.n, nz)), np.zeros((b, t_end, nz))
        jacobian[..., varied] = np.moveaxis(change / (sides * h), 0, -1).reshape(b, t_end, self.n, k)
        gradient[..., varied] = ((earned[plus] - earned[minus]) / (sides * h)).T.reshape(b, t_end, k)
        if hessian is None:
            hessian = self._curvature(earned / h**2, pairs).reshape(b, t_end, nz, nz)
        if sides == 1:
            gradient -= 0.5 * h * np.einsum("btii->bti", hessian)
        return _Expansion(jacobian, gradient, hessian, going[0].reshape(b, t_end))

    def _curvature(self, earned: Floats, pairs: list[tuple[int, int]]) -> Floats:
        """The negative part of the second derivatives, from rewards at the moved points divided by the square of h."""
        k, nz, varied = len(self.varied), self.n + self.m, np.array(self.varied)
        plus, minus = earned[1 : 1 + k], earned[1 + k : 1 + 2 * k]
        small = np.empty((earned.shape[1], k, k))
        small[:, range(k), range(k)] = (plus + minus - 2 * earned[0]).T
        for at, (i, j) in enumerate(pairs):
            small[:, i, j] = small[:, j, i] = earned[1 + 2 * k + at] - plus[i] - plus[j] + earned[0]
        found = np.zeros((earned.shape[1], nz, nz))
        found[:, varied[:, None], varied[None, :]] = _concave(small)
        return found

    def _moved(self, centre: Floats, moves: Floats) -> tuple[Floats, Floats, Floats]:
        """Steps from points moved by each of `moves` (scaled): (moves, points, …)."""
        points = (centre[None] + (moves * self.scale)[:, None]).reshape(-1, centre.shape[1])
        for d, (low, high) in self.periods.items():
            points[:, d] = low + (points[:, d] - low) % (high - low)
        ahead, earned, going = self._step(points[:, : self.n], points[:, self.n :])
        k = len(moves)
        return ahead.reshape(k, -1, self.n), earned.reshape(k, -1), going.reshape(k, -1)

    def _backward(self, around: _Expansion, here: ModelPaths, damping: Floats) -> tuple[Floats, Floats, Floats]:
        """The moves, the gains and the weights of the actions (see `ModelPaths`)."""
        b, t_end, m = here.actions.shape
        n, unit = self.n, self.scale[self.n :]
        shift, gains, weights = np.zeros((b, t_end, m)), np.zeros((b, t_end, m, n)), np.zeros((b, t_end, m))
        slope, curve = np.zeros((b, n)), np.zeros((b, n, n))
        low, high = (self.box[:, 0] - here.actions) / unit, (self.box[:, 1] - here.actions) / unit
        for t in reversed(range(t_end)):
            f, go = around.jacobian[:, t], self.rollouts.discount * around.going[:, t]
            q = around.gradient[:, t] + go[:, None] * np.einsum("bij,bi->bj", f, slope)
            qq = around.hessian[:, t] + go[:, None, None] * (f.transpose(0, 2, 1) @ curve @ f)
            k, gain = _best_move(q, qq, n, damping, low[:, t], high[:, t])
            shift[:, t], gains[:, t], weights[:, t] = k, gain, np.abs(np.einsum("bii->bi", qq[:, n:, n:]))
            law = np.concatenate([np.broadcast_to(np.eye(n), (b, n, n)), gain], axis=1)
            moved = np.concatenate([np.zeros((b, n)), k], axis=1)
            slope = np.einsum("bji,bj->bi", law, q + np.einsum("bij,bj->bi", qq, moved))
            curve = law.transpose(0, 2, 1) @ qq @ law
            curve = (curve + curve.transpose(0, 2, 1)) / 2
        return shift, gains, weights

    def _line(
        self, starts: Floats, here: ModelPaths, shift: Floats, gains: Floats
    ) -> tuple[ModelPaths, NDArray[np.bool_]]:
        """Plays all lengths of the step side by side; the best of each trajectory, and whether it earns more."""
        k, b = len(LENGTHS), len(starts)
        actions, law, states = (np.concatenate([x] * k) for x in (here.actions, gains, here.states))
        shifts = np.concatenate([length * shift for length in LENGTHS])
        steps = iter(range(self.n_steps))

        def act(state: Floats) -> Floats:
            t = next(steps)
            off = self._difference(state, states[:, t]) / self.scale[: self.n]
            moved: Floats = shifts[:, t] + np.einsum("bij,bj->bi", law[:, t], off)
            return actions[:, t] + moved * self.scale[self.n :]

        played = self.follow(np.concatenate([starts] * k), act)
        pick = played.values.reshape(k, b).argmax(axis=0) * b + np.arange(b)
        best = ModelPaths(
            played.states[pick], played.actions[pick], played.gains, played.weights, played.values[pick],
            played.alive[pick],
        )  # fmt: skip
        return best, best.values > here.values


def _best_move(q: Floats, qq: Floats, n: int, damping: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The move of the action that maximises the quadratic within [low, high], and its gain; bounded actions stay."""
    m = q.shape[1] - n
    quu, qus, qu = -qq[:, n:, n:], qq[:, n:, :n], q[:, n:]
    size = np.einsum("bii->b", np.abs(quu)) / m + 1e-9
    quu = quu + (damping * size + 1e-9)[:, None, None] * np.eye(m)
    quu = _positive(quu)
    free = np.ones(qu.shape, dtype=bool)
    for _ in range(m + 1):
        held = np.where(free[:, :, None] & free[:, None, :], quu, np.eye(m))
        fixed = np.where(free, 0.0, np.where(qu > 0, high, low))
        right = np.where(free, qu - np.einsum("bij,bj->bi", quu, fixed), fixed)
        k = np.linalg.solve(held, right[..., None])[..., 0]
        outside = free & ((k > high) | (k < low))
        if not outside.any():
            break
        free &= ~outside
    k = np.clip(k, low, high)
    gain = np.linalg.solve(held, np.where(free[:, :, None], qus, 0.0))
    return k, gain


def _positive(matrices: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrices + matrices.transpose(0, 2, 1)) / 2)
    floor = 1e-3 * np.abs(values).max(axis=1, keepdims=True) + 1e-12
    found: Floats = (vectors * np.maximum(values, floor)[:, None]) @ vectors.transpose(0, 2, 1)
    return found


def _concave(matrices: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrices)
    found: Floats = (vectors * np.minimum(values, 0.0)[:, None]) @ vectors.transpose(0, 2, 1)
    return found
