"""A policy taken apart into arrays and plain settings, and put together again: what its file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Array
from policyforest.forest.forest import Forest
from policyforest.policy.policy_info import PolicyInfo

# Name, type and dimensions of the arrays of a forest; constant leaves have no coefficients.
FOREST_ARRAYS: dict[str, tuple[str, int]] = {
    "feature": ("<i4", 1),
    "split": ("<f8", 1),
    "child": ("<i4", 1),
    "node_offsets": ("<i8", 1),
    "box": ("<f8", 2),
    "coefficients": ("<f8", 2),
}


@dataclass(frozen=True)
class PolicyKind:
    """How policies of one kind are taken apart and put together.

    `pack(policy)` returns its arrays and its plain settings; `unpack(parts)` takes all of them out of the `Parts`, and
    raises a ValueError if they do not make a policy."""

    pack: Callable[[Any], tuple[dict[str, Array], dict[str, Any]]]
    unpack: Callable[[Parts], Any]


class Parts:
    """The parts of a policy in a file. Arrays and settings are taken out one by one; any that are left over are an
    error."""

    def __init__(
        self,
        arrays: Mapping[str, Array],
        settings: Mapping[str, Any],
        observation_space: Box,
        action_space: Box,
        info: PolicyInfo,
    ) -> None:
        self._arrays = dict(arrays)
        self._settings = dict(settings)
        self.observation_space = observation_space
        self.action_space = action_space
        self.info = info

    def array(self, name: str, dtype: str, ndim: int) -> Array:
        """Takes out an array, which must be there and of this type."""
        if name not in self._arrays:
            raise ValueError(f"it has no array {name}")
        array = self._arrays.pop(name)
        if array.dtype != np.dtype(dtype) or array.ndim != ndim:
            raise ValueError(
                f"{name} holds {array.dtype} of shape {array.shape}, must hold {dtype} in {ndim} dimensions"
            )
        return array

    def forest(self, name: str) -> Forest:
        """Takes out the arrays that `forest_arrays` names, and checks all of them."""
        linear = f"{name}.coefficients" in self._arrays
        arrays = {
            key: self.array(f"{name}.{key}", *kind)
            for key, kind in FOREST_ARRAYS.items()
            if linear or key != "coefficients"
        }
        if linear and arrays["coefficients"].size == 0:
            raise ValueError(f"{name}.coefficients is empty")
        if (arrays["box"][:, :1] == np.inf).any() or (arrays["box"][:, 1:] == -np.inf).any():
            raise ValueError(f"{name}.box has no finite point")
        return Forest.from_arrays(**arrays)

    def setting(self, name: str) -> Any:
        """Takes out a setting, which must be there."""
        if name not in self._settings:
            raise ValueError(f"it has no setting {name}")
        return self._settings.pop(name)

    def periodic(self) -> dict[int, tuple[float, float]]:
        """Takes out the setting that `periodic_setting` made."""
        value = self.setting("periodic")
        if not isinstance(value, dict):
            raise ValueError(f"periodic is {value!r}, must be an object")
        periodic = {int(d): (float(low), float(high)) for d, (low, high) in value.items()}
        # " 1" and "1_0" are numbers too in Python; a turn can be so long that its length is infinite.
        if periodic_setting(periodic) != value or not all(np.isfinite(hi - lo) for lo, hi in periodic.values()):
            raise ValueError(f"periodic is {value}, must hold finite turns")
        return periodic

    def finish(self) -> None:
        """Refuses entries that no reader took."""
        if self._arrays or self._settings:
            names = ", ".join([*self._arrays, *self._settings])
            raise ValueError(f"it holds {names}, which does not belong there")


def forest_arrays(name: str, forest: Forest) -> dict[str, Array]:
    """The arrays of a forest as `Parts.forest` looks for them."""
    arrays = forest.arrays
    kept = [key for key in FOREST_ARRAYS if key != "coefficients" or forest.leaf_model == "linear"]
    return {f"{name}.{key}": arrays[key] for key in kept}


def periodic_setting(periodic: Mapping[int, tuple[float, float]]) -> dict[str, list[str]]:
    """The setting of periodic dimensions; numbers are stored as text, because `repr` keeps every bit."""
    return {str(d): [repr(float(side)) for side in turn] for d, turn in periodic.items()}
