"""How the checker rejects: an exception with the reason, and the function that raises it."""

from __future__ import annotations

from typing import Any


class RejectedError(Exception):
    """A certificate does not prove its statement; the text is the reason."""


def require(holds: Any, what: str) -> None:
    """Rejects with a reason if a condition does not hold."""
    if not holds:
        raise RejectedError(what)
