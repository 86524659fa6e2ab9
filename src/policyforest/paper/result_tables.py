"""Tables of finished studies, made from the cells alone."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.files import replacing
from policyforest._support.machine import processor
from policyforest.paper import STUDIES
from policyforest.paper.cell_checks import CellResult
from policyforest.paper.claims import verdicts
from policyforest.paper.exhibits import certificate_table, exploration_table, planning_table, sac_figure
from policyforest.paper.finished_cells import Cells
from policyforest.paper.registry import EXHIBITS
from policyforest.paper.statistics import mean_interval
from policyforest.paper.studies import Study

RETURNS = ("study", "method", "policies", "mean", "95% interval", "worst", "best", "steps")
VERDICTS = ("text", "ruling", "evidence", "note", "cells")
LIMITS = ("problem", "return", "steps")
TIMES = ("study", "method", "policies", "samples", "one action", "faster than FQI", "learning Q", "extraction")


def summary(out: Path, scale: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of the tables "returns", "times", "limits", "comparisons", "plans", "runs" and "certificates", one for
    each study and method that has finished cells, and the "verdicts" on the paper's claims."""
    tables: dict[str, list[dict[str, Any]]] = {"returns": [], "times": [], "limits": [], "comparisons": []}
    for study in STUDIES.values():
        if study.kind in ("portraits", "comparisons", "plans", "runs", "certificates"):
            continue
        results = study.results(out, scale)
        if study.kind == "limits":
            tables["limits"] += [_limit_row(study, *cell) for cell in study.by_seed(out, scale).items()]
            continue
        row = _returns_row if study.kind == "returns" else _times_row
        methods = [key for key in results[0] if key != "samples"] if results else []
        tables[study.kind] += [row(study, method, results) for method in methods]
    cells = Cells(out, scale)
    tables["comparisons"] = [dict(zip(sac_figure.COLUMNS, row, strict=True)) for row in sac_figure.rows(cells)[1]]
    plans = planning_table.rows(cells, missing=False)[1]
    tables["plans"] = [dict(zip(planning_table.COLUMNS, row, strict=True)) for row in plans]
    runs = exploration_table.rows(cells, missing=False)[1]
    tables["runs"] = [dict(zip(exploration_table.COLUMNS, row, strict=True)) for row in runs]
    proofs = certificate_table.rows(cells, missing=False)[1]
    tables["certificates"] = [dict(zip(certificate_table.COLUMNS, row, strict=True)) for row in proofs]
    tables["verdicts"] = [verdict.as_dict() for verdict in verdicts(cells)]
    return tables


def _limit_row(study: Study, seed: int, result: CellResult) -> dict[str, Any]:
    # The seed of a cell of this study is the delay of the commands in steps.
    late = f", commands {seed} step{'' if seed == 1 else 's'} late" if study.name == "real-delay-limits" else ""
    numbers = {"return": f"{result['return']:.2f}", "steps": f"{result['steps']:.0f}"}
    return {"problem": f"{result['problem']}{late}"} | numbers


def _times_row(study: Study, method: str, results: list[CellResult]) -> dict[str, Any]:
    """Medians over policies; the ratio compares each policy with FQI on the same samples."""
    samples = f"{np.median([result['samples'] for result in results]):,.0f}"
    if method == "plan":
        seconds = np.median([result[method]["return"] for result in results])
        row = dict.fromkeys(TIMES, "-") | {"study": study.name, "method": method, "policies": len(results)}
        return row | {"samples": samples, "learning Q": f"{seconds:.2f} s"}
    median = {key: float(np.median([result[method][key] for result in results])) for key in results[0][method]}
    ratios = [result["fqi"]["action_us"] / result[method]["action_us"] for result in results]
    return {
        "study": study.name,
        "method": method,
        "policies": len(results),
        "samples": samples,
        "one action": f"{median['action_us']:.2f} µs",
        "faster than FQI": f"{np.median(ratios):,.0f}× (at least {min(ratios):,.0f}×)",
        "learning Q": f"{median['q_seconds']:.2f} s",
        "extraction": f"{median['policy_seconds']:.2f} s",
    }


