"""Thresholds for doubles that give the same decisions as a comparison in float32.

scikit-learn's trees and XGBoost round an input to float32 before they compare it. Rounding is monotone, so
`float32(x) <= t` is `x <= T` for one double T: the largest that rounds to a float32 not above t.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Stands for the float32 after the largest finite one: doubles that are at least halfway to it round to infinity.
_BEYOND = 2.0**128


def less_equal_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """The T with `x <= T` exactly when `float32(x) <= threshold`, for every double x.

    Let a be the largest float32 not above the threshold, and b the next one. Doubles below the middle of a and b
    round to a or lower; the middle itself rounds to the one whose last bit is 0 (ties to even).
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        above = np.nextafter(below, np.float32(np.inf))
        middle = (_finite(below) + _finite(above)) / 2  # exact: 25 bits are enough
        tie_goes_to_below = below.view(np.int32) & 1 == 0
        return np.where(tie_goes_to_below, middle, np.nextafter(middle, -np.inf))


def less_threshold(threshold: NDArray[np.float32]) -> NDArray[np.float64]:
    """The T with `x <= T` exactly when `float32(x) < threshold`, for every double x."""
    with np.errstate(over="ignore", under="ignore"):
        before = np.nextafter(threshold, np.float32(-np.inf))
    return less_equal_threshold(before.astype(np.float64))


def _finite(value: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.clip(value.astype(np.float64), -_BEYOND, _BEYOND)
