"""What policies of least squares have in common: a block of weights for each choice, over features of one basis."""

from __future__ import annotations

from dataclasses import dataclass, field

from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest.baselines.bases import Basis, Features
from policyforest.baselines.batch_policy import BatchPolicy
from policyforest.baselines.least_squares import LeastSquaresProgress
from policyforest.policy.policy_info import PolicyInfo


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearPolicy(BatchPolicy):
    """Prefers the block whose weights . phi is larger; phi is `basis`, laid over `input_box`."""

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
