"""The number of control steps in one move: as many as the loop needs to bring a box back into itself.

Around the middle of the box the loop is nearly s' = A s. With the box's half sides D as units, k steps map the box into
itself if the largest row sum of |D^-1 A^k D| is below 1; a margin is left for nonlinear parts.
"""

from __future__ import annotations

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest.certification.certified_model import CertifiedModel
from policyforest.policy.policy import Policy

MARGIN, MOST_STEPS = 0.5, 200
# Slopes are computed between points at this distance from the middle, as a fraction of the half sides.
APART = 0.05


def steps_per_move(policy: Policy, program: _core.StepProgram, model: CertifiedModel, start: Floats) -> int:
    """One step for one or two states; for more, the smallest number that shrinks the start box, or one."""
    if len(start) <= 2:
        return 1
    middle, half = start.mean(axis=1), (start[:, 1] - start[:, 0]) / 2
    points = np.concatenate([middle + APART * np.diag(half), middle - APART * np.diag(half)])
    noise = np.tile(model.disturbance.mean(axis=1), (len(points), 1))
    after = np.asarray(
        program.run(np.ascontiguousarray(np.hstack([points, policy.act_batch(model.read(points)), noise])))
    )
    n = len(start)
    # In units of the half sides: column i is the effect of moving state i.
    scaled = ((after[:n] - after[n:]) / (2 * APART)).T / half[:, np.newaxis]
    if not np.isfinite(scaled).all():
        return 1
    power = np.eye(n)
    for number in range(1, MOST_STEPS + 1):
        power = scaled @ power
        if np.abs(power).sum(axis=1).max() <= MARGIN:
            return number
    return 1
