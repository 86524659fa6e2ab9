"""Rewards and observations of single steps: converted and checked in the same way by every loop that plays episodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from policyforest._support.arguments import Floats, real_array
from policyforest.data.known_functions import LARGEST, UnjudgedStepError

FINITE = float(np.finfo(np.float64).max)


def step_reward(reward: Any, state: Floats, action: Floats) -> float:
    """The reward of a step as a number; an array that holds one number is also allowed."""
    if isinstance(reward, float) and -LARGEST <= reward <= LARGEST:  # most rewards: this runs for every step
        return float(reward)
    try:
        paid = float(real_array("reward", reward).item())
    except (TypeError, ValueError):
        place = _place(state, action)
        raise UnjudgedStepError(f"reward: is {reward!r} at {place}, must be a real number") from None
    if not abs(paid) <= LARGEST:
        allowed = f"must be finite and at most {LARGEST:g} in size"
        raise UnjudgedStepError(f"reward: is {paid} at {_place(state, action)}, {allowed}")
    return paid


def step_state(
    name: str, value: Any, shape: tuple[int, ...], last: tuple[Floats, Floats] | None, largest: float = FINITE
) -> Floats:
    """A copy of an observation as finite numbers; `last` is the state and the action before it, if any."""
    try:
        state: Floats = real_array(name, value, "fiubO").astype(np.float64)
    except (TypeError, ValueError):
        raise UnjudgedStepError(f"{name}: {_observation(last)} is {value!r}, must hold real numbers") from None
    if state.shape != shape:
        given = f"is {value!r}" if state.ndim == 0 else f"has the shape {state.shape}"
        raise UnjudgedStepError(f"{name}: {_observation(last)} {given}, must have the shape {shape}")
    if not (np.abs(state) <= largest).all():
        allowed = "finite numbers" if largest == FINITE else f"finite numbers of at most {largest:g} in size"
        raise UnjudgedStepError(f"{name}: {_observation(last)} is {state.tolist()}, must hold {allowed}")
    return state


def _observation(last: tuple[Floats, Floats] | None) -> str:
    return "the environment's observation" + ("" if last is None else f" after {_place(*last)}")


def _place(state: Floats, action: Floats) -> str:
    return f"the state {state.tolist()} (action {action.tolist()})"
