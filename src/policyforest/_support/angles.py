"""Angles: one place for how they are turned into their period and how far apart they are."""

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
    """x itself where it lies within [lo, hi], else moved by whole turns and clipped to it: the core's rule."""
    return np.where((x >= lo) & (x <= hi), x, np.clip(turned(x, lo, hi), lo, hi))


def turned_half_open(x: float, lo: float, hi: float) -> float:
    """x moved by whole turns into [lo, hi), and lo where rounding would leave it outside; it must be finite."""
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
    """Rows of differences of states, those of angles the short way round."""
    apart = apart.copy()
    for d, (lo, hi) in periodic.items():
        apart[:, d] = (apart[:, d] + (hi - lo) / 2) % (hi - lo) - (hi - lo) / 2
    return apart


def wrapped(states: Floats, periodic: Periodic) -> Floats:
    """The same rows of states, angles within their period."""
    states = states.copy()
    for d, (lo, hi) in periodic.items():
        states[:, d] = np.clip(lo + np.mod(states[:, d] - lo, hi - lo), lo, hi)
    return states
