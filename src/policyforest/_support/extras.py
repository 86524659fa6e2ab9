"""Optional libraries, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, extra: str) -> Any:
    """The module, or an error with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(f"{library} is not installed; run `pip install 'policyforest[{extra}]'`") from error
