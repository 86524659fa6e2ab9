"""Folders that commands write to: errors name the option."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import typer

from policyforest.cli.option_names import options_named
from policyforest.cli.output_files import require_output_folder


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
    if path is not None:
        require_output_folder(param.opts[0], path)
    return path


def run_dir_named() -> AbstractContextManager[None]:
    """Errors about the argument `run_dir` name the option --run-dir."""
    return options_named("run_dir")
