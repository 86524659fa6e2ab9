"""CSV, by polars.

A file whose rows are all well-formed is read by polars in batches (its streaming engine), which keeps eight bytes in
memory for each number of the named columns. If any row may be malformed, the file is read again, slowly, by Python's
own reader (`malformed_csv`), which knows the line of every row.
"""

from __future__ import annotations

import codecs
import csv
from pathlib import Path

from policyforest._support.extras import import_extra
from policyforest.data.readers.columns import Columns
from policyforest.data.readers.malformed_csv import read_carefully
from policyforest.data.readers.polars_tables import column_expressions, table_rows, well_formed
from policyforest.data.readers.resolved_columns import ResolvedColumns, resolve
from policyforest.data.readers.rows import Problems, Rows

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


def _read_fast(path: Path, separator: str, names: list[str], columns: ResolvedColumns) -> Rows | None:
    """The rows, or None if any of them may be malformed."""
    polars = import_extra("polars", "parquet")
    try:
        frame = polars.scan_csv(path, separator=separator, infer_schema=False, glob=False, new_columns=names)
        last = polars.col(names[-1]).is_null().alias("ragged:")
        table = frame.select([*column_expressions(polars, columns, from_text=True), last]).collect(engine="streaming")
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None
    # Blank lines, line breaks in quotes and short rows make line numbers wrong.
    if table["ragged:"].any() or table.height != _count_lines(path) - 1:
        return None
    rows = table_rows(path, table, columns, first_line=2, unit="line")
    return rows if well_formed(rows, table, columns, None).all() else None


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
