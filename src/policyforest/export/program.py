"""The form of a policy before it is written as C: trees whose thresholds and leaves are whole numbers, or floats of one
width.

A float is compared by its *key*: its bits read as a signed integer, with the magnitude of negative numbers inverted.
For floats, `x <= v` is equivalent to `key(x) <= key(v)` for integers, for every x (±0 and subnormals included), if
v = -0 is replaced by +0. Comparing integers needs no float unit, no status register and no library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.forest.forest import Forest

Precision = Literal["float64", "float32", "int16"]
"""The numbers that exported C computes with."""
Style = Literal["table", "branches"]
"""How exported C holds a tree: in arrays, or as nested ifs."""
PRECISIONS: tuple[Precision, ...] = ("float64", "float32", "int16")
STYLES: tuple[Style, ...] = ("table", "branches")


@dataclass(frozen=True)
class CodeTree:
    """One tree, laid out as in `Forest.arrays`: children follow their parent, the upper one after the lower one."""

    feature: list[int]
    """-1: a leaf"""
    key: list[int]
    """The number with which the key of an input is compared; without meaning in leaves"""
    child: list[int]
    """The lower child; in a leaf its number, the row of `models`"""
    models: NDArray[Any]
    """Rows of one number (constant leaves) or w…, c: floats of the program's width, or whole numbers"""

    def sizes(self, node: int, leaf: int) -> list[int]:
        """How much room the subtree below each node takes if an inner node takes `node` and a leaf `leaf`."""
        size = [leaf] * len(self.feature)
        for i in range(len(self.feature) - 1, -1, -1):
            if self.feature[i] >= 0:
                size[i] = node + size[self.child[i]] + size[self.child[i] + 1]
        return size


@dataclass(frozen=True)
class CodeForest:
    """The trees of one action, and how their sum becomes the action: offset + sum * scale, or sum / number of trees."""

    trees: tuple[CodeTree, ...]
    linear: bool
    action_lo: float
    action_hi: float
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Program:
    """A policy ready to be written as code."""

    precision: Precision
    forests: tuple[CodeForest, ...]
    n_states: int
    periodic: Mapping[int, tuple[float, float]]
    state_lo: Sequence[float] = ()
    """int16: the lower end of each dimension, which becomes -32768"""
    state_scale: Sequence[float] = ()
    """int16: steps per unit"""

    @property
    def real(self) -> str:
        return "double" if self.precision == "float64" else "float"

    @property
    def bits(self) -> int:
        """Width of a word of the table and of a key"""
        return {"float64": 64, "float32": 32, "int16": 16}[self.precision]

    @property
    def n_trees(self) -> int:
        return sum(len(forest.trees) for forest in self.forests)

    def literal(self, number: float) -> str:
        """A number in C that is read back bit for bit."""
        if self.precision == "float64":
            return repr(float(number))
        text = str(np.float32(number))
        return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def float_keys(numbers: Floats, precision: Precision) -> NDArray[np.int64]:
    """Whole numbers in the order of the floats; -0 counts as +0."""
    real, whole = (np.float64, np.int64) if precision == "float64" else (np.float32, np.int32)
    positive_zero = np.where(numbers == 0, 0.0, numbers)
    bits: NDArray[Any] = np.ascontiguousarray(positive_zero, dtype=real).view(whole)
    return np.where(bits < 0, bits ^ np.iinfo(whole).max, bits).astype(np.int64, copy=False)


def float_program(policy: Any, precision: Precision) -> Program:
    """The program of a `Policy` whose numbers are floats of this precision already."""
    real = np.float64 if precision == "float64" else np.float32
    lo, hi = (side.astype(np.float64) for side in (policy.action_space.low, policy.action_space.high))
    forests = tuple(
        CodeForest(
            tuple(
                code_tree(forest, k, float_keys(forest.arrays["split"], precision), forest_models(forest).astype(real))
                for k in range(len(forest))
            ),
            forest.leaf_model == "linear",
            float(lo[j]),
            float(hi[j]),
        )
        for j, forest in enumerate(policy.forests)
    )
    return Program(precision, forests, policy.observation_space.shape[0], dict(policy.periodic))


def forest_models(forest: Forest) -> Floats:
    """One row per leaf, in the order of the leaves: its constant, or w…, c."""
    arrays = forest.arrays
    if forest.leaf_model == "linear":
        return np.asarray(arrays["coefficients"])
    leaves: Floats = arrays["split"][arrays["feature"] < 0]
    return leaves[:, np.newaxis]


def code_tree(forest: Forest, k: int, keys: NDArray[Any], models: NDArray[Any]) -> CodeTree:
    """Tree k, with the keys of all nodes and the models of all leaves of the forest."""
    arrays = forest.arrays
    nodes = slice(int(arrays["node_offsets"][k]), int(arrays["node_offsets"][k + 1]))
    leaves = slice(int(arrays["leaf_offsets"][k]), int(arrays["leaf_offsets"][k + 1]))
    return CodeTree(
        arrays["feature"][nodes].tolist(), keys[nodes].tolist(), arrays["child"][nodes].tolist(), models[leaves]
    )
