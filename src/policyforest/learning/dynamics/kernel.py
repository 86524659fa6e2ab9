"""The mean of a Gaussian process with one length per input, for few samples of a smooth system.

    f(z) = sum_i w_i exp(-|(z - c_i) / l|² / 2),

where z are the standardised inputs, angles as sine and cosine. The lengths l, the height and the noise maximise the
likelihood of a part of the samples; inputs that do not matter get long lengths. The weights are those of the process
itself if there are at most `CENTRES` samples. Otherwise they are those of its projection on that many centres
(Quiñonero-Candela and Rasmussen, 2005, "deterministic training conditional").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats

# Centres of the expansion: the cost of a step of the model is proportional to them. (Cart-pole, 600 samples with fast
# turns among them: the typical error of the angular speed is 0.0025 with 150, 0.0003 with 300, 0.0002 with all.)
CENTRES = 300
# The likelihood is maximised on this many samples in so many steps; more steps change the lengths little.
LIKELIHOOD_SAMPLES, LIKELIHOOD_STEPS = 220, 60
# The search ends when so many steps have added less than this to the logarithm of the likelihood.
PATIENCE, SETTLED = 8, 0.1
# Bounds of the logarithms of lengths, and of the noise as a fraction of the outputs' spread.
LENGTHS, NOISE = (np.log(0.2), np.log(50.0)), (np.log(3e-4), np.log(1.0))
JITTER = 1e-8


class KernelShape(NamedTuple):
    """The parameters of a Gaussian process."""

    lengths: Floats
    height: float
    """Standard deviation of the function, in units of the outputs' spread"""
    noise: float
    """Standard deviation of the noise of the outputs, in the same units"""


class FittedKernel(NamedTuple):
    """The expansion."""

    lengths: Floats
    centres: Floats
    weights: Floats


def covariance(shape: KernelShape, a: Floats, b: Floats) -> Floats:
    """k(a_i, b_j) for rows of inputs."""
    left, right = a / shape.lengths, b / shape.lengths
    apart = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None] - 2.0 * left @ right.T
    return np.asarray(shape.height**2 * np.exp(-0.5 * np.maximum(apart, 0.0)))


def kernel_shape(inputs: Floats, y: Floats, seed: int, start: KernelShape | None = None) -> KernelShape:
    """The shape with the greatest likelihood, found by steps whose size follows the signs of the slope (Rprop)."""
    rows = np.random.default_rng([seed, 6]).permutation(len(y))[:LIKELIHOOD_SAMPLES]
    z, target = inputs[rows], y[rows] / max(float(y.std()), 1e-300)
    d = z.shape[1]
    place = np.concatenate([np.full(d, np.log(2.0)), [0.0, np.log(0.1)]])
    if start is not None:
        place = np.log(np.concatenate([start.lengths, [start.height, start.noise]]))
    low = np.concatenate([np.full(d, LENGTHS[0]), [np.log(0.05), NOISE[0]]])
    high = np.concatenate([np.full(d, LENGTHS[1]), [np.log(20.0), NOISE[1]]])
    step, last = np.full(d + 2, 0.2), np.zeros(d + 2)
    best, top, tops = place, -np.inf, list[float]()
    for _ in range(LIKELIHOOD_STEPS):
        value, slope = _likelihood(place, z, target)
        if value > top:
            best, top = place, value
        tops.append(top)
        if len(tops) > PATIENCE and top - tops[-1 - PATIENCE] < SETTLED:
            break
        agree = np.sign(slope) * np.sign(last)
        step = np.clip(np.where(agree > 0, 1.2 * step, np.where(agree < 0, 0.5 * step, step)), 1e-3, 0.7)
        last = np.where(agree < 0, 0.0, slope)
        place = np.clip(place + step * np.sign(last), low, high)
    shape = np.exp(best)
    return KernelShape(shape[:d], float(shape[d]), float(shape[d + 1]))


def _likelihood(place: Floats, z: Floats, y: Floats) -> tuple[float, Floats]:
    """The logarithm of the likelihood of outputs, and its slope in the logarithms of the shape."""
    d, shape = z.shape[1], np.exp(place)
    k = covariance(KernelShape(shape[:d], float(shape[d]), float(shape[d + 1])), z, z)
    try:
        factor = np.linalg.cholesky(k + (shape[d + 1] ** 2 + JITTER) * np.eye(len(y)))
    except np.linalg.LinAlgError:
        return -np.inf, np.ones(len(place))  # longer lengths and more noise are easier
    half = np.linalg.inv(factor)
    inverse = half.T @ half
    weights = inverse @ y
    moved = np.outer(weights, weights) - inverse
    g = moved * k
    scaled = z / shape[:d]
    lengths = (g.sum(axis=1) @ scaled**2) - np.einsum("id,id->d", scaled, g @ scaled)
    noise = shape[d + 1] ** 2 * float(np.trace(moved))
    value = -0.5 * float(y @ weights) - float(np.log(np.diag(factor)).sum())
    return value, np.concatenate([lengths, [float(g.sum()), noise]])


def fit_kernel(shape: KernelShape, inputs: Floats, y: Floats, rows: NDArray[np.intp]) -> FittedKernel:
    """The weights on some rows, which may occur several times: a row that occurs twice counts twice."""
    names, count = np.unique(rows, return_counts=True)
    spread = max(float(y.std()), 1e-300)
    noise = (shape.noise * spread) ** 2 + JITTER * (shape.height * spread) ** 2
    scaled = shape._replace(height=shape.height * spread)
    z, target = inputs[names], y[names]
    if len(names) <= CENTRES:
        k = covariance(scaled, z, z) + np.diag(noise / count)
        return FittedKernel(shape.lengths, z, np.asarray(scaled.height**2 * np.linalg.solve(k, target)))
    centres = z[spread_rows(z / shape.lengths, CENTRES)]
    # Least squares in the coordinates in which the prior of the weights is round: the normal equations would square the
    # condition, which cost all digits at 420 samples of a cart-pole.
    own = covariance(scaled, centres, centres) + JITTER * scaled.height**2 * np.eye(len(centres))
    root = np.linalg.cholesky(own)
    design = np.linalg.solve(root, covariance(scaled, centres, z)).T * np.sqrt(count)[:, None]
    q, r = np.linalg.qr(np.concatenate([design, np.sqrt(noise) * np.eye(len(centres))]))
    found = np.linalg.solve(r, q[: len(z)].T @ (np.sqrt(count) * target))
    return FittedKernel(shape.lengths, centres, np.asarray(scaled.height**2 * np.linalg.solve(root.T, found)))


def spread_rows(points: Floats, number: int) -> NDArray[np.intp]:
    """Rows that lie far from each other: each is the farthest from all rows before it."""
    chosen = np.empty(number, dtype=np.intp)
    chosen[0] = 0
    nearest = ((points - points[0]) ** 2).sum(axis=1)
    for i in range(1, number):
        chosen[i] = int(nearest.argmax())
        nearest = np.minimum(nearest, ((points - points[chosen[i]]) ** 2).sum(axis=1))
    return chosen
