"""Where a user's program called this library: the line that a warning points at."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

PACKAGE = str(Path(__file__).parents[1]) + os.sep
# A decorator that is a context manager puts a frame of this file between a function and its caller.
BETWEEN = contextlib.__file__


def user_stacklevel() -> int:
    """The `stacklevel` for `warnings.warn`, such that the warning points at the innermost line outside this library.

    A fixed number is wrong as soon as a function has two callers or a decorator. If there is no such line, as in this
    library's own commands, the warning points at the outermost one.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(filename: str) -> bool:
    return filename == BETWEEN or filename.startswith(PACKAGE)
