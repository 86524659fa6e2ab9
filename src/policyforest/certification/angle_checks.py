"""Refuses angles for which adding a whole turn changes the next state or the action of the policy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import policyforest._core as _core
from policyforest._support.angles import difference
from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.certification.certified_model import CertifiedModel
from policyforest.policy.policy import Policy

TRIED = 200
# Adding a turn may change a state by this fraction of its box, because some hundred steps can have such roundings.
NEARLY = 1e-6


def require_angles(
    policy: Policy, model: CertifiedModel, program: _core.StepProgram, box: Floats, start: Floats, steps: int
) -> None:
    """Raises a ValueError if adding a whole turn to an angle changes the loop at one of some states."""
    rng = np.random.default_rng(0)
    sides = np.concatenate([start, bounds(policy.action_space), model.disturbance])
    rows = sides[:, 0] + rng.random((TRIED, len(sides))) * (sides[:, 1] - sides[:, 0])
    for d, (low, high) in model.periodic.items():
        length, name = high - low, model.state_names[d]
        if start[d, 1] - start[d, 0] > length * (1 + 1e-12):
            raise ValueError(f"box: dimension {d} is {start[d].tolist()}, must be at most one turn of {length:.6g}")
        turned = rows + length * (np.arange(len(sides)) == d)
        before, after = (np.asarray(program.run(np.ascontiguousarray(part))) for part in (rows, turned))
        if not _nearly_same(before, after, model.periodic, box[:, 1] - box[:, 0]):
            raise ValueError(
                f"angles: {name} is {(low, high)}, but adding a turn of {length:.6g} changes the next state"
            )
        if _leaves_its_turn(box[d] if steps > 1 else start[d], (low, high), steps) and not _turns(
            policy, model, d, rows[:, : len(box)], turned[:, : len(box)]
        ):
            raise ValueError(
                f"policy: does not read {name} as an angle ({name} is not in its `periodic`), so its actions differ "
                f"after a turn; the box must be within {[low, high]}, with one control step per move if the box is the "
                "whole turn"
            )


def _leaves_its_turn(sides: Floats, turn: tuple[float, float], steps: int) -> bool:
    """Whether the policy can meet the angle outside of the turn; between moves the angle is not turned back."""
    circle = steps > 1 and sides[1] - sides[0] >= (turn[1] - turn[0]) * (1 - 1e-12)
    return bool(circle or not (turn[0] <= sides[0] and sides[1] <= turn[1]))


def _turns(policy: Policy, model: CertifiedModel, d: int, states: Floats, turned: Floats) -> bool:
    """Whether adding a whole turn changes nothing for the policy."""
    if model.sensors is not None:
        box = policy.state_box
        widths = np.where(np.isfinite(box).all(axis=1), box[:, 1] - box[:, 0], 1.0)
        return _nearly_same(model.read(states), model.read(turned), policy.periodic, widths)
    low, high = policy.periodic.get(d, (0.0, 0.0))
    length = model.periodic[d][1] - model.periodic[d][0]
    return abs((high - low) - length) <= 1e-12 * length


def _nearly_same(before: Floats, after: Floats, periodic: Mapping[int, tuple[float, float]], widths: Floats) -> bool:
    """Whether rows differ only by rounding; rows without a value are not compared."""
    for d in range(before.shape[1]):
        apart = np.abs(difference(after[:, d], before[:, d], dict(periodic), d))
        if (apart[np.isfinite(apart)] > NEARLY * widths[d]).any():
            return False
    return True
