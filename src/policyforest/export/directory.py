"""Directories that are either written completely or left unchanged."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path


def write_directory(directory: Path, files: Mapping[str, str]) -> None:
    """Writes files into a directory that is made if it is missing.

    All of them are written to a temporary folder first, so a full disk or a forbidden place leaves nothing behind;
    then each is renamed into its place."""
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
