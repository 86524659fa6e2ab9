"""Formulas of a configuration: an `Expression` of known names, for one step at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from policyforest._support.formulas import Expression


class Formula:
    """A function of named numbers, written as ``-(abs(next_theta)/pi + (tau/15)**2)`` or ``abs(next_omega) > 10``."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        known = set(names)
        try:
            self._expression = Expression(text)
        except ValueError as error:
            raise ValueError(str(error).removeprefix("expression: ")) from None
        if unknown := self._expression.names - known:
            raise ValueError(f"has {', '.join(map(repr, sorted(unknown)))}, known are {', '.join(sorted(known))}")

    def __call__(self, values: Mapping[str, float]) -> float:
        """Its value; a comparison is 1.0 or 0.0."""
        result = float(self._expression({name: np.array([value]) for name, value in values.items()})[0])
        if not math.isfinite(result):
            raise ValueError(f"formula {self._expression.text!r}: is {result} for {dict(values)}, must be finite")
        return result
