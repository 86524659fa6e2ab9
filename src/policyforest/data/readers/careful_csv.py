"""CSV files with something wrong in them, read row by row: slow, but it knows the line of every row."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from policyforest.data.readers import cells
from policyforest.data.readers.columns import Column, Columns
from policyforest.data.readers.rows import Problems, Rows


def read_carefully(path: Path, separator: str, names: list[str], columns: Columns, problems: Problems) -> Rows:
    place = {name: i for i, name in enumerate(names)}
    parsers = [(c.name, place[c.source], _number(c.name in columns.required)) for c in columns.numbers]
    singles: list[tuple[str, int, Callable[[str], Any]]] = []
    for role, column in (("terminal", columns.terminal), ("truncated", columns.truncated)):
        if isinstance(column, Column):
            singles.append((role, place[column.source], cells.truth))
    if columns.time is not None:
        singles.append(("time", place[columns.time.source], cells.seconds))
    if columns.episode is not None:
        singles.append(("episode", place[columns.episode.source], str.strip))
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
                if len(fields) != len(names):
                    many = f", and goes on to line {last}: is a quote not closed?" if last > line else ""
                    raise ValueError(f"has {len(fields)} fields in place of {len(names)}{many}")
                row = tuple(_cell(names[i], parse, fields[i]) for _, i, parse in (*parsers, *singles))
            except ValueError as error:
                problems.add(f"{path.name}, line {line}", str(error))
                broken = True
                continue
            parsed.append(row)
            lines.append(line)
            breaks.append(broken)
            broken = False
    values = dict(zip([name for name, _, _ in (*parsers, *singles)], zip(*parsed, strict=True), strict=bool(parsed)))
    starts = np.array(breaks, dtype=np.bool_)
    labels = values.get("episode", ())
    starts[1:] |= np.array([a != b for a, b in itertools.pairwise(labels)] or False, dtype=np.bool_)
    changes = 1 + sum(a != b for a, b in itertools.pairwise(labels))

    def array(name: str, kind: type) -> Any:
        return np.array(values.get(name, ()), dtype=kind)

    roles = {role for role, _, _ in singles}
    return Rows(
        source=path.name,
        numbers={c.name: array(c.name, np.float64) for c in columns.numbers},
        lines=np.array(lines, dtype=np.int64),
        breaks=starts,
        terminal=array("terminal", np.bool_) if "terminal" in roles else None,
        truncated=array("truncated", np.bool_) if "truncated" in roles else None,
        time=array("time", np.float64) if "time" in roles else None,
        interleaved=bool(labels) and len(set(labels)) != changes,
    )


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
        value = cells.number(text)
        if required and value != value:
            raise ValueError("is empty")
        return value

    return parse


def _cell(name: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{name} {error}" if str(error) == "is empty" else f"{name}: {error}") from None
