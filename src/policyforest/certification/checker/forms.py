"""Numbers that depend on unknowns, for many cells at once: c + a_1 eps_1 + … + a_k eps_k + [-e, e], |eps_i| <= 1.

Every result contains the exact one for all values of the unknowns: nonlinear parts and rounding errors are added to e.
The elementary functions of NumPy are assumed to be right within 4 units in the last place. A number without a bound has
e = infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats

UNIT = 2.0**-53
SMALLEST = 1e-290
LARGEST_ANGLE = 1e6
Range = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class AffineForm:
    """One number for each cell. `pairs`: the number of unknowns whose products are bounded pair by pair; the products
    of the others are bounded together."""

    c: Floats
    e: Floats
    a: Floats
    """(unknowns, cells)"""
    pairs: int

    @classmethod
    def constant(cls, value: Floats | float, cells: int, pairs: int) -> AffineForm:
        return cls(np.full(cells, 0.0) + value, np.zeros(cells), np.zeros((0, cells)), pairs)

    @classmethod
    def within(cls, low: Floats, high: Floats, pairs: int) -> AffineForm:
        """Any number of a range."""
        middle = low / 2 + high / 2
        known = np.isfinite(middle)
        e = np.maximum(high - middle, middle - low) * (1 + 4 * UNIT) + 4 * UNIT * np.abs(middle) + SMALLEST
        safe = np.where(known, e, np.inf)
        return cls(np.where(known, middle, 0.0), safe, np.zeros((0, len(middle))), pairs)

    @property
    def rounding(self) -> float:
        """Bounds the relative error of the sums of one operation."""
        return 8 * UNIT * (len(self.a) + 2 * self.pairs**2 + 16)

    @property
    def radius(self) -> Floats:
        total = np.abs(self.a).sum(axis=0) + self.e
        return np.where(total == 0.0, 0.0, total * (1 + self.rounding) + SMALLEST)

    def range(self) -> Range:
        """The lowest and the highest value, rounded outwards."""
        r = self.radius
        slip = np.where(r == 0.0, 0.0, 8 * UNIT * (np.abs(self.c) + r))
        return self.c - r - slip, self.c + r + slip

    def __add__(self, other: AffineForm) -> AffineForm:
        return self._joined(other, 1.0)

    def __sub__(self, other: AffineForm) -> AffineForm:
        return self._joined(other, -1.0)

    def _joined(self, other: AffineForm, sign: float) -> AffineForm:
        mine, theirs = _aligned(self, other)
        c, a = mine.c + sign * theirs.c, mine.a + sign * theirs.a
        size = np.abs(mine.c) + np.abs(theirs.c) + np.abs(mine.a).sum(axis=0) + np.abs(theirs.a).sum(axis=0)
        size = size + mine.e + theirs.e
        return AffineForm(c, mine._up(mine.e + theirs.e + mine.rounding * size), a, self.pairs)

    def times(self, factor: Floats | float) -> AffineForm:
        """Multiplied by numbers that are known."""
        c, a, e = self.c * factor, self.a * factor, self.e * np.abs(factor)
        return AffineForm(c, self._up(e + self.rounding * (np.abs(c) + np.abs(a).sum(axis=0) + e)), a, self.pairs)

    def plus(self, by: Floats | float) -> AffineForm:
        c = self.c + by
        return AffineForm(c, self._up(self.e + self.rounding * (np.abs(self.c) + np.abs(by))), self.a, self.pairs)

    def wider(self, by: Floats | float) -> AffineForm:
        return AffineForm(self.c, self._up(self.e + by), self.a, self.pairs)

    def __mul__(self, other: AffineForm) -> AffineForm:
        x, y = _aligned(self, other)
        p = min(self.pairs, len(x.a))
        error, squares = np.zeros_like(x.c), np.zeros_like(x.c)
        for i in range(p):
            # eps_i² lies in [0, 1]: half of its factor moves the middle, half is an error.
            squares = squares + x.a[i] * y.a[i]
            error = error + np.abs(x.a[i] * y.a[i]) / 2
            for j in range(i + 1, p):
                error = error + np.abs(x.a[i] * y.a[j] + x.a[j] * y.a[i])
        near_x, near_y = np.abs(x.a[:p]).sum(axis=0), np.abs(y.a[:p]).sum(axis=0)
        far_x, far_y = np.abs(x.a[p:]).sum(axis=0), np.abs(y.a[p:]).sum(axis=0)
        error = error + near_x * far_y + far_x * near_y + far_x * far_y
        all_x, all_y = np.abs(x.c) + near_x + far_x, np.abs(y.c) + near_y + far_y
        error = error + all_x * y.e + all_y * x.e + x.e * y.e
        error = error + x.rounding * (all_x + x.e) * (all_y + y.e)
        return AffineForm(x.c * y.c + squares / 2, x._up(error), x.c * y.a + y.c * x.a, self.pairs)

    def smooth(self, value: Floats, slope: Floats, bend: Range, values: Range) -> AffineForm:
        """f(self), from f and f' at the middle, the range of f'' and that of f: Taylor's formula of second order."""
        r = self.radius
        low, high = np.minimum(bend[0], 0.0) * r * r / 2, np.maximum(bend[1], 0.0) * r * r / 2
        rest = (high - low) / 2
        size = np.abs(value) + np.abs(slope) * (r + np.abs(self.c)) + high - low
        line = AffineForm(
            value + (low + high) / 2,
            self._up(np.abs(slope) * self.e + rest + self.rounding * size),
            self.a * slope,
            self.pairs,
        )
        return choose(rest <= (values[1] - values[0]) / 4, line, AffineForm.within(*values, self.pairs))

    def bounded(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(np.abs(self.a).sum(axis=0) + self.e + np.abs(self.c)))

    def _up(self, error: Floats) -> Floats:
        return error * (1 + self.rounding) + SMALLEST


def choose(which: NDArray[np.bool_], x: AffineForm, y: AffineForm) -> AffineForm:
    """x in some cells, y in the others."""
    x, y = _aligned(x, y)
    return AffineForm(np.where(which, x.c, y.c), np.where(which, x.e, y.e), np.where(which, x.a, y.a), x.pairs)


def unknown(middle: Floats, half: Floats, number: int, pairs: int) -> AffineForm:
    """middle + half * eps of this number."""
    a = np.zeros((number + 1, len(middle)))
    a[number] = half
    return AffineForm(middle, np.zeros_like(middle), a, pairs)


def own_error(x: AffineForm, number: int) -> AffineForm:
    """The error of a form as an unknown of this number."""
    a = np.zeros((number + 1, len(x.c)))
    a[: len(x.a)] = x.a
    a[number] = x.e
    return AffineForm(x.c, np.zeros_like(x.c), a, x.pairs)


def either(x: AffineForm, y: AffineForm) -> AffineForm:
    """A number that is one of two."""
    x, y = _aligned(x, y)
    apart = (np.abs(x.c - y.c) + np.abs(x.a - y.a).sum(axis=0)) / 2
    size = np.abs(x.c) + np.abs(y.c) + np.abs(x.a).sum(axis=0) + np.abs(y.a).sum(axis=0) + x.e + y.e
    e = x._up(np.maximum(x.e, y.e) + apart + x.rounding * size)
    return AffineForm(x.c / 2 + y.c / 2, e, x.a / 2 + y.a / 2, x.pairs)


def unbounded(like: AffineForm) -> AffineForm:
    """No bound in any cell."""
    return AffineForm(np.zeros_like(like.c), np.full_like(like.c, np.inf), np.zeros((0, len(like.c))), like.pairs)


def clipped(x: AffineForm, low: float, high: float) -> AffineForm:
    """x kept in [low, high]: the chord between the ends of its range, and the distance of the corners from it."""
    lo, hi = x.range()
    ends = np.clip(lo, low, high), np.clip(hi, low, high)
    width = np.where(hi > lo, hi - lo, 1.0)
    with np.errstate(all="ignore"):
        slope = np.where(hi > lo, (ends[1] - ends[0]) / width, 0.0)
        corners = [ends[0] - slope * lo, ends[1] - slope * hi]
        corners += [
            np.where((lo < corner) & (corner < hi), corner - slope * corner, corners[0]) for corner in (low, high)
        ]
        least, most = np.minimum.reduce(corners), np.maximum.reduce(corners)
        size = np.abs(lo) + np.abs(hi) + np.where(lo < low, abs(low), 0.0) + np.where(hi > high, abs(high), 0.0)
        line = x.times(slope).plus((least + most) / 2).wider((most - least) / 2 + x.rounding * size)
    cells = len(x.c)
    result = choose((lo >= low) & (hi <= high), x, line)
    if np.isfinite(high):
        result = choose(lo >= high, AffineForm.constant(high, cells, x.pairs), result)
    if np.isfinite(low):
        result = choose(hi <= low, AffineForm.constant(low, cells, x.pairs), result)
    whole = AffineForm.within(np.full(cells, low), np.full(cells, high), x.pairs)
    return choose(x.bounded(), result, whole)


def monotone(f: Callable[[Floats], Floats], lo: Floats, hi: Floats) -> Range:
    """The range of a function whose largest and smallest values are at the ends, rounded outwards."""
    a, b = f(lo), f(hi)
    return outwards(np.minimum(a, b), np.maximum(a, b))


def outwards(low: Floats, high: Floats) -> Range:
    return low - 64 * UNIT * np.abs(low) - SMALLEST, high + 64 * UNIT * np.abs(high) + SMALLEST


def _aligned(x: AffineForm, y: AffineForm) -> tuple[AffineForm, AffineForm]:
    """Both with the same number of unknowns."""
    k = max(len(x.a), len(y.a))
    return _padded(x, k), _padded(y, k)


def _padded(x: AffineForm, k: int) -> AffineForm:
    if len(x.a) == k:
        return x
    return AffineForm(x.c, x.e, np.concatenate([x.a, np.zeros((k - len(x.a), len(x.c)))]), x.pairs)
