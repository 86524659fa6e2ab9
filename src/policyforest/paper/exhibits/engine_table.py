"""The online swing-up in three engines, and each engine's chosen policy in the others."""

from __future__ import annotations

from typing import Any

from policyforest.paper.cell_checks import CellResult
from policyforest.paper.engine_studies import AGENTS, ENGINES, NAMES
from policyforest.paper.finished_cells import Cells

COLUMNS = (
    "learned in",
    "explorer",
    "mean of 10",
    "worst policy",
    "best policy",
    "chosen policy",
    *(f"in {name}" for name in NAMES.values()),
)


def rows(cells: Cells) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    made = []
    for engine in ENGINES:
        for short, (_, what) in AGENTS.items():
            made += [_row(engine, what, result) for result in cells.results(f"swing-up-{engine}-{short}")]
    return COLUMNS, made


def _row(engine: str, what: str, result: CellResult) -> tuple[str, ...]:
    returns = result["mean of 10"]["returns"]
    chosen = _return(result.get("chosen of 10"))
    elsewhere = (
        chosen if other == engine else _return(result.get(f"chosen, in {name}")) for other, name in NAMES.items()
    )
    numbers = (_return(result["mean of 10"]), f"{min(returns):.1f}", f"{max(returns):.1f}", chosen)
    return NAMES[engine], what, *numbers, *elsewhere


def _return(row: Any) -> str:
    return "-" if row is None else f"{row['return']:.1f}"
