"""How the checker rejects: one exception with the reason, and the question that raises it."""

from __future__ import annotations

from typing import Any


class RejectedError(Exception):
    """A certificate does not prove what it says; the text is the reason."""


def require(holds: Any, what: str) -> None:
    """Rejects with a reason where something does not hold."""
    if not holds:
        raise RejectedError(what)
