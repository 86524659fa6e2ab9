"""Trajectories of the true system from states that are certified on a learned model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats, box_array
from policyforest.certification.certificate import Certificate
from policyforest.certification.model_error import model_errors
from policyforest.data.transitions import Transitions
from policyforest.environments.problems.native import NativeProblem
from policyforest.environments.problems.systems import NativeSystem
from policyforest.policy.policy import Policy


def simulate(
    certificate: Certificate,
    policy: Policy,
    problem: NativeProblem,
    starts: int,
    steps: int,
    rng: np.random.Generator,
    inner: ArrayLike,
) -> dict[str, int]:
    """Counts steps whose model error exceeds its bound, and steps that leave the set, with the error within or beyond
    the bound.

    A trajectory that leaves the set starts again at another state of the set. `inner` is a box inside the set that
    contains most states."""
    program, lookup = certificate.model.program(), SetLookup(certificate, inner)
    here = lookup.draw(starts, rng)
    beyond, left_within, left_beyond = np.zeros(steps, dtype=np.int64), 0, 0
    for k in range(steps):
        actions = policy.act_batch(here)
        after = _after(problem.system, here, actions, problem.draw_noise(rng, starts))
        predicted = np.asarray(program.run(np.hstack([here, actions])))
        off = np.flatnonzero((np.abs(after - predicted) > certificate.model.error).any(axis=1))
        left = lookup.outside(after)
        beyond[k] = len(off)
        left_beyond += len(np.intersect1d(left, off))
        left_within += len(np.setdiff1d(left, off))
        here = after
        if len(left):
            here[left] = lookup.draw(len(left), rng)
    counts = {"beyond": int(beyond.sum()), "beyond_first": int(beyond[0])}
    counts |= {"left_within": left_within, "left_beyond": left_beyond}
    return counts | {"starts": starts, "simulated": starts * steps}


def _after(system: NativeSystem, states: Floats, actions: Floats, noise: Floats) -> Floats:
    """The states after a control step; pendulums have a faster method."""
    if isinstance(system, _core.InvertedPendulum):
        return system.step_rows(states, actions, noise)
    return system.step_many(states, actions, noise)[0]


def fresh_steps(certificate: Certificate, fresh: Transitions) -> dict[str, int]:
    """Counts steps beyond the model's bound among new steps, which were collected in the same way as the held-out
    steps."""
    step = certificate.model.learned
    assert step is not None
    beyond = (np.abs(model_errors(step, fresh)) > certificate.model.error).any(axis=1)
    return {"fresh": len(fresh), "fresh_beyond": int(beyond.sum())}


class SetLookup:
    """A table over the sides of the cells of a two-dimensional set, which finds whether states are in the set."""

    def __init__(self, certificate: Certificate, inner: ArrayLike) -> None:
        self._inner = box_array("inner", inner, 2)
        assert certificate.contains_box(self._inner)
        self._lo, self._hi = certificate.sides
        self._edges = [np.unique(np.concatenate([self._lo[:, d], self._hi[:, d]])) for d in range(2)]
        self._table = np.zeros(tuple(len(edges) + 1 for edges in self._edges), dtype=np.bool_)
        first, last = (
            np.stack([np.searchsorted(self._edges[d], side[:, d]) for d in range(2)], axis=1)
            for side in (self._lo, self._hi)
        )
        for (i, j), (k, m) in zip(first + 1, last + 1, strict=True):
            self._table[i:k, j:m] = True

    def outside(self, states: Floats) -> NDArray[np.intp]:
        """The indices of the rows that are not in the set."""
        (a, b), (c, d) = self._inner
        x, y = states[:, 0], states[:, 1]
        asked = np.flatnonzero(~((x >= a) & (x <= b) & (y >= c) & (y <= d)))
        rows = [np.searchsorted(self._edges[d], states[asked, d]) for d in range(2)]
        inside: NDArray[np.bool_] = self._table[rows[0], rows[1]]
        return np.asarray(asked[~inside], dtype=np.intp)

    def draw(self, number: int, rng: np.random.Generator) -> Floats:
        """States drawn uniformly from the set."""
        volume = (self._hi - self._lo).prod(axis=1)
        cells = rng.choice(len(volume), size=number, p=volume / volume.sum())
        return self._hi[cells] - rng.random((number, 2)) * (self._hi[cells] - self._lo[cells])
