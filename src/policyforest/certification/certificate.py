"""A certificate: the set as boxes, the successors of each box, and the statement that they prove."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policyforest._support.arguments import Floats, box_array, finite_array
from policyforest.certification.certified_model import CertifiedModel
from policyforest.certification.certified_policy import PolicyPrecision
from policyforest.certification.modest_numbers import percent


@dataclass(frozen=True)
class UnprovedStates:
    """Where and why the rest of the box is not certified."""

    undecided: float
    """The share of the box that is neither proved nor ruled out"""
    ruled_out: float
    """The share of the box in cells from which a disturbance drives every state out of the set"""
    nearest_cell: tuple[tuple[float, float], ...] | None
    """The cell nearest to the set among those that are not proved, rows (lo, hi)"""
    reason: str
    counterexample: tuple[float, ...] | None = None
    """A state that is not certified, from which a simulated trajectory leaves the box"""
    counterexample_steps: int | None = None
    """The number of steps after which it leaves"""


@dataclass(frozen=True, eq=False)
class Certificate:
    """A set of states that a closed loop never leaves: cells (lo, hi], and a bound on where a move takes each cell.

    A move is `steps` control steps. Cells of rank 0 move into cells of rank 0. Cells of rank r > 0 move into cells of
    a lower rank, so they reach rank 0, which lies in the target, within r moves. Between moves no state leaves
    `box`. A certificate with at least one cell is true: ``if certificate: ...``
    """

    policy_digest: str
    precision: PolicyPrecision
    model: CertifiedModel
    box: Floats
    start: Floats
    """The box that was cut into cells; the same as `box` if one control step is a move"""
    target: Floats | None
    horizon: int | None
    steps: int
    slack: Floats
    cells: Floats
    """Rows (lo …, hi …)"""
    successors: Floats
    """Rows (lo …, hi …): after a move, every state of the cell is inside of this box"""
    ranks: NDArray[np.int64]
    rest: UnprovedStates
    interrupted: bool = False
    software: str = ""
    created: str = ""

    def __bool__(self) -> bool:
        return len(self.cells) > 0

    def __repr__(self) -> str:
        return (
            f"Certificate({len(self.cells)} cells, {percent(self.share)} of the box, {self.precision} policy on "
            f"{self.model.kind}, {self.steps} control steps per move)"
        )

    @property
    def n_states(self) -> int:
        """The number of state dimensions."""
        return len(self.box)

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """The lower and the upper sides of the cells."""
        return self.cells[:, : self.n_states], self.cells[:, self.n_states :]

    @property
    def share(self) -> float:
        """The share of the start box (by default the whole box) that is certified."""
        lo, hi = self.sides
        width = self.start[:, 1] - self.start[:, 0]
        return float(min(1.0, ((hi - lo) / width).prod(axis=1).sum())) if len(self.cells) else 0.0

    @property
    def most_steps(self) -> int:
        """With a target: after this many control steps, every trajectory of the set is in the target for ever."""
        return int(self.ranks.max(initial=0)) * self.steps

    def contains(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Whether each row is a state of the set; angles may be any number of turns away."""
        rows = finite_array("states", states, 2).copy()
        if rows.shape[1] != self.n_states:
            raise ValueError(f"states: has {rows.shape[1]} columns, must have {self.n_states}")
        for d, (low, high) in self.model.periodic.items():
            rows[:, d] -= (high - low) * np.floor((rows[:, d] - self.start[d, 0]) / (high - low))
        return np.array([self._cell_of(row) >= 0 for row in rows], dtype=np.bool_)

    def contains_box(self, box: ArrayLike) -> bool:
        """Whether all states of a closed box, rows (lo, hi), are in the set."""
        asked = box_array("box", box, self.n_states)
        return covered(asked[:, 0], asked[:, 1], *self.sides)

    def statement(self) -> str:
        """The proved statement, in words."""
        if not self:
            return f"Nothing is proved: {self.rest.reason}"
        from policyforest.certification.certificate_words import statement

        return statement(self)

    def summary(self) -> dict[str, Any]:
        """Plain data for reports."""
        from policyforest.certification.certificate_words import summary

        return summary(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a ``.pfcert`` file: arrays and JSON, never code."""
        from policyforest.certification.certificate_files import save_certificate

        save_certificate(self, path)

    def _cell_of(self, state: Floats) -> int:
        lo, hi = self.sides
        found = np.flatnonzero(((state > lo) & (state <= hi)).all(axis=1))
        return int(found[0]) if len(found) else -1


def covered(low: Floats, high: Floats, lo: Floats, hi: Floats) -> bool:
    """Whether cells (lo, hi] cover a closed box: one cell is removed from it, and the remaining pieces are checked
    recursively."""
    pieces = [(np.nextafter(low, -np.inf), high, np.arange(len(lo)))]
    while pieces:
        a, b, near = pieces.pop()
        near = near[((lo[near] < b) & (hi[near] > a)).all(axis=1)]
        if len(near) == 0:
            return False
        overlap = (np.minimum(hi[near], b) - np.maximum(lo[near], a)).prod(axis=1)
        cell = near[int(overlap.argmax())]
        for d in range(len(a)):
            if lo[cell, d] > a[d]:
                upper = b.copy()
                upper[d] = lo[cell, d]
                pieces.append((a.copy(), upper, near))
                a = a.copy()
                a[d] = lo[cell, d]
            if hi[cell, d] < b[d]:
                lower = a.copy()
                lower[d] = hi[cell, d]
                pieces.append((lower, b.copy(), near))
                b = b.copy()
                b[d] = hi[cell, d]
    return True
