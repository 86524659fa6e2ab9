"""A model for the part of the state space that a policy visits.

The kind of each output is chosen by the errors on all samples. If a policy stays near a small part of them, a complex
kind that pays elsewhere only adds variance: near an equilibrium, an error of a few percent in a slope decides whether a
low gain still balances. Therefore the model is fitted again with most of the weight on samples near the visited states,
and its kinds are chosen by these samples alone. The new model replaces the other one only if it predicts held-out
samples near the visited states better: fewer samples count in it, and if one formula holds everywhere, all samples give
a better fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.choice import Choice, HeldOut, choose, nearly_odd
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.noise import observed_noise
from policyforest.learning.dynamics.structure import late_but_measured, may_be_odd

# The box of visited states leaves out this part of them on each side, and is widened by this part of its width.
OUTLIERS, WIDENED = 0.005, 0.5
# Where more than this part of the samples is inside, or too few are, the choice by all of them stands.
MOST, FEWEST = 0.7, 50
# The weight of samples that are not near, in the fit.
FAR = 0.02


def focused(model: DynamicsModel, visited: Floats) -> DynamicsModel:
    """The model with more weight on samples near the visited states; the same object if most samples are near, or if
    the new model does not predict them better."""
    data = model.transitions
    near = _near(data, visited)
    if near.sum() < FEWEST or near.mean() > MOST:
        return model
    inputs = replace(model.inputs, weights=np.where(near, 1.0, FAR))
    held_out = HeldOut.of(data.episodes, model.seed)
    choices, judged, late = [], near.astype(np.float64), late_but_measured(data)
    for j, choice in enumerate(model.choices):
        drawn = j < len(model.structure.plain) and model.structure.plain[j] in model.exogenous
        y = model.targets[:, j]
        how: dict[str, Any] = {"judged": judged, "shrunk": late}
        choices.append(choice if drawn else choose(inputs, y, held_out, model.seed + 2 + j, model.n_jobs, **how))
    if may_be_odd(data, model.structure):
        choices = nearly_odd(choices, inputs, model.targets, held_out, model.seed, model.n_jobs)
    if not _predicts_better(choices, model.choices, near, held_out.episode):
        return model
    spread, residuals = observed_noise(
        inputs, model.targets, choices, model.reward.choice, model.reward.rows, model.seed, model.n_jobs
    )
    return replace(model, inputs=inputs, choices=tuple(choices), spread=spread, residuals=residuals)


def _predicts_better(
    new: Sequence[Choice], old: Sequence[Choice], near: NDArray[np.bool_], episode: NDArray[np.int64]
) -> bool:
    """Whether held-out errors at the near samples are smaller by more than one standard error, all outputs together,
    each in units of its own."""
    gained = np.zeros(int(near.sum()))
    for after, before in zip(new, old, strict=True):
        squares = before.residuals[near] ** 2
        gained += (squares - after.residuals[near] ** 2) / max(float(squares.mean()), 1e-300)
    by_episode = np.bincount(episode[near], gained)
    return bool(by_episode.sum() > by_episode.std() * np.sqrt(len(by_episode)))


def _near(data: Transitions, visited: Floats) -> NDArray[np.bool_]:
    near = np.ones(len(data), dtype=bool)
    for d in range(visited.shape[1]):
        if d in data.periodic:
            continue
        low, high = np.quantile(visited[:, d], [OUTLIERS, 1.0 - OUTLIERS])
        margin = WIDENED * (high - low)
        near &= (data.states[:, d] >= low - margin) & (data.states[:, d] <= high + margin)
    return near
