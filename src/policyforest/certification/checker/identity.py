"""Whether a certificate is about this policy, this model, disturbances of this size, and these held-out steps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from policyforest._support.arguments import Array
from policyforest.certification.checker.rejection import require
from policyforest.certification.digests import model_digest, policy_digest
from policyforest.certification.equations import Equations
from policyforest.policy.float32_policy import Float32Policy
from policyforest.policy.policy import Policy

# Held-out steps that a clause may count.
MOST_STEPS = 10_000_000


def require_policy(content: Mapping[str, Any], given: Any) -> Policy:
    """The policy that the file names, in double precision; it acts on states without any history or actuators."""
    single = isinstance(given, Float32Policy)
    policy = given.rounded if single else given
    require(not single or content["precision"] == "float32", "it is about a policy that does not run in float32")
    require(isinstance(policy, Policy), f"the policy is a {type(given).__name__}, must be a policy of forests")
    require(policy.signals is None, "the policy has signals (history or actuators), which no certificate covers")
    require(policy_digest(policy, content["precision"]) == content["policy_digest"], "it belongs to another policy")
    assert isinstance(policy, Policy)
    return policy


def require_model(content: Mapping[str, Any], arrays: Mapping[str, Array], model: Any) -> None:
    """Requires that the file holds the model that it names, and that this is the given model, if there is one."""
    require(
        model_digest(content["model"], arrays) == content["model_digest"],
        "its model is not the one that its digest names",
    )
    if model is None:
        return
    equations = isinstance(model, Equations)
    settings = model.model_settings() if equations else model.settings()
    digest = model_digest(settings, {} if equations else model.arrays())
    # Digests do not depend on the order of names, but the order of the states and the sensors is that of the policy.
    same = digest == content["model_digest"] and json.dumps(settings) == json.dumps(content["model"])
    require(same, "it belongs to another model")
    if not equations:
        _require_bounds(content, arrays, model)


def _require_bounds(content: Mapping[str, Any], arrays: Mapping[str, Array], model: Any) -> None:
    """Requires that the disturbances contain those of the given model, and that the clause counts its steps."""
    wanted, proved = np.asarray(model.disturbance), arrays["disturbance"]
    require(wanted.shape == proved.shape, "it has other disturbances than the model")
    held = (proved[:, 0] <= wanted[:, 0]).all() and (wanted[:, 1] <= proved[:, 1]).all()
    require(held, "it is proved for smaller disturbances than the model has")
    clause, errors = content["clause"], model.held_out_errors
    if clause is not None and errors is not None:
        within = int((np.abs(errors) <= arrays["error"]).all(axis=1).sum())
        counted = [clause["within"], clause["steps"]] == [within, len(errors)]
        require(counted, f"its clause differs from the held-out steps: {within} of {len(errors)} are within its bound")


def require_clause(clause: Mapping[str, Any] | None) -> None:
    """Requires that the share in a clause has the stated confidence: with any smaller share, so many or more steps
    within the bound have a chance of at most 1 - confidence."""
    if clause is None:
        return
    within, steps, share = clause["within"], clause["steps"], clause["share"]
    counted = type(within) is int and type(steps) is int and 0 <= within <= steps <= MOST_STEPS
    sure = 0.0 <= share <= 1.0 and 0.0 < clause["confidence"] < 1.0
    require(counted and sure, "its clause has impossible numbers")
    chance = _at_least(within, steps, float(share))
    require(chance <= (1.0 - clause["confidence"]) * (1 + 1e-9), "its clause states more than its numbers show")


def _at_least(within: int, steps: int, share: float) -> float:
    """The chance that so many of the steps, or more, are within a bound that contains this share of all steps."""
    if share == 0.0:
        return 0.0  # a share of 0 claims nothing
    if within == 0 or share == 1.0:
        return 1.0
    chosen = math.lgamma(steps + 1)
    logs = (
        chosen
        - math.lgamma(k + 1)
        - math.lgamma(steps - k + 1)
        + k * math.log(share)
        + (steps - k) * math.log1p(-share)
        for k in range(within, steps + 1)
    )
    return sum(map(math.exp, logs))
