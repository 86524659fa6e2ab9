"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a path beside `path` to write to, and renames it when the block ends well.

    A reader sees the old file or the new one, never a half; a block that fails leaves nothing behind."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: cannot be written, {target.parent} is no folder")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
