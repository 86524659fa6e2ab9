"""The base classes of policies learned by least squares: each choice has a block of weights over the same features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest.baselines.bases import Basis, Features, default_basis
from policyforest.baselines.batch_policy import BatchPolicy
from policyforest.baselines.least_squares import Decisions, LeastSquaresProgress, policy_iteration
from policyforest.data.transitions import Transitions
from policyforest.policy.policy_info import PolicyInfo

OVERFLOW = "state: is so large that the values of its actions overflow"


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearPolicy(BatchPolicy):
    """Prefers the block whose weights . phi is larger; phi is `basis`, defined over `input_box`."""

    weights: Floats = field(repr=False)
    basis: Basis
    input_box: Floats = field(repr=False)
    observation_space: Box
    action_space: Box
    progress: LeastSquaresProgress
    info: PolicyInfo = field(repr=False)
    features: Features = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", self.basis.over(self.input_box))

    def values(self, inputs: Floats, weights: Floats) -> Floats:
        """phi(x) . weights for rows x. As in `Policy`, a state so far outside of the box that the values overflow is a
        `ValueError`, because infinite values cannot be compared."""
        try:
            with np.errstate(over="raise", invalid="raise"):
                phi = self.features(inputs)
        except FloatingPointError:
            raise ValueError(OVERFLOW) from None
        with np.errstate(over="ignore", invalid="ignore"):
            found: Floats = phi @ weights
        if not np.isfinite(found).all():
            raise ValueError(OVERFLOW)
        return found


class LinearLearner(Protocol):
    """The settings that learners of linear policies share."""

    @property
    def basis(self) -> Basis | None: ...
    @property
    def max_iterations(self) -> int: ...
    @property
    def ridge(self) -> float: ...


def learned_fields(
    method: str, learner: LinearLearner, transitions: Transitions, input_box: Floats, decisions: Decisions
) -> dict[str, Any]:
    """The fields of a `LinearPolicy` that policy iteration learns from decisions, with a basis defined over a box."""
    basis = default_basis(len(input_box)) if learner.basis is None else learner.basis
    weights, progress = policy_iteration(
        basis.over(input_box), decisions, max_iterations=learner.max_iterations, ridge=learner.ridge
    )
    return {
        "weights": weights,
        "basis": basis,
        "input_box": input_box,
        "observation_space": transitions.observation_space,
        "action_space": transitions.action_space,
        "progress": progress,
        "info": PolicyInfo.of(method, learner, len(transitions), basis=repr(basis)),
    }
