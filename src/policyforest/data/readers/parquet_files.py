"""Parquet, read by polars in a process of its own, because a damaged file can end the process."""

from __future__ import annotations

from pathlib import Path

from policyforest._support.extras import import_extra
from policyforest.data.parquet_process import ParquetProcess
from policyforest.data.readers.columns import Columns
from policyforest.data.readers.polars_tables import column_expressions, table_rows, well_formed
from policyforest.data.readers.resolved_columns import ResolvedColumns, resolve
from policyforest.data.readers.rows import Problems, Rows


def read_parquet(
    path: Path, wanted: Columns, problems: Problems, process: ParquetProcess
) -> tuple[Rows, ResolvedColumns]:
    columns = resolve(wanted, process.names(path))
    table = process.table(path, column_expressions(import_extra("polars", "parquet"), columns, from_text=False))
    rows = table_rows(path, table, columns, first_line=1, unit="row")
    return rows.only(well_formed(rows, table, columns, problems)), columns
