"""Basis functions for linear value functions: Q(x) = w . phi(x).

A `Basis` defines the form of the functions; `basis.over(box)` places them over a box of inputs and returns the
`Features` phi: (N, D) -> (N, K). Inputs are first scaled so that the box becomes [-1, 1]^D; nothing is clipped, so phi
is defined outside of the box as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats

MAX_FEATURES = 2_000
"""LSTDQ solves dense systems of (blocks * K)^2 numbers, so a grid over many dimensions would take too long."""


class Features(Protocol):
    """phi: one row of K numbers for each row of D inputs."""

    @property
    def n_features(self) -> int: ...

    def __call__(self, X: Floats) -> Floats: ...


class Basis(Protocol):
    """A family of functions that can be defined over any box."""

    def over(self, box: Floats) -> Features:
        """The functions of this basis over a box of inputs."""


@dataclass(frozen=True)
class PolynomialBasis:
    """All monomials z_1^e_1 ... z_D^e_D with e_1 + ... + e_D <= degree, including the constant."""

    degree: int = 2

    def __post_init__(self) -> None:
        if self.degree < 0:
            raise ValueError(f"degree: is {self.degree}, must be at least 0")

    def over(self, box: Floats) -> Polynomials:
        """Its polynomials over a box of inputs."""
        centre, scale = _unit_scaling(box)
        exponents = _exponents(len(box), self.degree)
        _check_size(len(exponents))
        return Polynomials(centre, scale, exponents)


@dataclass(frozen=True)
class Polynomials:
    """A `PolynomialBasis` over a box."""

    centre: Floats
    scale: Floats
    exponents: NDArray[np.int64]

    @property
    def n_features(self) -> int:
        return len(self.exponents)

    def __call__(self, X: Floats) -> Floats:
        z = (X - self.centre) / self.scale
        highest = int(self.exponents.max(initial=0))
        powers = np.stack([z**e for e in range(highest + 1)])
        phi = np.ones((len(X), self.n_features))
        for dimension, exponent in enumerate(self.exponents.T):
            phi *= powers[exponent, :, dimension].T
        return phi


@dataclass(frozen=True)
class RadialBasis:
    """A constant and Gaussians on a regular grid: phi_j(z) = exp(-|(z - c_j) / sigma|^2 / 2).

    The grid has `n_centres` points per dimension (one number, or one for each dimension) between -reach and +reach of
    the scaled box; sigma is `width` times the spacing of the grid, dimension by dimension. A dimension with one centre
    is left out of the Gaussians.
    """

    n_centres: int | Sequence[int] = 4
    width: float = 1.0
    reach: float = 1.0

    def __post_init__(self) -> None:
        if np.any(np.asarray(self.n_centres) < 1):
            raise ValueError(f"n_centres: is {self.n_centres}, must be at least 1 in every dimension")
        if not (np.isfinite(self.width) and self.width > 0):
            raise ValueError(f"width: is {self.width}, must be positive")
        if not (np.isfinite(self.reach) and self.reach > 0):
            raise ValueError(f"reach: is {self.reach}, must be positive")

    def over(self, box: Floats) -> RadialGrid:
        """Its Gaussians over a box of inputs."""
        centre, scale = _unit_scaling(box)
        counts = [self.n_centres] * len(box) if isinstance(self.n_centres, int) else list(self.n_centres)
        if len(counts) != len(box):
            raise ValueError(f"n_centres: has {len(counts)} numbers, must have one per input ({len(box)})")
        _check_size(1 + int(np.prod([float(c) for c in counts])))
        axes = tuple(np.linspace(-self.reach, self.reach, c) if c > 1 else np.zeros(0) for c in counts)
        sigmas = tuple(self.width * 2.0 * self.reach / max(c - 1, 1) for c in counts)
        return RadialGrid(centre, scale, axes, sigmas)


@dataclass(frozen=True)
class RadialGrid:
    """A `RadialBasis` over a box. The Gaussian of a grid point is a product of one-dimensional ones."""

    centre: Floats
    scale: Floats
    axes: tuple[Floats, ...]
    sigmas: tuple[float, ...]

    @cached_property
    def n_features(self) -> int:
        return 1 + math.prod(max(len(axis), 1) for axis in self.axes)

    @cached_property
    def _bumps(self) -> tuple[NDArray[np.int64], Floats, Floats, list[slice]]:
        """All one-dimensional Gaussians in a row: their dimension, centre and width, and each dimension's slice."""
        counts = [len(axis) for axis in self.axes]
        ends = np.cumsum(counts).tolist()
        slices = [slice(end - count, end) for end, count in zip(ends, counts, strict=True) if count]
        return (
            np.repeat(np.arange(len(counts)), counts),
            np.concatenate(self.axes),
            np.repeat(self.sigmas, counts),
            slices,
        )

    def __call__(self, X: Floats) -> Floats:
        dimension, centres, sigmas, slices = self._bumps
        z = (X - self.centre) / self.scale
        bumps = np.exp(-0.5 * ((z[:, dimension] - centres) / sigmas) ** 2)
        features = np.ones((len(X), self.n_features))
        if slices:
            grid = bumps[:, slices[0]]
            for part in slices[1:]:
                grid = (grid[:, :, None] * bumps[:, None, part]).reshape(len(X), -1)
            features[:, 1:] = grid
        return features


def default_basis(n_inputs: int) -> Basis:
    """Four Gaussians per dimension if that gives at most 257 functions; otherwise polynomials, which are fewer."""
    if n_inputs <= 4:
        return RadialBasis(4)
    return PolynomialBasis(3 if n_inputs <= 8 else 2)


def _unit_scaling(box: Floats) -> tuple[Floats, Floats]:
    """Centre and half width of each dimension; a dimension without width is only shifted."""
    box = np.asarray(box, dtype=np.float64)
    if box.ndim != 2 or box.shape[1] != 2:
        raise ValueError(f"box: has shape {box.shape}, must have shape (D, 2)")
    if not np.isfinite(box).all() or (box[:, 0] > box[:, 1]).any():
        raise ValueError(f"box: is {box.tolist()}, must be finite with low <= high")
    with np.errstate(over="ignore"):
        half = (box[:, 1] - box[:, 0]) / 2.0
    if not np.isfinite(half).all():
        raise ValueError(f"box: is {box.tolist()}, must have a finite width")
    return box[:, 0] + half, np.where(half > 0.0, half, 1.0)


def _exponents(dimensions: int, degree: int) -> NDArray[np.int64]:
    rows = [
        np.bincount(np.asarray(chosen, dtype=np.int64), minlength=dimensions)
        for total in range(degree + 1)
        for chosen in combinations_with_replacement(range(dimensions), total)
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), dimensions)


def _check_size(n_features: int) -> None:
    if n_features > MAX_FEATURES:
        raise ValueError(f"basis: has {n_features} functions over this box, must have at most {MAX_FEATURES}")
