"""The table of a benchmark: on the terminal, as JSON and as Markdown."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table

from measure import Row
from policyforest._support.machine import processor

HEADINGS = ("what", "ours", "against", "theirs", "measured", "required", "")
PACKAGES = ("policyforest", "numpy", "scikit-learn", "onnxruntime", "skl2onnx")


def show(title: str, rows: list[Row]) -> None:
    table = Table(title=title)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("what", "against", "") else "right")
    for row in rows:
        table.add_row(*_cells(row), style=None if row.passed else "red")
    terminal = Console()
    (terminal if terminal.is_terminal else Console(width=120)).print(table)


def write(directory: Path, name: str, title: str, rows: list[Row], packages: tuple[str, ...] = PACKAGES) -> None:
    """`name`.json and `name`.md in `directory`, which is made where it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    about = circumstances(packages)
    lines = [asdict(row) | {"passed": row.passed} for row in rows]
    content = {"title": title, **about, "rows": lines}
    (directory / f"{name}.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    (directory / f"{name}.md").write_text(_markdown(title, about, rows))


def circumstances(packages: tuple[str, ...] = PACKAGES) -> dict[str, object]:
    """When, on what machine and with which versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in packages},
        },
    }


def _markdown(title: str, about: dict[str, object], rows: list[Row]) -> str:
    versions = about["versions"]
    assert isinstance(versions, dict)
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [
        f"# {title}",
        "",
        f"{about['date']}, {about['machine']}, {about['cores']} cores, {about['system']}",
    ]
    lines += ["", listed, "", "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> list[str]:
    bound = "≥" if row.at_least else "≤"
    required = f"{bound} {row.required:g} {row.unit}" + (f" ({row.note})" if row.note else "")
    return [
        row.what,
        _duration(row.ours),
        row.peer,
        _duration(row.theirs),
        f"{row.measured:.3g} {row.unit}",
        required,
        "pass" if row.passed else "FAIL",
    ]


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
