"""Least-squares policy iteration (Lagoudakis & Parr, 2003) for any problem with finitely many choices.

The value of choice b for an input x is linear, with a block of weights for each choice: Q(x, b) = w_b . phi(x).
For a policy pi, each sample (x, b, r, x') with discount g requires that r - delta . w is small, with

    delta = [phi(x) in block b] - g * sum_c pi(c | x') [phi(x') in block c].

LSTDQ returns the solution of A w = y, with

    A = sum psi delta^T,    y = sum psi r,
    psi = [phi(x) in block b] - beta * g * sum_c pi(c | x') [phi(x') in block c].

beta = 0 is plain LSTDQ, the fixed point of the projected Bellman equation; beta = 1 minimises the Bellman residual;
numbers in between give the hybrid of Johns, Petrik & Mahadevan (2009). The fixed point is unbiased when x' is random,
but for policies far from the one that gathered the samples it can be far from their value, even of the wrong sign. The
residual is always a well-posed least-squares problem, but it is biased when x' is random. Therefore each sample has its
own beta.

Policy iteration evaluates a policy, takes the greedy policy in the values, and repeats this until no sample's next
choice changes. The first policy chooses at random. Samples are usually gathered in the same way, so the fixed point is
reliable for this policy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policyforest._support.arguments import Floats, real_number, whole_number
from policyforest.baselines.bases import Features
from policyforest.data.sample_checks import Ints

# The number of samples whose features are in memory at a time.
BLOCK_ROWS = 4_096


@dataclass(frozen=True)
class Decisions:
    """Samples of a problem with finitely many choices.

    | field | shape | |
    |---|---|---|
    | `inputs`, `next_inputs` | (n, D) | x and x' |
    | `blocks` | (n,) | the choice that was made |
    | `rewards`, `discounts` | (n,) | r and g, which is 0 where x' is terminal |
    | `residual` | (n,) | beta |
    | `menus` | (m, k) | the choices that can be offered, as rows of blocks |
    | `next_menu` | (n,) | the row of `menus` that x' offers |
    """

    inputs: Floats
    blocks: Ints
    rewards: Floats
    next_inputs: Floats
    discounts: Floats
    residual: Floats
    menus: Ints
    next_menu: Ints

    @property
    def n_blocks(self) -> int:
        return int(self.menus.max()) + 1


@dataclass(frozen=True)
class LeastSquaresProgress:
    """How an iteration of policies ended: `converged` if no sample's next choice changed in the end."""

    n_iterations: int
    converged: bool


def policy_iteration(
    features: Features, decisions: Decisions, *, max_iterations: int, ridge: float
) -> tuple[Floats, LeastSquaresProgress]:
    """The weights (blocks, K) after alternating `lstdq` and greedy improvement."""
    offered = decisions.menus[decisions.next_menu]
    policy = np.zeros((len(offered), decisions.n_blocks))
    np.put_along_axis(policy, offered, 1.0 / offered.shape[1], axis=1)
    chosen: Ints | None = None
    for iteration in range(1, max_iterations + 1):
        weights = lstdq(features, decisions, policy, ridge)
        greedy = _greedy(features, weights, decisions.next_inputs, offered)
        if chosen is not None and np.array_equal(greedy, chosen):
            return weights, LeastSquaresProgress(iteration, converged=True)
        chosen, policy = greedy, np.eye(decisions.n_blocks)[greedy]
    return weights, LeastSquaresProgress(max_iterations, converged=False)


def check_iteration(discount: float, residual: float, max_iterations: int, ridge: float) -> None:
    """The settings of policy iteration."""
    real_number("discount", discount, at_least=0.0, below=1.0)
    real_number("residual", residual, at_least=0.0, below=float(np.nextafter(1.0, 2.0)))
    whole_number("max_iterations", max_iterations, at_least=1)
    real_number("ridge", ridge, at_least=0.0)


def lstdq(features: Features, decisions: Decisions, policy: Floats, ridge: float) -> Floats:
    """The weights (blocks, K) of the policy that makes the next choices with probabilities `policy` (n, blocks).

    `ridge` times the mean square of a feature is added to the diagonal of A, for blocks with too few samples.
    """
    size = decisions.n_blocks * features.n_features
    A, y, power = np.zeros((size, size)), np.zeros(size), 0.0
    made = np.eye(decisions.n_blocks)[decisions.blocks]
    for start in range(0, len(decisions.inputs), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        now = _in_blocks(features(decisions.inputs[rows]), made[rows])
        then = _in_blocks(features(decisions.next_inputs[rows]), policy[rows] * decisions.discounts[rows, np.newaxis])
        psi = now - decisions.residual[rows, np.newaxis] * then
        A += psi.T @ (now - then)
        y += psi.T @ decisions.rewards[rows]
        power += float(np.square(now).sum())
    A[np.diag_indices(size)] += ridge * power / size
    solved = np.linalg.lstsq(A, y, rcond=None)[0]
    return np.asarray(solved, dtype=np.float64).reshape(decisions.n_blocks, -1)


def _in_blocks(phi: Floats, shares: Floats) -> Floats:
    """Each block holds phi times its share: (n, K), (n, blocks) -> (n, blocks * K)."""
    return (shares[:, :, np.newaxis] * phi[:, np.newaxis, :]).reshape(len(phi), -1)


def _greedy(features: Features, weights: Floats, inputs: Floats, offered: Ints) -> Ints:
    """The best of the blocks that are offered to each input; of equal ones, the first."""
    best = np.empty(len(inputs), dtype=np.int64)
    for start in range(0, len(inputs), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        values = np.take_along_axis(features(inputs[rows]) @ weights.T, offered[rows], axis=1)
        best[rows] = values.argmax(axis=1)
    return np.take_along_axis(offered, best[:, np.newaxis], axis=1)[:, 0]
