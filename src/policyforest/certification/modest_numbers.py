"""Numbers as text with few digits, rounded to the side that claims less, so that they never claim too much."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

DIGITS = 6


def percent(share: float, places: int = 2) -> str:
    """A share as a percentage, rounded down: 0.99999 is 99.99%."""
    exact = 100 * Decimal(repr(float(share)))
    return f"{exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_FLOOR)}%"


def at_most(x: float) -> str:
    """A number of six digits that is not above x."""
    return _short(x, ROUND_FLOOR)


def at_least(x: float) -> str:
    """A number of six digits that is not below x."""
    return _short(x, ROUND_CEILING)


def _short(x: float, rounding: str) -> str:
    exact = Decimal(repr(float(x)))
    if not exact:
        return "0"
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), rounding=rounding)
    return f"{float(rounded):.6g}"
