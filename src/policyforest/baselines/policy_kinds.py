"""The parts of the baselines' policies in a file: weights, the box of the inputs, the basis over it."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from policyforest._support.arguments import (
    LARGEST,
    Array,
    box_array,
    finite_array,
    moderate,
    real_number,
    whole_number,
)
from policyforest._support.spaces import require_actions, require_observations
from policyforest.baselines.bases import MAX_FEATURES, Basis, PolynomialBasis, RadialBasis
from policyforest.baselines.binary_action_search import BinarySearchPolicy, check_resolution
from policyforest.baselines.discrete_fqi import DISCRETE_KIND, DiscretePolicy
from policyforest.baselines.finite_actions import stored_actions
from policyforest.baselines.forest_binary_search import FOREST_SEARCH_KIND, ForestBinarySearchPolicy
from policyforest.baselines.least_squares import LeastSquaresProgress
from policyforest.baselines.linear_policy import LinearPolicy
from policyforest.baselines.lspi import LSPIPolicy
from policyforest.policy.policy_files import register_kinds
from policyforest.policy.policy_parts import Parts, PolicyKind

Linear = TypeVar("Linear", bound=LinearPolicy)


def _pack_search(policy: BinarySearchPolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays, settings = _pack_linear(policy)
    return arrays, settings | {"resolution": policy.resolution}


def _unpack_search(parts: Parts) -> BinarySearchPolicy:
    n_actions = require_actions("action_space", parts.action_space).shape[0]
    fields = _linear(parts, n_inputs=_n_states(parts) + n_actions, n_blocks=2 * n_actions)
    return _acting_in_its_box(BinarySearchPolicy(resolution=check_resolution(parts.setting("resolution")), **fields))


def _pack_lspi(policy: LSPIPolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays, settings = _pack_linear(policy)
    return arrays | {"actions": policy.actions}, settings


def _unpack_lspi(parts: Parts) -> LSPIPolicy:
    actions = stored_actions(parts)
    fields = _linear(parts, n_inputs=_n_states(parts), n_blocks=len(actions))
    return _acting_in_its_box(LSPIPolicy(actions=actions, **fields))


def _pack_linear(policy: BinarySearchPolicy | LSPIPolicy) -> tuple[dict[str, Array], dict[str, Any]]:
    settings = {"basis": _basis_setting(policy.basis), "progress": asdict(policy.progress)}
    return {"weights": policy.weights, "input_box": policy.input_box}, settings


def _linear(parts: Parts, n_inputs: int, n_blocks: int) -> dict[str, Any]:
    """The fields that both policies have: weights (blocks, K) for the K functions of a basis over a box."""
    box = box_array("input_box", parts.array("input_box", "<f8", 2), n_inputs)
    # Larger weights would overflow at every state, not only at distant ones.
    weights = moderate("weights", finite_array("weights", parts.array("weights", "<f8", 2), 2))
    basis = _basis(parts.setting("basis"), n_inputs)
    expected = (n_blocks, basis.over(box).n_features)
    if weights.shape != expected:
        raise ValueError(f"its weights have shape {weights.shape}, must have shape {expected}")
    return {
        "weights": weights,
        "basis": basis,
        "input_box": box,
        "observation_space": parts.observation_space,
        "action_space": parts.action_space,
        "progress": _progress(parts.setting("progress")),
        "info": parts.info,
    }


def _acting_in_its_box(policy: Linear) -> Linear:
    """Refuses a policy whose values overflow at states of its own box, because it could not act there."""
    low, high = policy.input_box[: policy.observation_space.shape[0]].T
    try:
        with np.errstate(all="ignore"):
            policy.act_batch(np.stack([low, low + (high - low) / 2.0, high]))
    except ValueError:
        raise ValueError(f"its values overflow in its input_box, {policy.input_box.tolist()}") from None
    return policy


def _n_states(parts: Parts) -> int:
    return require_observations("observation_space", parts.observation_space).shape[0]


def _basis_setting(basis: Basis) -> dict[str, Any]:
    match basis:
        case PolynomialBasis(degree):
            return {"polynomial": {"degree": degree}}
        case RadialBasis(n_centres, width, reach):
            centres = n_centres if isinstance(n_centres, int) else [int(n) for n in n_centres]
            return {"radial": {"n_centres": centres, "width": float(width), "reach": float(reach)}}
    raise TypeError(f"basis: is a {type(basis).__name__}; only polynomial and radial bases can be saved")


def _basis(value: Any, n_inputs: int) -> Basis:
    match value:
        case {"polynomial": {"degree": int(degree), **rest}} if len(value) == 1 and not rest:
            whole_number("degree", degree, at_least=0, at_most=MAX_FEATURES)
            if math.comb(n_inputs + degree, n_inputs) > MAX_FEATURES:  # checked before the exponents are listed
                raise ValueError(f"its basis has the degree {degree} in {n_inputs} inputs, which is too large")
            return PolynomialBasis(degree)
        case {"radial": {"n_centres": int() | list() as centres, "width": width, "reach": reach, **rest}} if (
            len(value) == 1 and not rest
        ):
            for n in centres if isinstance(centres, list) else [centres]:
                whole_number("n_centres", n, at_least=1, at_most=MAX_FEATURES)
            return RadialBasis(
                centres, real_number("width", width, below=LARGEST), real_number("reach", reach, below=LARGEST)
            )
    raise ValueError(f"its basis is {value!r}, must be a polynomial or a radial basis")


def _progress(value: Any) -> LeastSquaresProgress:
    match value:
        case {"n_iterations": int(n_iterations), "converged": bool(converged), **rest} if not rest:
            return LeastSquaresProgress(whole_number("n_iterations", n_iterations, at_least=1), converged)
    raise ValueError(f"its progress is {value!r}, must have n_iterations and converged")


register_kinds(
    {
        BinarySearchPolicy.kind: PolicyKind(_pack_search, _unpack_search),
        LSPIPolicy.kind: PolicyKind(_pack_lspi, _unpack_lspi),
        DiscretePolicy.kind: DISCRETE_KIND,
        ForestBinarySearchPolicy.kind: FOREST_SEARCH_KIND,
    }
)
