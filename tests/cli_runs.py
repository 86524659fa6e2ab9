"""Commands called as a user calls them, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from policyforest.cli import main


def run(*arguments: str | Path, code: int = 0) -> Any:
    """What a command printed; it must end with `code`."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done
