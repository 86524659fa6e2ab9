"""Converts polars tables to rows: the named columns as numbers, and which rows are well-formed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policyforest.data.readers.cell_texts import FALSE, TRUE
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns
from policyforest.data.readers.rows import Problems, Rows
from policyforest.data.sample_checks import Bools


def column_expressions(polars: Any, columns: ResolvedColumns, *, from_text: bool) -> list[Any]:
    """The expressions for polars: numbers as float64, booleans as 0, 1 or null, and for each label the number of its
    run of equal labels."""

    def cast(source: str) -> Any:
        column = polars.col(source)
        return (column.str.strip_chars() if from_text else column).cast(polars.Float64, strict=False)

    def truth(source: str) -> Any:
        word = polars.col(source).cast(polars.String).str.strip_chars().str.to_lowercase()
        return polars.when(word.is_in(list(TRUE))).then(1).when(word.is_in(list(FALSE))).then(0)

    chosen = {f"number:{c.name}": cast(c.source) for c in columns.numbers}
    # An empty cell is allowed in some columns in which any other text that is not a number is refused.
    chosen |= {f"empty:{c.name}": polars.col(c.source).is_null() for c in columns.numbers}
    for role, column in (("terminal", columns.terminal), ("truncated", columns.truncated)):
        if isinstance(column, Column):
            chosen[f"truth:{role}"] = truth(column.source)
    if columns.episode is not None:
        chosen["run:"] = polars.col(columns.episode.source).cast(polars.String).fill_null("").rle_id()
        chosen["label:"] = polars.col(columns.episode.source).cast(polars.String).fill_null("").hash()
    if columns.time is not None:
        chosen["time:"] = _time(polars, columns.time.source, from_text)
    return [expression.alias(name) for name, expression in chosen.items()]


def _time(polars: Any, source: str, from_text: bool) -> Any:
    if from_text:
        return polars.col(source).str.strip_chars().cast(polars.Float64, strict=False)
    kinds = polars.selectors
    moments = (kinds.by_name(source) & kinds.temporal()).dt.timestamp("us").cast(polars.Float64) / 1e6
    numbers = (kinds.by_name(source) - kinds.temporal()).cast(polars.Float64, strict=False)
    return polars.coalesce(moments, numbers)


def table_rows(path: Path, table: Any, columns: ResolvedColumns, first_line: int, unit: str) -> Rows:
    n = table.height

    def truths(role: str) -> Bools | None:
        name = f"truth:{role}"
        return table[name].fill_null(0).to_numpy().astype(np.bool_) if name in table.columns else None

    breaks = np.zeros(n, dtype=np.bool_)
    interleaved = False
    if columns.episode is not None and n:
        runs = table["run:"].to_numpy()
        breaks[1:] = runs[1:] != runs[:-1]
        interleaved = table["label:"].n_unique() != runs[-1] + 1
    breaks[:1] = True
    return Rows(
        source=path.name,
        numbers={c.name: table[f"number:{c.name}"].to_numpy().astype(np.float64, copy=False) for c in columns.numbers},
        lines=np.arange(first_line, first_line + n, dtype=np.int64),
        breaks=breaks,
        terminal=truths("terminal"),
        truncated=truths("truncated"),
        time=table["time:"].to_numpy().astype(np.float64) if columns.time is not None else None,
        unit=unit,
        interleaved=interleaved,
    )


def well_formed(rows: Rows, table: Any, columns: ResolvedColumns, problems: Problems | None) -> Bools:
    """Which rows can be used; the faults of the others are added to `problems`."""
    good = np.ones(len(rows), dtype=np.bool_)

    def refuse(bad: Bools, reason: str) -> None:
        nonlocal good
        for row in np.flatnonzero(bad & good) if problems is not None else ():
            problems.add(rows.place(int(row)), reason)  # type: ignore[union-attr]
        good &= ~bad

    for column in columns.numbers:
        empty = table[f"empty:{column.name}"].to_numpy()
        if column.name in columns.required:
            refuse(empty, f"{column.source} is empty")
        refuse(~np.isfinite(rows.numbers[column.name]) & ~empty, f"{column.source} is not a finite number")
    for name in ("terminal", "truncated"):
        if f"truth:{name}" in table.columns:
            refuse(table[f"truth:{name}"].is_null().to_numpy(), f"{name} is neither true nor false (1 or 0)")
    if rows.time is not None:
        refuse(~np.isfinite(rows.time), "time is not a finite number")
    return good
