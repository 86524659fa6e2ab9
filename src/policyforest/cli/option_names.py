"""Errors of functions name their arguments; errors of commands name their options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def options_named(*arguments: str) -> Iterator[None]:
    """Errors about these arguments of a function name the options of a command that hold them."""
    try:
        yield
    except (ValueError, OSError) as error:
        name, colon, rest = str(error).partition(": ")
        if not colon or name not in arguments:
            raise
        raise type(error)(f"--{name.replace('_', '-')}: {rest}") from error
