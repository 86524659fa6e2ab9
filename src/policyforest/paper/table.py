"""Tables of finished studies, made from the cells alone."""

from __future__ import annotations

import datetime
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from policyforest.evaluation import interval_half_width
from policyforest.files import replacing
from policyforest.paper.batch import STUDIES
from policyforest.paper.cells import Study

COLUMNS = ("study", "method", "policies", "mean", "95% interval", "worst", "best", "steps")


def summary_rows(out: Path, scale: str) -> list[dict[str, Any]]:
    """A row a study and method: over policies, the mean return with its 95% interval, the worst and the best."""
    return [row for study in STUDIES.values() for row in _rows(study, out, scale)]


def _rows(study: Study, out: Path, scale: str) -> list[dict[str, Any]]:
    results = study.results(out, scale)
    methods = [key for key in results[0] if key != "samples"] if results else []
    return [_row(study.name, method, [result[method] for result in results]) for method in methods]


def _row(study: str, method: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    returns = np.array([cell["return"] for cell in cells])
    steps = np.array([cell["steps"] for cell in cells])
    half = interval_half_width(returns)
    return {
        "study": study,
        "method": method,
        "policies": len(returns),
        "mean": f"{returns.mean():.2f}",
        "95% interval": f"[{returns.mean() - half:.2f}, {returns.mean() + half:.2f}]" if len(returns) > 1 else "-",
        "worst": f"{returns.min():.2f}",
        "best": f"{returns.max():.2f}",
        "steps": f"{steps.mean():.1f} (95%: {np.percentile(steps, 95):.0f}, max {steps.max():.0f})",
    }


def write_tables(out: Path, scale: str) -> None:
    """`results.md` and `results.json` in `out`, with the machine, the version and the date."""
    from policyforest import __version__

    rows = summary_rows(out, scale)
    made = {
        "scale": scale,
        "version": __version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }
    lines = [
        "# Results",
        "",
        f"Undiscounted returns over independently learned policies. {', '.join(f'{k}: {v}' for k, v in made.items())}.",
        f"Made by `policyforest reproduce all --scale {scale} --out docs/results`.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
        *("| " + " | ".join(str(row[c]) for c in COLUMNS) + " |" for row in rows),
        "",
    ]
    for name, text in (("results.md", "\n".join(lines)), ("results.json", json.dumps(made | {"rows": rows}, indent=2))):
        with replacing(out / name) as beside:
            beside.write_text(text + ("" if text.endswith("\n") else "\n"))
