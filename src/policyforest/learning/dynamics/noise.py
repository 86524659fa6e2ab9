"""The noise of a learned model: its errors on held-out steps, and how their size depends on the state and the
action."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.forest.growing import grow_forest
from policyforest.learning.dynamics.choice import Choice
from policyforest.learning.dynamics.regression import FittedOutput, ModelInputs

# Residuals are scaled by a forest of their local variance, with leaves of at least this many samples or a twentieth.
SPREAD_LEAF, SPREAD_SHARE = 50, 20
# Residuals below this fraction of an output's spread are rounding errors, whose variance means nothing.
ROUNDING = 1e-4


def observed_noise(
    inputs: ModelInputs,
    targets: Floats,
    choices: Sequence[Choice],
    reward: Choice,
    reward_rows: NDArray[np.intp],
    seed: int,
    n_jobs: int | None,
) -> tuple[FittedOutput | None, Floats]:
    """A forest of the local variance of the residuals of the dynamics, and the residuals (one row per sample; the
    dynamics divided by their local spread, then the reward)."""
    residuals = np.zeros((len(targets), len(choices) + 1))
    for j, choice in enumerate(choices):
        residuals[:, j] = choice.residuals
    residuals[reward_rows, -1] = reward.residuals
    size = residuals[:, :-1].std(axis=0)
    real = size > ROUNDING * targets.std(axis=0)
    if not real.any() or len(residuals) < 2 * SPREAD_LEAF:
        return None, residuals
    forest = grow_forest(
        inputs.rows,
        np.mean((residuals[:, :-1][:, real] / size[real]) ** 2, axis=1),
        n_estimators=10,
        min_samples_leaf=max(SPREAD_LEAF, len(residuals) // SPREAD_SHARE),
        periodic=inputs.periodic or None,
        random_state=seed % 2**64,
        n_jobs=n_jobs,
    )
    local = np.sqrt(np.maximum(forest.predict(inputs.rows), 1e-3))
    residuals[:, :-1] /= local[:, None]
    return FittedOutput(np.zeros(0), forest), residuals
