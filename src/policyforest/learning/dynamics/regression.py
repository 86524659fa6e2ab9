"""One learned output: a parametric part, and a Gaussian process or a forest with linear leaves for its residuals.

The parametric part is absent or a polynomial of standardised inputs, angles as sine and cosine:

    y = c · phi(x) + F(x),    c = (Phi' Phi + 1e-6 N D)^-1 Phi' y,

where D is the identity without the entry of the constant, so a constant output is fitted exactly. Coefficients of
products may be shrunk by a larger ridge: with few samples they are mostly noise, which adds to the noise of the slopes.
A smooth output with few samples has a linear part and the mean of a Gaussian process (`kernel`) instead of the forest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.learning.dynamics.kernel import FittedKernel, KernelShape, fit_kernel, kernel_shape
from policyforest.learning.dynamics.least_squares import RIDGE, fitted_to_most, fitted_to_noise, ridge
from policyforest.learning.dynamics.symmetry import n_even_terms, towards_odd

Base = Literal["none", "linear", "quadratic", "cubic", "quartic", "quintic", "kernel"]
# Bases by the degree of their polynomial.
BASES: tuple[Base, ...] = ("none", "linear", "quadratic", "cubic", "quartic", "quintic")


class OutputKind(NamedTuple):
    """The parts of an output. `leaf`: samples per leaf divided by the coefficients of a leaf, None: no forest. The base
    "kernel" is a linear function and a Gaussian process. `shrink`: the ridge of the coefficients of products, as a
    fraction of the number of samples. `robust`: the base is fitted to most samples, and ignores the others. `odd`: the
    base is shrunk towards odd functions as far as noise hides the difference (`symmetry`)."""

    base: Base
    leaf: int | None = None
    shrink: float = RIDGE
    robust: bool = False
    odd: bool = False

    def __str__(self) -> str:
        forest = "" if self.leaf is None else f"forest (leaf {self.leaf})"
        shrunk = "" if self.shrink == RIDGE else f" (shrunk by {self.shrink:g})"
        how = "robust " if self.robust else "nearly odd " if self.odd else ""
        base = "" if self.base == "none" else how + self.base + shrunk
        return " + ".join(part for part in (base, forest) if part) or "none"


@dataclass(frozen=True)
class ModelInputs:
    """Rows of inputs, the scales of their columns, and which columns are angles."""

    rows: Floats
    periodic: Mapping[int, tuple[float, float]]
    products: dict[Base, Floats] = field(default_factory=dict, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    """The weight of each row in the parametric part; None: equal weights"""
    mirrored: dict[Base, tuple[Floats, int]] = field(default_factory=dict, repr=False)

    @cached_property
    def table(self) -> Floats:
        """A row (centre, scale, turn, low, high) for each column, as the core expects it."""
        spread = self.rows.std(axis=0)
        centre = self.rows.mean(axis=0)
        scale = np.where(spread > 1e-9 * (1.0 + np.abs(centre)), spread, 1.0)
        turn = np.zeros(self.rows.shape[1])
        for d, (lo, hi) in self.periodic.items():
            turn[d] = 2 * np.pi / (hi - lo)
        table = np.stack([centre, scale, turn, self.rows.min(axis=0), self.rows.max(axis=0)], axis=1)
        for d, sides in self.periodic.items():
            table[d, 3:] = sides
        return table

    @cached_property
    def shapes(self) -> dict[bytes, KernelShape]:
        """The shapes of kernels that were found so far, by the output that is regressed."""
        return {}

    def shape_of(self, y: Floats, seed: int) -> KernelShape:
        """The shape of the kernel for the residuals of a linear function at all rows."""
        key = y.tobytes()
        if key not in self.shapes:
            left = y - self.linear @ ridge(self.linear, y)
            self.shapes[key] = kernel_shape(self.linear[:, 1:], left, seed)
        return self.shapes[key]

    def group(self) -> _core.RegressorGroup:
        """An empty group of regressors over these inputs."""
        return _core.RegressorGroup(self.table)

    @cached_property
    def linear(self) -> Floats:
        """Features (1, z)."""
        return self.group().features(self.rows, 1)

    @property
    def quadratic(self) -> Floats:
        """Features (1, z, products of two z)."""
        return self.features("quadratic")

    @property
    def n_quadratic(self) -> int:
        """Coefficients of a quadratic model."""
        return self.n_coefficients("quadratic")

    @property
    def width(self) -> int:
        """Coefficients of a linear model."""
        return int(self.linear.shape[1])

    def n_coefficients(self, base: Base) -> int:
        """Coefficients of a base."""
        degree = BASES.index(base)
        return comb(self.width - 1 + degree, degree) if degree else 0

    def features(self, base: Base) -> Floats:
        """The features of a base."""
        if base in ("none", "linear", "kernel"):
            return self.linear[:, : 0 if base == "none" else None]
        if base not in self.products:
            self.products[base] = self.group().features(self.rows, BASES.index(base))
        return self.products[base]

    def at_mirror_images(self, base: Base) -> tuple[Floats, int]:
        """The features of a base at -x for each row x, and the number of its even terms."""
        if base not in self.mirrored:
            features = self.group().features(np.ascontiguousarray(-self.rows), BASES.index(base))
            self.mirrored[base] = features, n_even_terms(self.features(base), features)
        return self.mirrored[base]


class FittedOutput(NamedTuple):
    """The parts of an output."""

    coefficients: Floats
    forest: Forest | None
    kernel: FittedKernel | None = None

    def add_to(self, group: _core.RegressorGroup) -> None:
        """Makes this the next output of a group over the same inputs."""
        group.add(np.ascontiguousarray(self.coefficients), None if self.forest is None else self.forest._native)
        if self.kernel is not None:
            group.set_kernel(*map(np.ascontiguousarray, self.kernel))


def r_squared(missed: Floats, true: Floats) -> float:
    """1 - (mean square of the errors) / variance; for a constant output 1 if it was predicted exactly, otherwise 0."""
    error, variance = float(np.mean(missed**2)), float(true.var())
    rounding = 1e-12 * float(np.mean(true**2))
    if variance <= rounding:
        return 1.0 if error <= rounding else 0.0
    return 1.0 - error / variance


def fit_output(
    kind: OutputKind,
    inputs: ModelInputs,
    y: Floats,
    rows: NDArray[np.intp],
    *,
    n_estimators: int,
    seed: int,
    n_jobs: int | None,
) -> FittedOutput:
    """Fits an output on some rows, which may occur several times."""
    features = inputs.features(kind.base)[rows]
    target = y[rows]
    weights = None if inputs.weights is None else inputs.weights[rows]
    coefficients = ridge(features, target, weights, kind.shrink, inputs.width)
    if kind.shrink != RIDGE or kind.odd:
        coefficients = fitted_to_noise(features, target, weights, kind.shrink, inputs.width, coefficients)
    if kind.robust:
        coefficients = fitted_to_most(features, target, weights, coefficients)
    if kind.odd:
        mirrored, n_even = inputs.at_mirror_images(kind.base)
        coefficients = towards_odd(coefficients, features, mirrored[rows], target, weights, n_even)
    if kind.base == "kernel":
        left = y - inputs.linear @ coefficients
        return FittedOutput(coefficients, None, fit_kernel(inputs.shape_of(y, seed), inputs.linear[:, 1:], left, rows))
    if kind.leaf is None:
        return FittedOutput(coefficients, None)
    # Exceptions from a law of most samples are not smooth: leaves are constant, and zero if nothing is missed.
    per_leaf = 1 if kind.robust else inputs.width
    forest = grow_forest(
        inputs.rows[rows],
        target - features @ coefficients,
        n_estimators=n_estimators,
        min_samples_leaf=max(2, min(per_leaf * kind.leaf, len(rows) // 2)),
        leaf_model="constant" if kind.robust else "linear",
        periodic=inputs.periodic or None,
        random_state=seed % 2**64,
        n_jobs=n_jobs,
    )
    return FittedOutput(coefficients, forest)


def predict(fitted: FittedOutput, inputs: ModelInputs, rows: Floats) -> Floats:
    """The output at rows of inputs."""
    group = inputs.group()
    fitted.add_to(group)
    return np.asarray(group.predict(np.ascontiguousarray(rows))[:, 0])
