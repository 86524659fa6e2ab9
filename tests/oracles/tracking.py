"""Paths in a learned model step by step, and the backward pass of the iterative LQR in the order of its equations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from oracles.learned_model import Model, Outcome, Row, clip, step

LARGEST, AT_BOUND = 1e12, 1e-9
Box = Sequence[tuple[float, float]]


class Path(NamedTuple):
    states: list[Row]
    actions: list[Row]
    outcomes: list[Outcome]


def walk(
    model: Model, start: Row, act: Callable[[int, Row], Row], residuals: Sequence[int] | None, n_steps: int,
    action_box: Box, reach: Box,
) -> Path:  # fmt: skip
    """One episode: actions are clipped to their box, states to their reach."""
    path = Path([start], [], [])
    for t in range(n_steps):
        here = path.states[-1]
        wanted = act(t, here)
        path.actions.append(
            [clip(0.0 if math.isnan(a) else a, *side) for a, side in zip(wanted, action_box, strict=True)]
        )
        path.outcomes.append(step(model, here, path.actions[-1], None if residuals is None else residuals[t], False))
        ahead = path.outcomes[-1].next_state
        path.states.append([
            clip(old if math.isnan(new) else new, *side) for old, new, side in zip(here, ahead, reach, strict=True)
        ])  # fmt: skip
    return path


def apart(a: float, b: float, low: float, high: float) -> float:
    """a - b, the short way round."""
    if high == low:
        return a - b
    turn = high - low
    return a - b + turn / 2 - math.floor((a - b + turn / 2) / turn) * turn - turn / 2


def nearest(row: Row, places: Sequence[Row], scale: Row, periods: Box) -> float:
    """The distance from a row to the nearest place."""
    distances = []
    for place in places:
        away = [apart(a, b, *side) for a, b, side in zip(row, place, periods, strict=True)]
        distances.append(math.hypot(*(x / unit for x, unit in zip(away, scale, strict=True))))
    return min(distances, default=math.inf)


def backward(
    slopes: np.ndarray, gradient: np.ndarray, curvature: np.ndarray, sizes: np.ndarray, actions: np.ndarray,
    damping: np.ndarray, box: np.ndarray, discount: float, flattest: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """One trajectory: a' = a + k + K (s - x) that is best by the expansion of every step."""
    n_steps, d, w = slopes.shape
    m = w - d
    change, feedback = np.zeros((n_steps, m)), np.zeros((n_steps, m, d))
    first, second = np.zeros(d), np.zeros((d, d))
    for t in reversed(range(n_steps)):
        f = finite(slopes[t])
        q = finite(gradient[t]) + discount * f.T @ first
        form = part(finite(curvature[t]), lambda v: np.minimum(v, 0.0)) / np.outer(sizes, sizes)
        form = form + discount * f.T @ second @ f
        own, cross = form[d:, d:], form[d:, :d]
        inverse = part(finite((own + own.T) / 2 - np.diag(damping)), lambda v: 1.0 / np.minimum(v, -flattest))
        move, gain = -inverse @ q[d:], -inverse @ cross
        stuck = ((actions[t] >= box[:, 1] - AT_BOUND) & (move > 0)) | (
            (actions[t] <= box[:, 0] + AT_BOUND) & (move < 0)
        )
        move[stuck], gain[stuck] = 0.0, 0.0
        change[t], feedback[t] = move, gain
        first = finite(q[:d] + gain.T @ (q[d:] + own @ move) + cross.T @ move)
        second = form[:d, :d] + gain.T @ own @ gain + gain.T @ cross + cross.T @ gain
        second = finite((second + second.T) / 2)
    return change, feedback


def finite(numbers: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.clip(numbers, -LARGEST, LARGEST), nan=0.0)


def part(matrix: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The matrix with the same eigenvectors and other eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(function(values)) @ vectors.T
