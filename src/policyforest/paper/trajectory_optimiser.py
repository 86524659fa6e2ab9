"""The best forces from one start: differential dynamic programming with limits of the action, from many first guesses.

The method is control-limited DDP (Tassa et al., 2014) for one action. It uses second derivatives of the rewards and
first derivatives of the system (iterative LQR). All guesses are improved at once, as the core steps many states per
call. The return of a path is measured in the system itself, so it is a lower bound on the optimum. Many guesses that
end at the same return make it likely that there is nothing better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.environments.problems.systems import NativeSystem

STEP = 1e-5
"""The step of the central differences"""
SHARES = 0.5 ** np.arange(8)
"""The fractions of an improvement that are tried; the best one is taken"""
LEAST_DAMPING, MOST_DAMPING = 1e-9, 1e6


@dataclass(frozen=True)
class Task:
    """One action for `steps` steps from `start`; the reward of a step is exp(-sum_d (weights_d state_d²)) of the state
    after it."""

    system: NativeSystem
    start: Floats
    steps: int
    weights: Floats
    largest: float
    """The action lies within plus and minus this"""
    angles: tuple[int, ...] = ()

    def apart(self, a: Floats, b: Floats) -> Floats:
        """a - b, the short way round for angles."""
        difference: Floats = a - b
        for d in self.angles:
            difference[..., d] = (difference[..., d] + math.pi) % (2 * math.pi) - math.pi
        return difference

    def moved(self, states: Floats, actions: Floats) -> Floats:
        """The states one control step later, for arrays (..., n) of states and (...) of actions."""
        rows = np.ascontiguousarray(states.reshape(-1, states.shape[-1]))
        next_states, _, _ = self.system.step_many(rows, actions.reshape(-1, 1), np.zeros((len(rows), 0)))
        return next_states.reshape(states.shape)

    def rewards(self, states: Floats) -> Floats:
        found: Floats = np.exp(-(states**2 @ self.weights))
        return found


@dataclass(frozen=True)
class Paths:
    """Many paths of a task: `states` (paths, steps + 1, n), `actions` (paths, steps), and the return of each."""

    states: Floats
    actions: Floats
    returns: Floats


@dataclass(frozen=True)
class Model:
    """The cost to go near each path, as a quadratic function of the change of the state."""

    gradient: Floats
    curvature: Floats


def optimised(task: Task, guesses: Floats, iterations: int) -> Paths:
    """The paths of some first guesses (paths, steps) of the actions, each improved `iterations` times."""
    still = np.zeros((*guesses.shape, len(task.start)))
    paths = _best_share(task, Paths(still, guesses, np.full(len(guesses), -np.inf)), np.zeros_like(guesses), still)
    damping = np.ones(len(guesses))
    for _ in range(iterations):
        change, gains = _backward(task, paths, damping)
        tried = _best_share(task, paths, change, gains)
        better = tried.returns > paths.returns
        damping = np.clip(np.where(better, damping / 3, damping * 5), LEAST_DAMPING, MOST_DAMPING)
        paths = Paths(
            np.where(better[:, None, None], tried.states, paths.states),
            np.where(better[:, None], tried.actions, paths.actions),
            np.where(better, tried.returns, paths.returns),
        )
    return paths


def _derivatives(task: Task, paths: Paths) -> tuple[Floats, Floats]:
    """The Jacobians (paths, steps, n, n) and (paths, steps, n) of the system along the paths."""
    states, n = paths.states[:, :-1], len(task.start)
    columns = []
    for d in range(n + 1):
        by = STEP * np.eye(n + 1)[d]
        ends = [task.moved(states + sign * by[:n], paths.actions + sign * by[n]) for sign in (1, -1)]
        columns.append(task.apart(*ends) / (2 * STEP))
    return np.stack(columns[:n], axis=-1), columns[n]


def _backward(task: Task, paths: Paths, damping: Floats) -> tuple[Floats, Floats]:
    """The changes of the actions and their feedback on the state, from quadratic models of the cost to go.

    The cost is one minus the reward; its second derivative is taken without the part that can be negative."""
    by_state, by_action = _derivatives(task, paths)
    n = len(task.start)
    model = Model(np.zeros((len(damping), n)), np.zeros((len(damping), n, n)))
    change, gains = np.zeros(paths.actions.shape), np.zeros((*paths.actions.shape, n))
    for t in reversed(range(task.steps)):
        ahead = paths.states[:, t + 1]
        steepness = 2 * task.rewards(ahead)[:, None] * task.weights
        model = Model(model.gradient + steepness * ahead, model.curvature + steepness[:, :, None] * np.eye(n))
        room = np.stack([-task.largest - paths.actions[:, t], task.largest - paths.actions[:, t]])
        change[:, t], gains[:, t], model = _step_back(model, by_state[:, t], by_action[:, t], damping, room)
    return change, gains


def _step_back(model: Model, a: Floats, b: Floats, damping: Floats, room: Floats) -> tuple[Floats, Floats, Model]:
    """The best change of one action and its feedback, and the model of the cost to go before that action.

    The next state changes by a times the change of the state plus b times that of the action, which lies in `room`."""
    pulled = np.einsum("pij,pj->pi", model.curvature, b)
    slope, bend = np.einsum("pi,pi->p", b, model.gradient), np.einsum("pi,pi->p", b, pulled)
    mixed = np.einsum("pij,pi->pj", a, pulled)
    damped = bend + damping * np.einsum("pi,pi->p", b, b)
    wanted = -slope / damped
    free = (wanted > room[0]) & (wanted < room[1])
    change = np.clip(wanted, *room)
    gains = np.where(free[:, None], -mixed / damped[:, None], 0.0)
    gradient = np.einsum("pij,pi->pj", a, model.gradient) + mixed * change[:, None]
    gradient += gains * (slope + bend * change)[:, None]
    crossed = gains[:, :, None] * mixed[:, None, :]
    curvature = np.einsum("pij,pik,pkl->pjl", a, model.curvature, a) + crossed + crossed.swapaxes(1, 2)
    curvature += bend[:, None, None] * gains[:, :, None] * gains[:, None, :]
    return change, gains, Model(gradient, curvature)


def _best_share(task: Task, paths: Paths, change: Floats, gains: Floats) -> Paths:
    """Each path with the share of its change that gives the highest return."""
    n_paths, steps = paths.actions.shape
    states = np.empty((len(SHARES), n_paths, steps + 1, len(task.start)))
    actions = np.empty((len(SHARES), n_paths, steps))
    states[:, :, 0] = task.start
    for t in range(steps):
        away = task.apart(states[:, :, t], paths.states[:, t]) if t else np.zeros_like(states[:, :, 0])
        wanted = paths.actions[:, t] + SHARES[:, None] * change[:, t] + np.einsum("spi,pi->sp", away, gains[:, t])
        actions[:, :, t] = np.clip(wanted, -task.largest, task.largest)
        states[:, :, t + 1] = task.moved(states[:, :, t], actions[:, :, t])
    returns = task.rewards(states[:, :, 1:]).sum(axis=-1)
    best, each = returns.argmax(axis=0), np.arange(n_paths)
    return Paths(states[best, each], actions[best, each], returns[best, each])
