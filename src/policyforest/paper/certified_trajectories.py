"""Trajectories of a true system from states that are certified on a learned model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.certification.certificate import Certificate
from policyforest.environments.problems.native import NativeProblem
from policyforest.policy.policy import Policy


def simulate(
    certificate: Certificate,
    policy: Policy,
    problem: NativeProblem,
    starts: int,
    steps: int,
    rng: np.random.Generator,
) -> dict[str, int]:
    """Counts steps beyond the model's bound, and states that leave the set in steps within it and beyond it.

    A trajectory that leaves starts again at another state of the set."""
    program, lookup = certificate.model.program(), SetLookup(certificate)
    here = lookup.draw(starts, rng)
    beyond = left_within = left_beyond = 0
    for _ in range(steps):
        actions = policy.act_batch(here)
        after, _, _ = problem.system.step_many(here, actions, problem.draw_noise(rng, starts))
        predicted = np.asarray(program.run(np.ascontiguousarray(np.hstack([here, actions]))))
        within = (np.abs(after - predicted) <= certificate.model.error).all(axis=1)
        left = ~lookup.inside(after)
        beyond += int((~within).sum())
        left_within += int((left & within).sum())
        left_beyond += int((left & ~within).sum())
        here = np.where(left[:, np.newaxis], lookup.draw(starts, rng), after) if left.any() else after
    counts = {"beyond": beyond, "left_within": left_within, "left_beyond": left_beyond}
    return counts | {"starts": starts, "simulated": starts * steps}


class SetLookup:
    """Whether states are in a set of two dimensions, by a table over the sides of its cells."""

    def __init__(self, certificate: Certificate) -> None:
        self._lo, self._hi = certificate.sides
        self._edges = [np.unique(np.concatenate([self._lo[:, d], self._hi[:, d]])) for d in range(2)]
        self._table = np.zeros(tuple(len(edges) + 1 for edges in self._edges), dtype=np.bool_)
        first, last = (
            np.stack([np.searchsorted(self._edges[d], side[:, d]) for d in range(2)], axis=1)
            for side in (self._lo, self._hi)
        )
        for (i, j), (k, m) in zip(first + 1, last + 1, strict=True):
            self._table[i:k, j:m] = True

    def inside(self, states: Floats) -> NDArray[np.bool_]:
        rows = [np.searchsorted(self._edges[d], states[:, d]) for d in range(2)]
        return np.asarray(self._table[rows[0], rows[1]])

    def draw(self, number: int, rng: np.random.Generator) -> Floats:
        """States drawn uniformly from the set."""
        volume = (self._hi - self._lo).prod(axis=1)
        cells = rng.choice(len(volume), size=number, p=volume / volume.sum())
        return self._hi[cells] - rng.random((number, 2)) * (self._hi[cells] - self._lo[cells])
