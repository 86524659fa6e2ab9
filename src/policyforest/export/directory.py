"""Directories that are either written completely or left unchanged."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path


def write_directory(directory: Path, files: Mapping[str, str]) -> None:
    """Writes files into a directory, which is created if it is missing.

    All files are first written to a temporary folder, so a full disk or a missing permission leaves nothing behind.
    Then each file is moved to its place."""
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"directory: is '{directory}', which is a file; must be a directory or a new name")
    made = not directory.exists()
    if made and not directory.absolute().parent.is_dir():
        raise FileNotFoundError(f"directory: is '{directory}', but '{directory.absolute().parent}' does not exist")
    beside = (directory.absolute().parent if made else directory) / f".{directory.name}.{secrets.token_hex(4)}"
    try:
        for name, text in files.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        if made:
            os.replace(beside, directory)
            return
        for name in files:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
        for name in files:
            os.replace(beside / name, directory / name)
    except OSError as error:
        raise type(error)(error.errno, f"directory: {directory} cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
