"""The search for a certificate: `certify` checks its arguments, runs the rounds of the core, and reports the states
that are not proved.

The core cuts a box into cells, bounds where each goes, and removes cells until the remaining cells only move into each
other (`core/include/policyforest/certify/invariant_search.hpp`). What a round has proved stays proved, so a search that
is interrupted returns the best set so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats, box_array, real_number, threads, whole_number
from policyforest._support.version import __version__
from policyforest.certification.angle_checks import require_angles
from policyforest.certification.certificate import Certificate
from policyforest.certification.certified_model import CertifiedModel, model_to_certify, require_samples
from policyforest.certification.certified_policy import (
    PolicyPrecision,
    acting_policy,
    known_box,
    native_policy,
    policy_to_certify,
    turn_pairs,
)
from policyforest.certification.counterexamples import unproved_states
from policyforest.certification.digests import policy_digest
from policyforest.certification.moves import steps_per_move
from policyforest.data.transitions import Transitions
from policyforest.policy.policy import Policy

# A margin on the sides of successors, as a fraction of the box: it covers the roundings of a simulator in double
# precision, and lets a checker that rounds in another order agree.
SLACK = 1e-9
# The smallest cells, as a fraction of the start box, by the number of states.
SMALLEST = {1: 2.0**-16, 2: 2.0**-12, 3: 2.0**-8}
SMALLEST_OF_MORE = 2.0**-6
# Points per state at which sensors are compared with the states that the policy knows.
SENSOR_GRID = 9


class SearchRound(NamedTuple):
    """The progress of a search."""

    number: int
    cells: int
    proved: float
    """The share of the start box that is proved"""
    undecided: float


@dataclass(frozen=True)
class SearchLimits:
    """When a search ends."""

    max_cells: int
    max_seconds: float
    tolerance: float

    def __post_init__(self) -> None:
        whole_number("max_cells", self.max_cells, at_least=1)
        real_number("max_seconds", self.max_seconds, at_least=0.0)
        real_number("tolerance", self.tolerance, at_least=0.0)


def certify(
    policy: Any, model: Any, *, box: ArrayLike, target: ArrayLike | None = None, disturbance: Any = None,
    horizon: int | None = None, precision: str | None = None, start: ArrayLike | None = None, steps: int | None = None,
    error: ArrayLike | None = None, coverage: float = 1.0, held_out: Transitions | None = None,
    max_cells: int = 100_000, max_seconds: float = 600.0, tolerance: float = 0.002, random_state: int = 0,
    n_jobs: int | None = 1, progress: Callable[[SearchRound], None] | None = None,
) -> Certificate:  # fmt: skip
    """Searches for a set of states inside a box, as large as possible, that the closed loop never leaves.

    Args:
        policy: A policy of forests.
        model: `Equations`, a problem of this library, a `DynamicsModel`, or `Transitions`, of which 30% are held out.
        box: Rows (lo, hi) for each state: the box that must never be left.
        target: Rows (lo, hi): also prove that trajectories reach this box and stay in it.
        disturbance: Ranges of the equations' disturbances, by name or as rows; a number d stands for the range ±d.
        horizon: With a target: the largest number of moves until it is reached.
        precision: The arithmetic in which the policy runs: "float64" (default), "float32" or "int16".
        start: The box of states to certify; default: the whole box. With three states or more, a smaller one is needed.
        steps: Control steps of one move; default: 1, or with three states or more, as many as shrink the start box.
        error: A bound on the error of a learned model for each state, in place of a bound from held-out samples.
        coverage: The share of held-out steps whose errors must lie within the bound that is computed from these steps.
        held_out: Samples that the model was not learned from.
        max_cells: The largest number of cells.
        max_seconds: No new round begins after this many seconds.
        tolerance: The search ends when a smaller share of the start box is undecided.
        random_state: The seed of the split into episodes for learning and held-out episodes.
        n_jobs: Threads; the result does not depend on them.
        progress: Called after each round. Ctrl-C ends the search with what is proved so far.
    """
    forests, arithmetic = policy_to_certify(policy, precision)
    limits = SearchLimits(max_cells, max_seconds, tolerance)
    about: dict[str, Any] = {"disturbance": disturbance, "error": error, "coverage": coverage, "held_out": held_out}
    system = model_to_certify(model, **about, random_state=random_state, n_jobs=n_jobs)
    _require_spaces(forests, system)
    if system.sensors is not None and len(np.atleast_1d(np.asarray(box))) != system.n_states:
        raise ValueError(f"box: must have one row for each of the states {', '.join(system.state_names)}")
    sides = _checked_box("box", box, system.n_states)
    require_samples(model, system, sides)
    task = _task(forests, arithmetic, system, sides, start, target, horizon, steps)
    return task.search(limits, threads(n_jobs), progress)


def _task(
    policy: Policy,
    precision: PolicyPrecision,
    model: CertifiedModel,
    box: Floats,
    start: ArrayLike | None,
    target: ArrayLike | None,
    horizon: int | None,
    steps: int | None,
) -> CertificationTask:
    n_states = len(box)
    _require_known(policy, model, box)
    begin = box if start is None else _checked_box("start", start, n_states)
    _require_inside("start", begin, box, "the box")
    aim = None if target is None else _checked_box("target", target, n_states)
    if aim is not None:
        _require_inside("target", aim, begin, "the start box")
    if horizon is not None:
        if aim is None:
            raise ValueError(f"horizon: is {horizon}, must be left out without a target")
        whole_number("horizon", horizon, at_least=1, at_most=10_000_000)
    number = None if steps is None else whole_number("steps", steps, at_least=1, at_most=1000)
    program = model.program()
    moves = number or steps_per_move(policy, program, model, begin)
    require_angles(policy, model, program, box, begin, moves)
    return CertificationTask(policy, precision, model, program, box, begin, aim, horizon, moves)


def _require_spaces(policy: Policy, model: CertifiedModel) -> None:
    n_read, n_actions = policy.observation_space.shape[0], policy.action_space.shape[0]
    if (model.n_read, model.n_actions) != (n_read, n_actions):
        raise ValueError(
            f"model: has {model.n_read} states and {model.n_actions} actions, must have {n_read} and "
            f"{n_actions} as the policy has"
        )


def _require_known(policy: Policy, model: CertifiedModel, box: Floats) -> None:
    """Raises a ValueError if the box holds states that the policy does not know; sensors are evaluated on a grid."""
    if model.sensors is None:
        _require_inside("box", box, known_box(policy), "the policy's box")
        return
    axes = np.meshgrid(*(np.linspace(low, high, SENSOR_GRID) for low, high in box), indexing="ij")
    read = model.read(np.stack([axis.ravel() for axis in axes], axis=1))
    sides = np.stack([read.min(axis=0), read.max(axis=0)], axis=1)
    _require_inside("box", sides, known_box(policy), "the policy's box, as the sensors read it")


def _checked_box(name: str, value: ArrayLike, n_states: int) -> Floats:
    box = box_array(name, value, n_states)
    if not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
        raise ValueError(f"{name}: is {box.tolist()}, must be finite, with lo < hi in every dimension")
    return box


def _require_inside(name: str, inner: Floats, outer: Floats, what: str) -> None:
    for d in range(len(inner)):
        if not (outer[d, 0] <= inner[d, 0] and inner[d, 1] <= outer[d, 1]):
            raise ValueError(
                f"{name}: dimension {d} is {inner[d].tolist()}, must be within {what}, {outer[d].tolist()}"
            )


@dataclass(frozen=True, eq=False)
class CertificationTask:
    """The task of a search: a checked policy, system and boxes."""

    policy: Policy
    precision: PolicyPrecision
    model: CertifiedModel
    program: _core.StepProgram
    box: Floats
    start: Floats
    target: Floats | None
    horizon: int | None
    steps: int

    def search(
        self, limits: SearchLimits, n_threads: int, progress: Callable[[SearchRound], None] | None
    ) -> Certificate:
        """Runs rounds of the core until the tolerance, a limit or Ctrl-C."""
        native, interrupted, began = self._native(limits.max_cells), False, time.monotonic()
        number = 0
        try:
            while time.monotonic() - began <= limits.max_seconds and native.round(n_threads):
                number += 1
                cells, _, status = native.cells()
                proved, undecided = (self._share(cells[status[:, 0] == kind]) for kind in (1, 0))
                if progress is not None:
                    progress(SearchRound(number, len(cells), proved, undecided))
                if undecided <= limits.tolerance:
                    break
        except KeyboardInterrupt:
            interrupted = True
        return self._certificate(native, interrupted, time.monotonic() - began > limits.max_seconds)

    def loop(self) -> _core.ClosedLoop:
        """The closed loop of the core."""
        pairs = turn_pairs(self.model.periodic, len(self.box))
        policy = native_policy(self.policy, self.precision)
        error, slack = self.model.error.tolist(), self.slack().tolist()
        limits, sensors = self.box, self.model.sensors
        return _core.ClosedLoop(
            policy, self.program, self.model.disturbance, error, slack, limits, pairs, self.steps, sensors
        )

    def slack(self) -> Floats:
        return SLACK * (self.box[:, 1] - self.box[:, 0])

    def _native(self, max_cells: int) -> _core.InvariantSearch:
        smallest = (self.start[:, 1] - self.start[:, 0]) * SMALLEST.get(len(self.box), SMALLEST_OF_MORE)
        return _core.InvariantSearch(self.loop(), self.start, self.target, smallest.tolist(), max_cells, self.horizon)

    def _share(self, cells: Floats) -> float:
        n = len(self.box)
        return float(((cells[:, n:] - cells[:, :n]) / (self.start[:, 1] - self.start[:, 0])).prod(axis=1).sum())

    def _certificate(self, native: _core.InvariantSearch, interrupted: bool, late: bool) -> Certificate:
        cells, successors, status = native.cells()
        proved: NDArray[np.bool_] = status[:, 1] >= 0
        stopped = "max_cells was reached" if native.exhausted else "max_seconds was reached" if late else ""
        stopped = "it was interrupted" if interrupted else stopped
        shares = self._share(cells[status[:, 0] == 0]), self._share(cells[status[:, 0] == 2])
        rest = unproved_states(
            self, acting_policy(self.policy, self.precision), cells, successors, status, shares, stopped
        )
        return Certificate(
            policy_digest(self.policy, self.precision), self.precision, self.model, self.box, self.start, self.target,
            self.horizon, self.steps, self.slack(), np.ascontiguousarray(cells[proved]),
            np.ascontiguousarray(successors[proved]), status[proved, 1].astype(np.int64), rest, interrupted,
            f"policyforest {__version__}", datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip
