"""The spaces of states and actions: which ones can be learned in, and which ones fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space

from policyforest._support.arguments import Floats


def require_observations(name: str, space: Space[Any] | None) -> Box:
    """The space itself if it is a vector of numbers; else a ValueError that describes it."""
    if not isinstance(space, Box):
        raise ValueError(f"{name}: is {space}, must be a gymnasium.spaces.Box")
    if len(space.shape) != 1 or space.shape[0] == 0:
        what = "images and tensors are not supported" if len(space.shape) > 1 else "it has no entries"
        raise ValueError(f"{name}: is {space}, must be a Box of one dimension ({what})")
    return space


def require_actions(name: str, space: Space[Any] | None) -> Box:
    """The space itself if it is a bounded vector of real numbers; else a ValueError that describes it."""
    if not isinstance(space, Box):
        raise ValueError(f"{name}: is {space}, must be a Box (discrete actions are not supported)")
    require_observations(name, space)
    if space.dtype.kind != "f":
        raise ValueError(f"{name}: is {space}, must be a Box of real numbers")
    if not space.is_bounded():
        raise ValueError(f"{name}: is {space}, must be bounded on all sides")
    return space


def bounds(space: Box) -> Floats:
    """One row (low, high) per dimension, in double precision; sides may be infinite."""
    return np.stack([space.low, space.high], axis=1).astype(np.float64)


def box_to_json(space: Box) -> dict[str, Any]:
    """Numbers as text, because JSON has no infinity; `repr` keeps every bit."""
    return {
        "dtype": str(space.dtype),
        "low": [repr(float(x)) for x in space.low],
        "high": [repr(float(x)) for x in space.high],
    }


def box_from_json(name: str, value: object) -> Box:
    """The inverse of `box_to_json`; anything else is a ValueError."""
    try:
        if not isinstance(value, Mapping):
            raise TypeError("not an object")
        dtype = np.dtype(str(value["dtype"]))
        if dtype.kind not in "fiu":
            raise TypeError(f"dtype {dtype}")
        low, high = (np.array([float(x) for x in value[side]], dtype=dtype) for side in ("low", "high"))
        if np.isnan(low).any() or np.isnan(high).any() or low.shape != high.shape or (low > high).any():
            raise ValueError("low and high must be numbers with low <= high")
        return Box(low, high, dtype=dtype.type)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: is {value!r}, must describe a box ({error})") from error


def check_fit(policy: object, observation_space: Box, action_space: Box) -> None:
    """A ValueError if a policy that knows its spaces does not fit the given ones.

    States: the same number, and the same bounds wherever both are finite (a policy that was learned from logs
    may know none). Actions: the same box."""
    observations, actions = getattr(policy, "observation_space", None), getattr(policy, "action_space", None)
    if isinstance(observations, Box):
        ours, theirs = bounds(observations), bounds(observation_space)
        if ours.shape != theirs.shape or not _agree_where_finite(ours, theirs):
            raise ValueError(f"policy: it observes {observations}; must observe {observation_space}")
    if isinstance(actions, Box):
        ours, theirs = bounds(actions), bounds(action_space)
        # A box in single precision is the same box.
        if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-6, atol=0.0):
            raise ValueError(f"policy: it acts in {actions}; must act in {action_space}")


def _agree_where_finite(a: Floats, b: Floats) -> bool:
    both = np.isfinite(a) & np.isfinite(b)
    return bool(np.allclose(a[both], b[both], rtol=1e-6, atol=0.0))
