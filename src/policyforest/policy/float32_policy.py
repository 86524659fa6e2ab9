"""A policy in single precision, which computes the same bits as the float unit of a microcontroller.

Rounding keeps the meaning of every number. A threshold v becomes the largest float32 that is not above v, so that for
every float32 x, `x <= v` gives the same result. Leaves and turns of angles go to the nearest float32, and the action
box is rounded inwards, so that no action leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats, real_array
from policyforest._support.spaces import bounds
from policyforest.forest.forest import Forest
from policyforest.forest.growth_rules import period_rows
from policyforest.policy.acting import ActingPolicy
from policyforest.policy.policy import Policy
from policyforest.policy.policy_info import PolicyInfo

if TYPE_CHECKING:
    from policyforest.policy.controller import PolicyController

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Float32Policy(ActingPolicy):
    """pi(s) with every number and every operation in float32. Made by ``policy.astype("float32")``.

    `act` takes one state and returns a float32 array; a float64 state is rounded to the nearest float32 first."""

    kind = "float32 forest"

    rounded: Policy
    """The policy in double precision whose numbers are all float32 values"""
    observation_space: Box = field(init=False, repr=False)
    action_space: Box = field(init=False, repr=False)
    native: _core.Float32Controller = field(init=False, repr=False)
    act: Callable[[ArrayLike], Singles] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "observation_space", self.rounded.observation_space)
        object.__setattr__(self, "action_space", self.rounded.action_space)
        object.__setattr__(self, "signals", self.rounded.signals)
        native = [forest._native for forest in self.rounded.forests]
        periods = period_rows(self.rounded.periodic, self.observation_space.shape[0])
        controller = _core.Float32Controller(native, bounds(self.action_space), periods)
        object.__setattr__(self, "native", controller)
        object.__setattr__(self, "act", controller.act)

    def controller(self) -> PolicyController:
        """A controller that keeps the history itself, with every number in float32."""
        from policyforest.policy.controller import PolicyController

        made = self.rounded.controller()
        return PolicyController(self, made.signals, np.float32)

    @property
    def periodic(self) -> Mapping[int, tuple[float, float]]:
        return self.rounded.periodic

    @property
    def info(self) -> PolicyInfo:
        return self.rounded.info

    @property
    def worst_case_comparisons(self) -> int:
        return self.rounded.worst_case_comparisons

    def act_batch(self, states: ArrayLike) -> Singles:
        """Actions for rows of states."""
        given = real_array("states", states)
        with np.errstate(over="ignore", under="ignore"):
            rows = np.ascontiguousarray(given, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.observation_space.shape[0]:
            raise ValueError(f"states: has shape {rows.shape}, must have {self.observation_space.shape[0]} columns")
        if not np.isfinite(rows).all():
            raise ValueError("states: holds a number that is not finite in float32")
        return self.native.act_batch(rows)


def float32_policy(policy: Policy) -> Float32Policy:
    """The policy in single precision; raises a ValueError if a number is beyond float32."""
    lo, hi = inwards(bounds(policy.action_space))
    rounded = replace(
        policy,
        forests=tuple(_rounded(forest) for forest in policy.forests),
        action_space=Box(lo, hi, dtype=np.float32),
        periodic={
            d: (_nearest("periodic", low), _nearest("periodic", high)) for d, (low, high) in policy.periodic.items()
        },
    )
    return Float32Policy(rounded)


def rounded_down(thresholds: Floats) -> Floats:
    """The largest float32 not above each number."""
    nearest = _finite_singles("split", thresholds)
    with np.errstate(under="ignore"):
        below = np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    return _finite_singles("split", below).astype(np.float64)


def inwards(box: Floats) -> tuple[Singles, Singles]:
    """The largest box of float32 numbers in a box; the nearest one if none fits between its sides."""
    near = _finite_singles("action_space", box)
    lo = np.where(near[:, 0] < box[:, 0], np.nextafter(near[:, 0], np.float32(np.inf)), near[:, 0])
    hi = np.where(near[:, 1] > box[:, 1], np.nextafter(near[:, 1], np.float32(-np.inf)), near[:, 1])
    fits = lo <= hi
    return np.where(fits, lo, near[:, 0]), np.where(fits, hi, near[:, 1])


def _rounded(forest: Forest) -> Forest:
    arrays = {name: array for name, array in forest.arrays.items() if name != "leaf_offsets"}
    inner = arrays["feature"] >= 0
    arrays["split"] = np.where(inner, 0.0, _finite_singles("leaves", np.where(inner, 0.0, arrays["split"])))
    arrays["split"][inner] = rounded_down(forest.arrays["split"][inner])
    if forest.leaf_model == "linear":
        arrays["coefficients"] = _finite_singles("coefficients", arrays["coefficients"]).astype(np.float64)
    else:
        del arrays["coefficients"]
    return Forest.from_arrays(**arrays)


def _finite_singles(name: str, numbers: Floats) -> Singles:
    with np.errstate(over="ignore", under="ignore"):
        singles = numbers.astype(np.float32)
    if not np.isfinite(singles).all():
        worst = float(np.abs(numbers).max())
        raise ValueError(f"{name}: holds a number of size {worst:g}, which is beyond float32")
    return singles


def _nearest(name: str, number: float) -> float:
    return float(_finite_singles(name, np.array([number]))[0])