def _returns_row(study: Study, method: str, results: list[CellResult]) -> dict[str, Any]:
    """The mean return over policies with its 95% interval, and the worst and the best return."""
    cells = [result[method] for result in results]
    returns = np.array([cell["return"] for cell in cells])
    steps = np.array([cell["steps"] for cell in cells])
    low, high = mean_interval(returns)
    return {
        "study": study.name,
        "method": method,
        "policies": len(returns),
        "mean": f"{returns.mean():.2f}",
        "95% interval": f"[{low:.2f}, {high:.2f}]" if len(returns) > 1 else "-",
        "worst": f"{returns.min():.2f}",
        "best": f"{returns.max():.2f}",
        "steps": f"{steps.mean():.1f} (95%: {np.percentile(steps, 95):.0f}, max {steps.max():.0f})",
    }


def made_by(scale: str) -> dict[str, str]:
    """The machine, the version and the date."""
    from policyforest._support.version import __version__

    return {
        "scale": scale,
        "version": __version__,
        "machine": f"{processor()} ({platform.machine()}, {os.cpu_count()} cores), Python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def write_tables(out: Path, scale: str) -> None:
    """Writes `results.md` and `results.json` into `out`, with the machine, the version and the date."""
    tables = summary(out, scale)
    made = made_by(scale)
    lines = [
        *_heading(out, scale, made),
        "The paper's claims:",
        "",
        *_markdown(VERDICTS, tables["verdicts"]),
        "",
        "Undiscounted returns over independently learned policies. Each trial of online learning gives ten policies;",
        'the rows "mean of 10", "worst of 10" and "chosen of 10" count trials, and show the mean over these policies,',
        "the worst of them, and the policy that validation episodes chose. The rows of real-c-bits show the numbers of",
        "steps in which the exported C differs from Python:",
        "",
        *_markdown(RETURNS, tables["returns"]),
        "",
        "Times on one thread, medians over policies; the time per action is measured from Python:",
        "",
        *_markdown(TIMES, tables["times"]),
        "",
        "Comparison with SAC: returns are means over seeds [95%]; times and sizes are medians over seeds. The time of",
        "learning includes the environment's steps:",
        "",
        *_markdown(sac_figure.COLUMNS, tables["comparisons"]),
        "",
        "Limits, the best known returns, computed with the true equations; for problems with two states, by dynamic",
        "programming on a grid:",
        "",
        *_markdown(LIMITS, tables["limits"]),
        "",
        *_titled("Planning with a learned model:", planning_table.COLUMNS, tables["plans"]),
        *_titled("Learning from scratch with a learned model:", exploration_table.COLUMNS, tables["runs"]),
        *_titled("Certificates of closed loops:", certificate_table.COLUMNS, tables["certificates"]),
        *_figures(out),
    ]
    for name, text in (("results.md", "\n".join(lines)), ("results.json", json.dumps(made | tables, indent=2) + "\n")):
        with replacing(out / name) as beside:
            beside.write_text(text, encoding="utf-8")


def _heading(out: Path, scale: str, made: dict[str, str]) -> list[str]:
    """The title, and the origin of the page."""
    return [
        "# Results",
        "",
        f"This page is made by `policyforest reproduce --scale {scale}` from the cells in the JSON Lines files",
        'next to it. The page "Reproducing the paper" of the documentation explains the studies, their cells, the',
        "abbreviations and the tests behind the verdicts.",
        f"The cells were computed {_when(out, scale)}.",
        f"{', '.join(f'{k}: {v}' for k, v in made.items())}.",
        "",
    ]


def _titled(title: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> list[str]:
    """A table under its title; nothing if it has no rows."""
    return [title, "", *_markdown(columns, rows), ""] if rows else []


def _when(out: Path, scale: str) -> str:
    """The days on which the cells of a scale were computed, and the machines; the oldest cells do not record them."""
    found = [content for study in STUDIES.values() for content in study.stored(out, scale).values()]
    days, machines = (sorted({str(cell[key]) for cell in found if key in cell}) for key in ("date", "machine"))
    if not days:
        return "on dates that were not recorded"
    silent = sum("date" not in cell for cell in found)
    before = f"; {silent} of the {len(found)} cells are older and have no date" if silent else ""
    return f"from {days[0]} to {days[-1]} on {', '.join(machines)}{before}"


def _figures(out: Path) -> list[str]:
    """Links to the figures that are drawn."""
    drawn = [exhibit for exhibit in EXHIBITS.values() if (out / "figures" / f"{exhibit.name}.png").is_file()]
    lines = [f"![{exhibit.title}](figures/{exhibit.name}.png)" for exhibit in drawn]
    return ["Figures, also as SVG:", "", *(text for line in lines for text in (line, ""))] if lines else []


def _markdown(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> list[str]:
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return [*head, *("| " + " | ".join(str(row[c]) for c in columns) + " |" for row in rows)]
