"""The best of several actions at a cost per state that has a bound: candidates, then exact line searches.

Branch and bound finds the true maximum of F(s, ·), but may visit any number of boxes on the way. Here F is evaluated at
a fixed set of points of the action box. From the best two of them, one action dimension after the other goes to its
exact maximum with the others fixed. From the better of the two results, all dimensions are searched once more. The
final result is at least as good as the best point and never better than the true maximum. On learned Q forests it
misses at most 0.2% of the spread over the actions on average (docs/learning.md).
"""

from __future__ import annotations

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Floats

# The number of points of the action box besides its middle, the step of their lattice, and the number of best points
# from which a search starts. (One start misses twice as much, four gain little.) The number of points is prime, and
# with this step the points of the lattice are far from each other.
N_CANDIDATES, LATTICE_STEP, STARTS = 31, 12, 2
# States whose candidates are evaluated together: 15 MB of rows for ten inputs.
CHUNK = 4096

Maxima = tuple[Floats, Floats, Floats, Floats]
"""Value (n,); action, lower and upper ends of its box (n, action dimensions)"""


def bounded_best_action(forest: _core.Forest, rows: Floats, actions: list[int], n_threads: int) -> Maxima:
    """The maxima at rows of inputs, whose action entries are not read; the boxes are the points themselves."""
    starts = _starts(forest, rows, actions, n_threads)
    value = _sweep(forest, starts, actions, n_threads).reshape(STARTS, len(rows))
    x = starts.reshape(STARTS, *rows.shape)[value.argmax(axis=0), np.arange(len(rows))]
    best = _sweep(forest, x, actions, n_threads)
    action = np.ascontiguousarray(x[:, actions])
    return best, action, action, action


def _sweep(forest: _core.Forest, x: Floats, actions: list[int], n_threads: int) -> Floats:
    """Moves one action after the other to its best value, in place; returns the values of F."""
    value = np.empty(0)
    for d in actions:
        value, best, _, _ = _core.line_search(forest, x, d, n_threads)
        x[:, d] = best[:, 0]
    return value


def candidate_points(n_dims: int) -> Floats:
    """The middle of the unit cube, and a lattice in it whose points are evenly spaced along every dimension (Korobov).

    The lattice is computed from whole numbers alone, so that all machines agree."""
    steps = [pow(LATTICE_STEP, j, N_CANDIDATES) for j in range(n_dims)]
    lattice = (np.outer(np.arange(N_CANDIDATES), steps) % N_CANDIDATES + 0.5) / N_CANDIDATES
    return np.concatenate([np.full((1, n_dims), 0.5), lattice])


def _starts(forest: _core.Forest, rows: Floats, actions: list[int], n_threads: int) -> Floats:
    """All rows with their best candidates as actions, then all rows with their second best."""
    box = forest.box[actions]
    points = box[:, 0] + candidate_points(len(actions)) * (box[:, 1] - box[:, 0])
    starts = np.tile(rows, (STARTS, 1, 1))
    for begin in range(0, len(rows), CHUNK):
        chunk = rows[begin : begin + CHUNK]
        asked = np.repeat(chunk, len(points), axis=0)
        asked[:, actions] = np.tile(points, (len(chunk), 1))
        found = forest.predict(asked, n_threads).reshape(len(chunk), len(points))
        best = np.argsort(-found, axis=1, kind="stable")[:, :STARTS]
        starts[:, begin : begin + CHUNK, actions] = points[best.T]
    return starts.reshape(-1, rows.shape[1])
