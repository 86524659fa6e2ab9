"""Digests of policies and models, which tie a certificate to them. The search and the checker share this module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from policyforest._support.arguments import Array
from policyforest._support.files import array_digest
from policyforest._support.spaces import bounds
from policyforest.policy.policy import Policy


def policy_digest(policy: Policy, precision: str) -> str:
    """SHA-256 of all numbers that decide the policy's actions, and of the arithmetic it runs in."""
    arrays: dict[str, Array] = {}
    for j, forest in enumerate(policy.forests):
        arrays |= {f"{j}.{name}": np.asarray(array) for name, array in forest.arrays.items()}
    more = {
        "actions": [[repr(float(x)) for x in side] for side in bounds(policy.action_space)],
        "dtype": str(policy.action_space.dtype),
        "periodic": {str(d): [repr(float(x)) for x in turn] for d, turn in policy.periodic.items()},
        "precision": precision,
    }
    return sha256((array_digest(arrays) + json.dumps(more, sort_keys=True)).encode()).hexdigest()


def model_digest(settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """SHA-256 of all formulas and numbers of a system; bounds of errors and disturbances are not part of it."""
    own = {name: np.asarray(array) for name, array in arrays.items() if name.startswith("model.")}
    return sha256((array_digest(own) + json.dumps(settings, sort_keys=True)).encode()).hexdigest()
