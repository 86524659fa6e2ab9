"""NumPy files: arrays by the names that Gymnasium, Minari, D4RL and others give them.

| array | names |
|---|---|
| (N, dS), or (T + 1, dS) for one episode | `observations`, `states`, `obs` |
| (N, dA) or (N,) | `actions` |
| (N,) | `rewards` |
| (N,) | `terminals`, `terminations`, `terminated`, `dones` |
| (N,) | `truncations`, `truncated`, `timeouts` |
| (N, dS) | `next_observations`, `next_states`, `next_obs` |
| (N,) | `episodes`, `episode`; `times`, `time` |

A single ``.npy`` holds a structured array, whose fields are columns. Pickled objects are never read.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Array
from policyforest.data.readers.columns import Columns
from policyforest.data.readers.resolved_columns import ResolvedColumns, resolve
from policyforest.data.readers.rows import Problems, Rows
from policyforest.data.sample_checks import Bools

ARRAY_NAMES = {
    "state": ("observations", "states", "obs", "observation", "state"),
    "action": ("actions", "action"),
    "next_state": ("next_observations", "next_states", "next_obs", "next_observation", "next_state"),
    "reward": ("rewards", "reward"),
    "terminal": ("terminals", "terminations", "terminated", "terminal", "dones", "done"),
    "truncated": ("truncations", "truncated", "timeouts", "timeout"),
    "episode": ("episodes", "episode", "episode_id"),
    "time": ("times", "time", "timestamps", "timestamp"),
}
WIDE = ("state", "action", "next_state")
# A file may be compressed; a file that unpacks to more bytes than this is refused.
LARGEST_UNPACKED = 1 << 34


def read_array_file(path: Path, wanted: Columns, problems: Problems) -> tuple[Rows, ResolvedColumns]:
    return rows_of_arrays(path.name, _arrays(path), wanted, problems)


def rows_of_arrays(
    source: str, arrays: dict[str, Array], wanted: Columns, problems: Problems
) -> tuple[Rows, ResolvedColumns]:
    """Rows of arrays by their usual names."""
    table, spare = _columns(source, arrays)
    columns = resolve(wanted, list(table))
    length = len(next(iter(table.values())))
    breaks = np.zeros(length, dtype=np.bool_)
    if columns.episode is not None:
        labels = table[columns.episode.source]
        breaks[1:] = labels[1:] != labels[:-1]
    breaks[:1] = True
    rows = Rows(
        source=source,
        numbers={c.name: _numbers(source, c.source, table[c.source]) for c in columns.numbers},
        lines=np.arange(1, length + 1, dtype=np.int64),
        breaks=breaks,
        terminal=_truths(source, columns.terminal, table),
        truncated=_truths(source, columns.truncated, table),
        time=None if columns.time is None else _numbers(source, "time", table[columns.time.source]),
        unit="row",
        interleaved=columns.episode is not None and len(np.unique(table[columns.episode.source])) != breaks.sum(),
    )
    return rows.only(well_formed(rows, columns, problems, spare)), columns


def well_formed(rows: Rows, columns: ResolvedColumns, problems: Problems, spare: bool = False) -> Bools:
    """Which rows have only finite numbers. With `spare`, the last row holds only a state."""
    good = np.ones(len(rows), dtype=np.bool_)
    for name, values in rows.numbers.items():
        bad = ~np.isfinite(values) & good
        if spare and name not in columns.required:
            bad[-1] = False
        for row in np.flatnonzero(bad):
            problems.add(rows.place(int(row)), f"{name} is {values[row]}")
        good &= ~bad
    if rows.time is not None:
        for row in np.flatnonzero(~np.isfinite(rows.time) & good):
            problems.add(rows.place(int(row)), f"time is {rows.time[row]}")
        good &= np.isfinite(rows.time)
    return good


def _arrays(path: Path) -> dict[str, Array]:
    try:
        if path.suffix.lower() == ".npy":
            return _fields(np.load(path, allow_pickle=False))
        _check_size(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError(f"{path}: is not a NumPy file that can be read ({error})") from error
    return arrays


def _check_size(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        total = sum(member.file_size for member in archive.infolist())
    if total > LARGEST_UNPACKED:
        raise ValueError(f"it unpacks to {total:,} bytes, at most {LARGEST_UNPACKED:,} are read")


def _fields(array: Array) -> dict[str, Array]:
    if array.dtype.names is None:
        raise ValueError(
            f"it is an array of {array.dtype} of shape {array.shape}; must have named fields, or be an .npz"
        )
    return {name: array[name] for name in array.dtype.names}


def _columns(source: str, arrays: dict[str, Array]) -> tuple[dict[str, Array], bool]:
    """Columns of one length, and whether the last row is only the state after the last step."""
    table: dict[str, Array] = {}
    roles = {name: role for role, names in ARRAY_NAMES.items() for name in names}
    for name, array in arrays.items():
        role = roles.get(name, name)
        if array.ndim == 2:
            table |= {f"{role}_{d}": column for d, column in enumerate(array.T)}
        elif array.ndim == 1:
            table[f"{role}_0" if role in WIDE else role] = array
        elif role in ARRAY_NAMES:
            raise ValueError(f"{source}: {name} has shape {array.shape}, must have one or two dimensions")
    if not table or not len(next(iter(table.values()))):
        raise ValueError(
            f"{source}: holds {', '.join(arrays) or 'nothing'}; must hold observations and actions, at least one row"
        )
    return _even(source, table)


def _even(source: str, table: dict[str, Array]) -> tuple[dict[str, Array], bool]:
    lengths = {name: len(column) for name, column in table.items()}
    most = max(lengths.values())
    short = {name for name, n in lengths.items() if n == most - 1}
    if short and all(n >= most - 1 for n in lengths.values()):
        if any(not name.startswith("state_") for name in lengths.keys() - short):
            raise ValueError(
                f"{source}: has arrays of {most} and {most - 1} rows ({', '.join(sorted(lengths))}); "
                "only states may have one row more"
            )
        return {name: _longer(name, column) if name in short else column for name, column in table.items()}, True
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise ValueError(f"{source}: its arrays have different numbers of rows ({shown})")
    return table, False


def _longer(name: str, column: Array) -> Array:
    """Adds a last row for the state after the last step, which has no action, no reward and no flag."""
    if name in ("terminal", "truncated"):
        return np.append(column, np.zeros(1, column.dtype))
    if name == "episode":
        return np.append(column, column[-1:])
    if name == "time":
        return np.append(column, 2 * column[-1:] - column[-2:-1] if len(column) > 1 else column[-1:])
    return np.append(column.astype(np.float64), np.nan)


def _numbers(source: str, name: str, column: Array) -> NDArray[np.float64]:
    if column.dtype.kind not in "fiub":
        raise ValueError(f"{source}: {name} holds {column.dtype}, must hold numbers")
    return column.astype(np.float64)


def _truths(source: str, column: object, table: dict[str, Array]) -> Bools | None:
    name = getattr(column, "source", None)
    if name is None:
        return None
    values = table[name]
    if values.dtype.kind not in "fiub" or not np.isin(np.nan_to_num(values), (0, 1)).all():
        raise ValueError(f"{source}: {name} holds {values.dtype} other than 0 and 1, must hold booleans, or 0 and 1")
    truths: Bools = np.nan_to_num(values).astype(np.bool_)
    return truths
