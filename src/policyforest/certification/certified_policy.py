"""The policy as it runs: its numbers in float64, float32 or 16 bits, for the search."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Floats, one_of
from policyforest._support.spaces import bounds
from policyforest.policy.float32_policy import Float32Policy
from policyforest.policy.policy import Policy

PolicyPrecision = Literal["float64", "float32", "int16"]


def policy_to_certify(policy: Any, precision: str | None) -> tuple[Policy, PolicyPrecision]:
    """The policy in double precision, and the precision in which it runs; policies other than forests are refused."""
    if getattr(policy, "signals", None) is not None:
        raise ValueError("policy: has signals (history or actuators), which certificates do not support")
    if isinstance(policy, Float32Policy):
        if precision not in (None, "float32"):
            raise ValueError(f"precision: is {precision!r}, must be 'float32' for a policy in float32")
        return policy.rounded, "float32"
    if not isinstance(policy, Policy):
        kind = getattr(policy, "kind", type(policy).__name__)
        raise TypeError(f"policy: is of the kind {kind!r}, must be a policy of forests")
    allowed = one_of("precision", precision or "float64", ("float64", "float32", "int16"))
    return policy, cast(PolicyPrecision, allowed)


def native_policy(policy: Policy, precision: PolicyPrecision) -> _core.CertifiedPolicy:
    """The policy in the form that the core bounds."""
    if precision == "int16":
        from policyforest.export.int16 import quantise

        whole = quantise(policy)
        cells = list(zip(whole.quantiser.lo.tolist(), whole.quantiser.scale.tolist(), strict=True))
        outputs = [(float(q.offset), float(q.scale) * len(q.forest)) for q in whole.forests]
        turns = {d: (float(lo), float(hi)) for d, (lo, hi) in whole.quantiser.turns.items()}
        sides = np.stack([whole.action_lo, whole.action_hi], axis=1).astype(np.float64)
        forests = [q.forest._native for q in whole.forests]
        return _core.CertifiedPolicy(precision, forests, sides, turn_pairs(turns, len(cells)), cells, outputs)
    runs = policy if precision == "float64" else cast(Float32Policy, policy.astype("float32")).rounded
    forests = [forest._native for forest in runs.forests]
    pairs = turn_pairs(runs.periodic, runs.observation_space.shape[0])
    return _core.CertifiedPolicy(precision, forests, bounds(runs.action_space), pairs, [], [])


def acting_policy(policy: Policy, precision: PolicyPrecision) -> Any:
    """The policy whose `act_batch` returns the actions of the exported code, bit for bit."""
    if precision == "int16":
        from policyforest.export.int16 import quantise

        return quantise(policy)
    return policy.astype(precision)


def turn_pairs(periodic: Any, n_states: int) -> list[tuple[float, float]]:
    """A pair (low, high) for each state, (0, 0) if it is not an angle; an empty list without angles."""
    return [periodic.get(d, (0.0, 0.0)) for d in range(n_states)] if periodic else []


def known_box(policy: Policy) -> Floats:
    """The states that the policy was learned on; angles are known in their whole turn."""
    box = np.array(policy.state_box)
    for d in policy.periodic:
        box[d] = (-np.inf, np.inf)
    return box
