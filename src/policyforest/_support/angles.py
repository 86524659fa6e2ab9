"""Angles: moving them into their period, and the distances between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats

Periodic = Mapping[int, tuple[float, float]]
"""The dimensions that are angles, with the two ends of their period"""


def turned(x: Any, lo: Any, hi: Any) -> Any:
    """x moved by whole turns into [lo, hi], up to rounding; numbers and arrays keep their precision."""
    return x - (hi - lo) * np.floor((x - lo) / (hi - lo))


def turned_within(x: Any, lo: Any, hi: Any) -> Any:
    """x itself if it lies within [lo, hi], otherwise moved by whole turns and clipped to it: the core's rule."""
    return np.where((x >= lo) & (x <= hi), x, np.clip(turned(x, lo, hi), lo, hi))


def turned_half_open(x: float, lo: float, hi: float) -> float:
    """x, which must be finite, moved by whole turns into [lo, hi), and lo if rounding would leave it outside."""
    inside = x - (hi - lo) * math.floor((x - lo) / (hi - lo))
    return inside if lo <= inside < hi else lo


def difference(a: Floats, b: Floats, periodic: Periodic, d: int) -> Floats:
    """a - b in dimension d, the short way round for an angle."""
    apart: Floats = a - b
    if d in periodic:
        lo, hi = periodic[d]
        apart = apart - (hi - lo) * np.round(apart / (hi - lo))
    return apart


def within_half_a_turn(apart: Floats, periodic: Periodic) -> Floats:
    """Differences of states (…, dimensions); those of angles are taken the short way round."""
    apart = apart.copy()
    for d, (lo, hi) in periodic.items():
        apart[..., d] = (apart[..., d] + (hi - lo) / 2) % (hi - lo) - (hi - lo) / 2
    return apart


def wrapped(states: Floats, periodic: Periodic) -> Floats:
    """The same rows of states, angles within their period."""
    states = states.copy()
    for d, (lo, hi) in periodic.items():
        states[:, d] = np.clip(lo + np.mod(states[:, d] - lo, hi - lo), lo, hi)
    return states
