"""Folders that commands write to: errors name the option."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer


def _run_folder(text: str) -> Path:
    if not text:  # pathlib would take it for the current folder
        raise NotADirectoryError("--run-dir: is '', must be the name of a folder")
    return Path(text)


def run_dir_option(help: str) -> Any:
    """The option --run-dir."""
    return typer.Option(help=help, parser=_run_folder, metavar="PATH")


def folder_option(help: str) -> Any:
    """An option for a folder that is created when it is needed."""
    return typer.Option(help=help, callback=_possible_folder)


def _possible_folder(param: typer.CallbackParam, path: Path | None) -> Path | None:
    """Refuses, before the work begins, a path at which there can be no folder."""
    parts = () if path is None else (path, *path.parents)
    nearest = next((part for part in parts if part.exists()), None)
    if nearest is not None and not nearest.is_dir():
        raise NotADirectoryError(f"{param.opts[0]}: is '{path}', must be a folder, but {nearest} is a file")
    return path


@contextmanager
def run_dir_named() -> Iterator[None]:
    """Errors about the argument `run_dir` name the option --run-dir."""
    try:
        yield
    except (ValueError, OSError) as error:
        if not str(error).startswith("run_dir: "):
            raise
        raise type(error)(str(error).replace("run_dir", "--run-dir", 1)) from error
