"""Where a box is not certified, and why: the nearest cell that is not proved, and a trajectory that leaves the box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest.certification.certificate import UnprovedStates
from policyforest.certification.certified_model import CertifiedModel

if TYPE_CHECKING:
    from policyforest.certification.search import CertificationTask

TRIED_CELLS, TRIED_STEPS = 100, 200


def unproved_states(
    task: CertificationTask,
    acting: Any,
    cells: Floats,
    successors: Floats,
    status: Floats,
    shares: tuple[float, float],
    stopped: str,
) -> UnprovedStates:
    """The known facts about the cells that are not proved; `shares` are those of undecided and of ruled-out cells."""
    n = len(task.box)
    if len(cells) == 0:
        return UnprovedStates(1.0, 0.0, None, f"the search ended before its first round; {stopped}")
    proved, rest = status[:, 1] >= 0, status[:, 1] < 0
    if not rest.any():
        return UnprovedStates(*shares, None, "all of the start box is proved")
    width = task.start[:, 1] - task.start[:, 0]
    middles = (cells[:, :n] + cells[:, n:]) / 2
    order = np.flatnonzero(rest)
    centre = task.start.mean(axis=1)
    near = middles[proved] if proved.any() else centre[np.newaxis]
    apart = np.array([np.abs((near - m) / width).max(axis=1).min() for m in middles[order[:20_000]]])
    order = order[: len(apart)][np.argsort(apart, kind="stable")]
    nearest = int(order[0])
    left = _leaving(task, acting, middles[order[:TRIED_CELLS]])
    cell = tuple((float(cells[nearest, d]), float(cells[nearest, n + d])) for d in range(n))
    reason = _reason(
        status[nearest, 0] == 2, bool(np.isfinite(successors[nearest]).all()), bool(proved.any()), left, stopped
    )
    if left is None:
        return UnprovedStates(*shares, cell, reason)
    return UnprovedStates(*shares, cell, reason, tuple(left.state.tolist()), left.steps)


def _reason(ruled_out: bool, bounded: bool, some: bool, left: Leaving | None, stopped: str) -> str:
    if not some and left is not None and left.all_do:
        first = "every state near the middle of the start box that was tried can be driven out of the box"
    elif ruled_out:
        first = "from the nearest cell that is not proved a disturbance takes every state out of the set"
    elif not bounded:
        first = "the successors of the nearest cell that is not proved have no bound in the box"
    else:
        first = "the successors of the nearest cell that is not proved may lie outside of the set"
    return f"{first}; {stopped}" if stopped else first


class Leaving(NamedTuple):
    """A state from which a trajectory leaves the box, the number of steps, and whether one leaves from all states that
    were tried."""

    state: Floats
    steps: int
    all_do: bool


def _leaving(task: CertificationTask, acting: Any, states: Floats) -> Leaving | None:
    """The first of some states from which a trajectory leaves the box.

    Disturbances and model errors are held at one end, then at the other, then drawn from both ends."""
    steps = np.min([_steps_inside(task, acting, states, way) for way in (-1.0, 1.0, 0.0)], axis=0)
    gone = np.flatnonzero(steps <= TRIED_STEPS)
    if len(gone) == 0:
        return None
    return Leaving(states[gone[0]], int(steps[gone[0]]), len(gone) == len(states))


def _steps_inside(task: CertificationTask, acting: Any, states: Floats, way: float) -> Floats:
    """The number of steps after which each trajectory has left the box; more than were tried if it has not."""
    rng = np.random.default_rng(0)
    model, box = task.model, task.box
    here, left = states.copy(), np.full(len(states), TRIED_STEPS + 1.0)
    low, high = model.disturbance[:, 0], model.disturbance[:, 1]
    for number in range(1, TRIED_STEPS + 1):
        alive = np.flatnonzero(left > TRIED_STEPS)
        if len(alive) == 0:
            break
        signs = (
            rng.choice([-1.0, 1.0], (len(alive), len(low) + len(box)))
            if way == 0.0
            else np.full((len(alive), len(low) + len(box)), way)
        )
        noise = np.where(signs[:, : len(low)] < 0, low, high)
        after = task_step(model, task.program, acting, here[alive], noise) + signs[:, len(low) :] * model.error
        inside = np.ones(len(alive), dtype=np.bool_)
        for d in range(len(box)):
            if d in model.periodic:
                turn = model.periodic[d][1] - model.periodic[d][0]
                after[:, d] -= turn * np.floor((after[:, d] - box[d, 0]) / turn)
            inside &= (after[:, d] >= box[d, 0]) & (after[:, d] <= box[d, 1])
        here[alive] = np.where(inside[:, np.newaxis], after, here[alive])
        left[alive[~inside]] = number
    return left


def task_step(model: CertifiedModel, program: _core.StepProgram, acting: Any, states: Floats, noise: Floats) -> Floats:
    """One control step of the closed loop, in floating-point numbers."""
    actions = np.asarray(acting.act_batch(model.read(states)), dtype=np.float64)
    return np.asarray(program.run(np.ascontiguousarray(np.hstack([states, actions, noise]))))
