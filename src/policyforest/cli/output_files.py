"""Files that commands write: a path that cannot be written is refused before the work begins, and names its option."""

from __future__ import annotations

import os
from pathlib import Path


def require_output(option: str, path: Path, *endings: str) -> None:
    """Refuses a file that cannot be written, or that has another ending."""
    if path.suffix not in endings:
        raise ValueError(f"{option}: is '{path}', must end in {' or '.join(endings)}")
    if path.is_dir():
        raise IsADirectoryError(f"{option}: is '{path}', must be a file, but it is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{option}: is '{path}', must lie in a folder that exists")
    require_writable(option, path, path.parent)


def require_output_folder(option: str, path: Path) -> None:
    """Refuses a folder that neither exists nor can be made."""
    nearest = next((part for part in (path, *path.parents) if part.exists()), None)
    if nearest is None:
        return
    if not nearest.is_dir():
        raise NotADirectoryError(f"{option}: is '{path}', must be a folder, but {nearest} is a file")
    require_writable(option, path, nearest)


def require_writable(option: str, path: Path, folder: Path) -> None:
    """Refuses a path in a folder in which no file can be made."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{option}: is '{path}', must be in a folder that can be written, but {folder} cannot")
