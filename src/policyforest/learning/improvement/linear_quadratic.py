"""The linear-quadratic regulator of the samples: a start policy for systems that are nearly linear.

Dynamics s' = A s + B a + c and a quadratic reward are fitted by least squares, the cost is made convex, and the
discounted Riccati equation is solved by iteration:

    P = Q + gamma A' P A - (N + gamma A' P B) (R + gamma B' P B)^-1 (N + gamma A' P B)'.
"""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.least_squares import ridge
from policyforest.learning.dynamics.regression import ModelInputs
from policyforest.learning.improvement.simple_policies import make_policy, one_leaf
from policyforest.policy.policy import Policy

ITERATIONS = 500
# The curvature of the cost is at least this part of its largest one.
FLATTEST = 1e-4


def linear_quadratic_policy(data: Transitions, discount: float) -> Policy | None:
    """The regulator as a policy of one linear leaf per action; None if there is none for the samples."""
    living = ~data.terminals
    if not living.any():
        return None
    n, m = data.states.shape[1], data.actions.shape[1]
    inputs = ModelInputs(np.concatenate([data.states, data.actions], axis=1)[living], {})
    if inputs.n_quadratic > living.sum():
        return None
    centre, scale = inputs.table[:, 0], inputs.table[:, 1]
    ahead = (data.next_states[living] - centre[:n]) / scale[:n]
    moved = np.stack([ridge(inputs.linear, column) for column in ahead.T])
    cost = _cost(-ridge(inputs.quadratic, data.rewards[living]), n + m)
    gain = _riccati(_augmented(moved, n), moved[:, 1 + n :], cost, n, discount)
    if gain is None:
        return None
    slopes = -gain[:, :n] / scale[:n] * scale[n:, None]
    offsets = centre[n:] - scale[n:] * gain[:, n] - slopes @ centre[:n]
    leaves = [one_leaf(data.state_box(), np.append(slopes[j], offsets[j])) for j in range(m)]
    return make_policy(data, leaves, "linear-quadratic")


def _augmented(moved: Floats, n: int) -> Floats:
    """The dynamics of (z, 1)."""
    return np.block([[moved[:, 1 : 1 + n], moved[:, :1]], [np.zeros((1, n)), np.ones((1, 1))]])


def _cost(coefficients: Floats, d: int) -> Floats:
    """The convex quadratic form of (z, u, 1) nearest to a fitted one."""
    form = np.zeros((d + 1, d + 1))
    form[:d, d] = form[d, :d] = coefficients[1 : 1 + d] / 2
    form[np.triu_indices(d)] = coefficients[1 + d :]
    form[:d, :d] = (form[:d, :d] + form[:d, :d].T) / 2
    values, vectors = np.linalg.eigh(form[:d, :d])
    values = np.maximum(values, FLATTEST * max(float(values.max()), 1e-12))
    form[:d, :d] = (vectors * values) @ vectors.T
    return form


def _riccati(a: Floats, b: Floats, cost: Floats, n: int, discount: float) -> Floats | None:
    """The gain K of u = -K (z, 1); None where the iteration diverges."""
    d = len(cost) - 1
    state, action = [*range(n), d], list(range(n, d))
    q, r, cross = cost[np.ix_(state, state)], cost[np.ix_(action, action)], cost[np.ix_(state, action)]
    b = np.concatenate([b, np.zeros((1, b.shape[1]))])
    p: Floats = q.copy()
    gain: Floats = np.zeros((len(action), n + 1))
    for _ in range(ITERATIONS):
        mixed = cross + discount * a.T @ p @ b
        with np.errstate(all="ignore"):
            gain = np.asarray(np.linalg.solve(r + discount * b.T @ p @ b, mixed.T), dtype=np.float64)
            p = q + discount * a.T @ p @ a - mixed @ gain
            p = (p + p.T) / 2  # rounding would make it drift
        if not np.isfinite(p).all() or np.abs(p).max() > 1e12:
            return None
    return gain
