"""Converts the text of cells to numbers, booleans and times."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

TRUE, FALSE = frozenset({"1", "true", "t", "yes", "1.0"}), frozenset({"0", "false", "f", "no", "0.0"})
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)


def parse_number(text: str) -> float:
    """A finite number, or NaN for an empty cell; any other text raises a ValueError that shows it."""
    text = text.strip()
    if not text:
        return math.nan
    try:
        value = float(text) if "_" not in text else math.nan  # Python reads 1_000, logs do not hold it
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        comma = " (write a decimal point, not a comma)" if DECIMAL_COMMA.fullmatch(text) else ""
        raise ValueError(f"{shown(text)} is not a finite number{comma}")
    return value


def parse_truth(text: str) -> bool:
    word = text.strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ValueError(f"{shown(text)} is neither true nor false (1 or 0)")


def parse_seconds(text: str) -> float:
    """Seconds as a number, or from a date and time in ISO 8601, which is in UTC if it has no time zone."""
    try:
        value = parse_number(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(f"{shown(text)} is neither seconds nor a date and time") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if math.isnan(value):
        raise ValueError("is empty")
    return value


def shown(text: str, most: int = 30) -> str:
    return repr(text if len(text) <= most else text[:most] + "…")
