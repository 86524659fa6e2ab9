"""CSV and Parquet, by polars.

A CSV file whose rows are all well-formed is read by polars in batches (its streaming engine), and what stays in memory
is eight bytes for each number of the columns that were named. At the first sign of trouble the file is read again,
slowly, by Python's own reader, which knows the line of every row. Parquet is read so too, in a process of its own.
"""

from __future__ import annotations

import codecs
import csv
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.extras import import_extra
from policyforest.data.readers.careful_csv import read_carefully
from policyforest.data.readers.cell_texts import FALSE, TRUE
from policyforest.data.readers.columns import Columns
from policyforest.data.readers.parquet_process import ParquetProcess
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns, resolve
from policyforest.data.readers.rows import Problems, Rows
from policyforest.data.transitions import Bools

SEPARATORS = ",;\t"
LONGEST_HEADER = 1 << 20
CHUNK = 1 << 22


def csv_header(path: Path) -> tuple[str, list[str]]:
    """The separator, and the names of the columns."""
    with path.open("rb") as file:
        start = file.readline(LONGEST_HEADER)
    if not start.strip():
        raise ValueError(f"{path}: begins with an empty line, must begin with the names of its columns")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError(f"{path}: is UTF-16, must be UTF-8 (save it again as CSV in UTF-8)")
    line = start.decode("utf-8-sig", errors="replace").rstrip("\r\n")
    if "\r" in line:
        raise ValueError(f"{path}: its lines end in a carriage return alone, must end in a line feed")
    separator = max(SEPARATORS, key=line.count)
    names = [name.strip() for name in next(csv.reader([line], delimiter=separator))]
    if all(_is_number(name) for name in names):
        raise ValueError(f"{path}: its first line is {line[:60]!r}, must hold the names of the columns")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: has the column {twice[0]!r} twice, names must be unique")
    return separator, names


def read_csv(path: Path, wanted: Columns, problems: Problems) -> tuple[Rows, ResolvedColumns]:
    separator, names = csv_header(path)
    columns = resolve(wanted, names)
    rows = _read_fast(path, separator, names, columns)
    return (rows if rows is not None else read_carefully(path, separator, names, columns, problems)), columns


def read_parquet(
    path: Path, wanted: Columns, problems: Problems, process: ParquetProcess
) -> tuple[Rows, ResolvedColumns]:
    columns = resolve(wanted, process.names(path))
    table = process.table(path, _expressions(import_extra("polars", "parquet"), columns, from_text=False))
    rows = _rows(path, table, columns, first_line=1, unit="row")
    return rows.only(_well_formed(rows, table, columns, problems)), columns


def _read_fast(path: Path, separator: str, names: list[str], columns: ResolvedColumns) -> Rows | None:
    """The rows, or None where any of them needs a closer look."""
    polars = import_extra("polars", "parquet")
    try:
        frame = polars.scan_csv(path, separator=separator, infer_schema=False, glob=False, new_columns=names)
        last = polars.col(names[-1]).is_null().alias("ragged:")
        table = frame.select([*_expressions(polars, columns, from_text=True), last]).collect(engine="streaming")
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None
    # Blank lines, line breaks in quotes and short rows make line numbers wrong.
    if table["ragged:"].any() or table.height != _count_lines(path) - 1:
        return None
    rows = _rows(path, table, columns, first_line=2, unit="line")
    return rows if _well_formed(rows, table, columns, None).all() else None


def _expressions(polars: Any, columns: ResolvedColumns, *, from_text: bool) -> list[Any]:
    """What polars is to compute: numbers as float64, truths as 0, 1 or null, the number of the run of a label."""

    def cast(source: str) -> Any:
        column = polars.col(source)
        return (column.str.strip_chars() if from_text else column).cast(polars.Float64, strict=False)

    def truth(source: str) -> Any:
        word = polars.col(source).cast(polars.String).str.strip_chars().str.to_lowercase()
        return polars.when(word.is_in(list(TRUE))).then(1).when(word.is_in(list(FALSE))).then(0)

    chosen = {f"number:{c.name}": cast(c.source) for c in columns.numbers}
    # An empty cell is allowed where a cell with another text is not.
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


def _rows(path: Path, table: Any, columns: ResolvedColumns, first_line: int, unit: str) -> Rows:
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


def _well_formed(rows: Rows, table: Any, columns: ResolvedColumns, problems: Problems | None) -> Bools:
    """Which rows can be used; what is wrong with the others goes to `problems`."""
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


def _count_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
