"""Policies as they are named on the command line."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest.policy.policy_files import SUFFIX, load

PolicyFile = Annotated[Path, typer.Argument(metavar="POLICY", help="A .pforest file.")]


def read_policy(path: Path, argument: str = "POLICY") -> Any:
    """The policy of a file. If the file does not exist, the error names the argument and the nearest file there is."""
    if not path.is_file():
        raise FileNotFoundError(f"{argument}: is '{path}'{_nearest(path)}, must be a policy file ({SUFFIX})")
    return load(path)


def _nearest(path: Path) -> str:
    # Compared in small letters, and without folder and suffix, which all of them share.
    files = {file.stem.lower(): file for file in sorted(path.parent.glob(f"*{SUFFIX}"))}
    near = difflib.get_close_matches(path.stem.lower(), list(files), 1)
    return f" (did you mean '{files[near[0]]}'?)" if near else ""
