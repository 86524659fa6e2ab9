"""Reads CSV files that have malformed rows. Reading row by row is slow, but gives the line number of every row."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.formulas import Expression
from policyforest.data.readers.cell_texts import parse_number, parse_seconds, parse_truth
from policyforest.data.readers.resolved_columns import Column, ResolvedColumns
from policyforest.data.readers.rows import Problems, Rows


@dataclass(frozen=True)
class _Cell:
    """A cell of every row: its name here and in the file, its place in a row, and how its text is read."""

    name: str
    header: str
    place: int
    parse: Callable[[str], Any]

    def value(self, text: str) -> Any:
        try:
            return self.parse(text)
        except ValueError as error:
            reason = f" {error}" if str(error) == "is empty" else f": {error}"
            raise ValueError(f"{self.header}{reason}") from None


def read_carefully(path: Path, separator: str, names: list[str], columns: ResolvedColumns, problems: Problems) -> Rows:
    """The rows that can be read; the faults of the others are added to `problems`."""
    cells = _cells(names, columns)
    parsed: list[tuple[Any, ...]] = []
    lines: list[int] = []
    breaks: list[bool] = []
    broken = True
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for line, last, fields in _lines(file, separator, path.name, problems):
            if line is None:
                broken = True
                continue
            try:
                _require_width(fields, len(names), line, last)
                parsed.append(tuple(cell.value(fields[cell.place]) for cell in cells))
            except ValueError as error:
                problems.add(f"{path.name}, line {line}", str(error))
                broken = True
                continue
            lines.append(line)
            breaks.append(broken)
            broken = False
    values = zip(*parsed, strict=True) if parsed else [()] * len(cells)
    return _rows(path, columns, dict(zip([cell.name for cell in cells], values, strict=True)), lines, breaks)


def _cells(names: list[str], columns: ResolvedColumns) -> list[_Cell]:
    """The cells that are read. The name of a number is that of its column; that of any other cell is its role and a
    colon."""
    place = {name: i for i, name in enumerate(names)}
    wanted: list[tuple[str, Column | Expression | None, Callable[[str], Any]]] = [
        *((c.name, c, _number(c.name in columns.required)) for c in columns.numbers),
        ("terminal:", columns.terminal, parse_truth),
        ("truncated:", columns.truncated, parse_truth),
        ("time:", columns.time, parse_seconds),
        ("episode:", columns.episode, str.strip),
    ]
    return [_Cell(name, c.source, place[c.source], parse) for name, c, parse in wanted if isinstance(c, Column)]


def _rows(
    path: Path, columns: ResolvedColumns, values: dict[str, tuple[Any, ...]], lines: list[int], breaks: list[bool]
) -> Rows:
    labels = values.get("episode:", ())
    changes = [a != b for a, b in itertools.pairwise(labels)]
    starts = np.array(breaks, dtype=np.bool_)
    starts[1:] |= np.array(changes or False, dtype=np.bool_)

    def array(name: str, kind: type) -> Any:
        return np.array(values[name], dtype=kind) if name in values else None

    return Rows(
        source=path.name,
        numbers={c.name: array(c.name, np.float64) for c in columns.numbers},
        lines=np.array(lines, dtype=np.int64),
        breaks=starts,
        terminal=array("terminal:", np.bool_),
        truncated=array("truncated:", np.bool_),
        time=array("time:", np.float64),
        interleaved=bool(labels) and len(set(labels)) != 1 + sum(changes),
    )


def _require_width(fields: list[str], width: int, line: int, last: int) -> None:
    if len(fields) != width:
        many = f", and goes on to line {last}: is a quote not closed?" if last > line else ""
        raise ValueError(f"has {len(fields)} fields instead of {width}{many}")


def _lines(
    file: Iterable[str], separator: str, source: str, problems: Problems
) -> Iterable[tuple[int | None, int, list[str]]]:
    """First line, last line and fields of each row after the header; None where a row could not be taken apart."""
    reader = csv.reader(file, delimiter=separator)
    next(reader)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(f"{source}, line {line}", str(error))
            yield None, line, []
            continue
        if fields:  # blank lines hold nothing
            yield line, reader.line_num, fields


def _number(required: bool) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = parse_number(text)
        if required and value != value:
            raise ValueError("is empty")
        return value

    return parse
