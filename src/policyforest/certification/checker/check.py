"""The check of a certificate: does each cell go where the file states, and do cells cover the successors?

It needs the policy, the model and the file, and takes nothing from the search on trust:

1. the file is undamaged, its digests are those of the policy and the model, and its angles are angles for both;
2. for each cell, this module's own bound of where a move takes it lies within the successor in the file;
3. the successor of a cell of rank 0 is covered by cells of rank 0, that of rank r > 0 by cells of rank at most r - 1;
4. no two cells overlap, all lie in the start box, those of rank 0 in the target if there is one, and no state leaves
   the box between moves;
5. the share of steps that a model's clause states has the confidence that it states.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyforest._support.arguments import Array, Floats
from policyforest.certification.certificate_container import read_certificate_file
from policyforest.certification.checker.angles import TurnedLoop
from policyforest.certification.checker.cover import all_covered, disjoint
from policyforest.certification.checker.forms import AffineForm, own_error, unknown
from policyforest.certification.checker.identity import require_clause, require_model, require_policy
from policyforest.certification.checker.rejection import RejectedError, require
from policyforest.certification.checker.shapes import require_shapes
from policyforest.certification.checker.successors import (
    RunningPolicy,
    read_of_equations,
    read_of_model,
    sample_dimensions,
    step_of_equations,
    step_of_model,
)
from policyforest.certification.equations import Equations
from policyforest.policy.policy import Policy

# Cells that are bounded at a time; more would take more memory.
BLOCK = 4096


@dataclass(frozen=True)
class CertificateCheck:
    """Whether a certificate holds, and the reason if it does not."""

    accepted: bool
    reason: str
    cells: int = 0

    def __bool__(self) -> bool:
        return self.accepted


def check_certificate(path: str | os.PathLike[str], policy: Any, model: Any = None) -> CertificateCheck:
    """Checks a certificate file against a policy and, if given, the model that it must be about.

    Args:
        path: A ``.pfcert`` file.
        policy: The policy that runs.
        model: `Equations`, or the `model` of a certificate, whose disturbances and held-out steps are also compared;
            None: the model in the file.
    """
    if not (model is None or isinstance(model, Equations) or hasattr(model, "held_out_errors")):
        raise TypeError(f"model: is {model!r}, must be Equations or the model of a certificate")
    try:
        content, arrays = read_certificate_file(path)
    except ValueError as error:
        return CertificateCheck(False, str(error))
    try:
        plain = require_policy(content, policy)
        require_model(content, arrays, model)
        require_clause(content["clause"])
        require_shapes(content, arrays, plain)
        _Checked(content, arrays, plain).check()
    except RejectedError as error:
        return CertificateCheck(False, str(error))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        return CertificateCheck(False, f"the file does not describe a certificate: {error}")
    return CertificateCheck(True, "every cell goes where the certificate says", len(arrays["cells"]))


@dataclass(frozen=True, eq=False)
class _Checked:
    content: Mapping[str, Any]
    arrays: Mapping[str, Array]
    policy: Policy

    @property
    def n(self) -> int:
        return len(self.arrays["box"])

    def check(self) -> None:
        """Checks the cells: where they lie, where they go, and whether their successors are covered."""
        self._check_boxes()
        turns = self._turns()
        read = self._seen if self._sensors() else None
        TurnedLoop(self.arrays, self.policy, turns, self.content["steps"], self._step, read).require()
        lo, hi = self.arrays["cells"][:, : self.n], self.arrays["cells"][:, self.n :]
        for first in range(0, len(lo), BLOCK):
            block = slice(first, first + BLOCK)
            low, high = self._after(lo[block], hi[block], turns)
            stated = self.arrays["successors"][block]
            held = (stated[:, : self.n] <= low).all(axis=1) & (high <= stated[:, self.n :]).all(axis=1)
            require(held.all(), f"cell {first + int(np.argmin(held))} may go further than its successor states")
        self._check_cover(lo, hi, turns)

    def _check_boxes(self) -> None:
        a, n = self.arrays, self.n
        lo, hi, ranks = a["cells"][:, :n], a["cells"][:, n:], a["ranks"]
        start, box, target = a["start"], a["box"], a["target"]
        require((lo < hi).all(), "a cell is empty")
        require(disjoint(lo, hi), "two cells overlap")
        require(
            (lo >= np.nextafter(start[:, 0], -np.inf)).all() and (hi <= start[:, 1]).all(),
            "a cell leaves the start box",
        )
        known = self.policy.state_box
        plain = [] if self._sensors() else [d for d in range(n) if d not in self.policy.periodic]
        inside = (box[plain, 0] >= known[plain, 0]).all() and (box[plain, 1] <= known[plain, 1]).all()
        require(inside, "its box leaves the policy's box")
        require((box[:, 0] <= start[:, 0]).all() and (start[:, 1] <= box[:, 1]).all(), "the start box leaves the box")
        require((ranks >= 0).all() and (len(target) > 0 or (ranks == 0).all()), "a rank is wrong")
        if len(target):
            first = ranks == 0
            inside = (lo[first] >= np.nextafter(target[:, 0], -np.inf)).all() and (hi[first] <= target[:, 1]).all()
            require(inside, "a cell of rank 0 leaves the target")
            horizon = self.content["horizon"]
            require(horizon is None or ranks.max() <= horizon, "a rank is beyond the horizon")

    def _turns(self) -> dict[int, tuple[float, float]]:
        told = self.content["model"]["equations"]
        if told is None:
            turns = {int(d): (float(low), float(high)) for d, low, high in self.arrays["model.periodic"]}
            turns |= {int(min(row[:2])): (-math.pi, math.pi) for row in self.arrays.get("model.circles", ())}
            return {place: turns[d] for place, d in enumerate(sample_dimensions(self.arrays)) if d in turns}
        names = list(told["formulas"])
        return {names.index(name): (float(low), float(high)) for name, (low, high) in told["angles"].items()}

    def _after(self, lo: Floats, hi: Floats, turns: Mapping[int, tuple[float, float]]) -> tuple[Floats, Floats]:
        """Lower and upper sides of the boxes to which a move takes cells."""
        running, disturbance = RunningPolicy.of(self.policy, self.content["precision"]), self.arrays["disturbance"]
        actions, steps, n, cells = len(running.forests), self.content["steps"], self.n, len(lo)
        m = len(disturbance)
        pairs = n + m + actions if steps == 1 else n
        middle = lo / 2 + hi / 2
        half = np.nextafter(np.maximum(hi - middle, middle - lo), np.inf)
        states = [unknown(middle[:, d], half[:, d], d, pairs) for d in range(n)]
        low, high = np.nextafter(lo, np.inf), hi
        for step in range(steps):
            first = n + step * (m + actions + n)
            noise = [unknown(*_middle_half(side, cells), first + w, pairs) for w, side in enumerate(disturbance)]
            states = self._step(states, running.bound(*self._read(states, low, high), first + m), noise)
            states = [x.wider(float(self.arrays["error"][d])) for d, x in enumerate(states)]
            ranges = [x.range() for x in states]
            low, high = np.stack([a for a, _ in ranges], axis=1), np.stack([b for _, b in ranges], axis=1)
            if step + 1 < steps:
                self._require_inside(low, high, turns)
                states = [own_error(x, first + m + actions + d) for d, x in enumerate(states)]
        return low, high

    def _sensors(self) -> bool:
        """Whether the policy reads something other than the states."""
        told = self.content["model"]["equations"]
        return "model.circles" in self.arrays if told is None else bool(told.get("sensors"))

    def _read(self, states: list[AffineForm], low: Floats, high: Floats) -> tuple[list[AffineForm], Floats, Floats]:
        """The inputs of the policy, with their lower and upper sides."""
        if not self._sensors():
            return states, low, high
        read = self._seen(states)
        ranges = [x.range() for x in read]
        return read, np.stack([a for a, _ in ranges], axis=1), np.stack([b for _, b in ranges], axis=1)

    def _seen(self, states: list[AffineForm]) -> list[AffineForm]:
        told = self.content["model"]["equations"]
        return read_of_model(self.arrays, states) if told is None else read_of_equations(told, states)

    def _step(self, states: list[AffineForm], actions: list[AffineForm], noise: list[AffineForm]) -> list[AffineForm]:
        told = self.content["model"]["equations"]
        if told is not None:
            return step_of_equations(told, states, [*actions, *noise])
        return step_of_model(self.arrays, states, actions)

    def _require_inside(self, low: Floats, high: Floats, turns: Mapping[int, tuple[float, float]]) -> None:
        for d, (least, most) in enumerate(self.arrays["box"]):
            circle = d in turns and most - least >= (turns[d][1] - turns[d][0]) * (1 - 1e-12)
            inside = circle or ((low[:, d] >= least).all() and (high[:, d] <= most).all())
            require(inside, "a state may leave the box between two moves")

    def _check_cover(self, lo: Floats, hi: Floats, turns: Mapping[int, tuple[float, float]]) -> None:
        ranks, successors = self.arrays["ranks"], self.arrays["successors"]
        for rank in np.unique(ranks):
            asked, allowed = ranks == rank, ranks <= max(int(rank) - 1, 0)
            pieces = [(successors[asked, : self.n], successors[asked, self.n :])]
            for d, turn in turns.items():
                pieces = [part for low, high in pieces for part in self._turned(low, high, d, turn)]
            for low, high in pieces:
                require(
                    all_covered((lo[allowed], hi[allowed]), (low, high)).all(), "a successor is not covered by cells"
                )

    def _turned(self, low: Floats, high: Floats, d: int, turn: tuple[float, float]) -> list[tuple[Floats, Floats]]:
        """The same ranges of an angle within the turn that the cells are in; two parts where they cross its end."""
        first, last = self.arrays["start"][d]
        length = turn[1] - turn[0]
        moved = length * np.floor((low[:, d] - first) / length)
        slip = 1e-12 * (np.abs(low[:, d]) + np.abs(high[:, d]) + length)
        a, b = low[:, d] - moved - slip, high[:, d] - moved + slip
        if last - first < length * (1 - 1e-12):
            return [_with_side(low, high, d, a, b)]
        whole = b - a >= length
        parts = [
            _with_side(
                low, high, d, np.where(whole, first, np.maximum(a, first)), np.where(whole, last, np.minimum(b, last))
            )
        ]
        for beyond, begin, end in (
            (a < first, a + length, np.full_like(a, last)),
            (b > last, np.full_like(a, first), b - length),
        ):
            some = beyond & ~whole
            side = _with_side(low, high, d, np.maximum(begin, first), np.minimum(end, last))
            parts.append((side[0][some], side[1][some]))
        return parts


def _middle_half(side: Floats, cells: int) -> tuple[Floats, Floats]:
    low, high = float(side[0]), float(side[1])
    middle = low / 2 + high / 2
    half = np.nextafter(max(high - middle, middle - low), np.inf) if high > low else 0.0
    return np.full(cells, middle), np.full(cells, half)


def _with_side(low: Floats, high: Floats, d: int, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    low, high = low.copy(), high.copy()
    low[:, d], high[:, d] = a, b
    return low, high
