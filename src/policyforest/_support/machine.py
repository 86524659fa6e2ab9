"""The machine that results were made on."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """The processor's name as its maker gives it, if the system reports it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
