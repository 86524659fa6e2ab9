"""The search of Nelder and Mead (1965) for the minimum of a function without slopes.

A simplex of n + 1 points moves downhill: its worst point is reflected at the middle of the others, further out if that
is the best so far, half as far if it is not; if nothing helps, all points move half way to the best. The steps are
those of SciPy's method "Nelder-Mead" to the bit (tests compare them), except that points of equal value keep their
order on every machine. SciPy itself would double the size of an installation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats


class _SpentError(Exception):
    """All calls of the function are spent."""


class _Simplex:
    """Points and their values, the best first."""

    def __init__(self, function: Callable[[Floats], float], points: Floats, most_calls: int) -> None:
        self._function, self._calls, self._most_calls = function, 0, most_calls
        self.points: Floats = points.copy()
        self.values: Floats = np.full(len(points), np.inf)

    def value(self, point: Floats) -> float:
        """The function at a point, if a call is left."""
        if self._calls >= self._most_calls:
            raise _SpentError
        self._calls += 1
        return float(self._function(point))

    def begin(self) -> None:
        for k in range(len(self.points)):
            self.values[k] = self.value(self.points[k])

    def sort(self) -> None:
        order = np.argsort(self.values, kind="stable")
        self.points, self.values = self.points[order], self.values[order]

    def spread(self) -> tuple[float, float]:
        """The largest distances of the points and of the values from the best."""
        apart: Any = np.abs(self.points[1:] - self.points[0]).max()
        return float(apart), float(np.abs(self.values[0] - self.values[1:]).max())

    def step(self) -> None:
        """Replaces the worst point, or moves all of them towards the best."""
        middle = np.add.reduce(self.points[:-1], 0) / (len(self.points) - 1)
        worst = self.points[-1].copy()
        reflected = 2.0 * middle - worst
        at_reflected = self.value(reflected)
        if at_reflected < self.values[0]:
            further = 3.0 * middle - 2.0 * worst
            at_further = self.value(further)
            self._replace(further, at_further) if at_further < at_reflected else self._replace(reflected, at_reflected)
        elif at_reflected < self.values[-2]:
            self._replace(reflected, at_reflected)
        else:
            self._contract(middle, worst, at_reflected)

    def _contract(self, middle: Floats, worst: Floats, at_reflected: float) -> None:
        outside = at_reflected < self.values[-1]
        nearer = 1.5 * middle - 0.5 * worst if outside else 0.5 * middle + 0.5 * worst
        at_nearer = self.value(nearer)
        if (at_nearer <= at_reflected) if outside else (at_nearer < self.values[-1]):
            self._replace(nearer, at_nearer)
            return
        for k in range(1, len(self.points)):
            self.points[k] = self.points[0] + 0.5 * (self.points[k] - self.points[0])
            self.values[k] = self.value(self.points[k])

    def _replace(self, point: Floats, value: float) -> None:
        self.points[-1], self.values[-1] = point, value


def minimise(function: Callable[[Floats], float], simplex: Floats, *, most_calls: int, tolerance: float) -> Floats:
    """The best point found with a limited number of calls, from the n + 1 rows of `simplex`.

    It ends earlier where all values are equal and all points within `tolerance` of the best."""
    search = _Simplex(function, simplex, most_calls)
    try:
        search.begin()
        search.sort()
        while True:
            apart, differ = search.spread()
            if apart <= tolerance and differ <= 0.0:
                break
            search.step()
            search.sort()
    except _SpentError:
        search.sort()
    best: Floats = search.points[0]
    return best
