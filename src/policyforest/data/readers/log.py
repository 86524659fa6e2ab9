"""`read_log` and `read_transitions`: from a path, in any format, to samples and a description of how they were
understood."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, Unpack

import numpy as np
from gymnasium.spaces import Box

from policyforest.data.parquet_process import ParquetProcess
from policyforest.data.readers import assembly
from policyforest.data.readers.action_limits import ActionBounds, action_box
from policyforest.data.readers.array_files import read_array_file
from policyforest.data.readers.columns import Columns, columns_given, require_fields
from policyforest.data.readers.csv_files import read_csv
from policyforest.data.readers.description import LogWarning, describe_log, describe_transitions
from policyforest.data.readers.log_contents import LogPart, log_contents
from policyforest.data.readers.log_files import PathLike, log_files, shown_path
from policyforest.data.readers.log_history import SIGNAL_KEYWORDS, Log, LogKeywords, with_history
from policyforest.data.readers.log_plant import log_plant
from policyforest.data.readers.minari_files import read_minari
from policyforest.data.readers.parquet_files import read_parquet
from policyforest.data.readers.reading_settings import ReadingSettings
from policyforest.data.readers.resampling import resampled
from policyforest.data.readers.resolved_columns import ResolvedColumns
from policyforest.data.readers.ros_bags import read_bag
from policyforest.data.readers.rows import OnError, Problems, Rows, joined
from policyforest.data.transition_files import load_transitions
from policyforest.data.transitions import Transitions

Parameters = ParamSpec("Parameters")
FullReader = Callable[Parameters, Transitions]
FULL_TURN = (-np.pi, np.pi)


def read_log(
    path: PathLike | Iterable[PathLike],
    columns: Columns | None = None,
    *,
    period: float | None = None,
    max_gap: float | None = None,
    time_unit: float = 1.0,
    degrees: Sequence[str] = (),
    angles: Sequence[str] = (),
    action_bounds: ActionBounds | None = None,
    on_error: OnError = "fail",
    format: str | None = None,
    **names: Unpack[LogKeywords],
) -> Log:
    """Reads logs of any format.

    Args:
        path: A file, a folder (Minari, a ROS 2 bag, recorded episodes), a pattern such as ``logs/*.csv``, ``minari:``
            and the id of a dataset, or several of them. Each file begins a new episode.
        columns: The meaning of the columns. Its fields can be given as keywords: ``state=["x", "v"], action=["u"]``.
        period: Resample rows to this control period (seconds). None: each row is a step.
        max_gap: A longer gap between rows (seconds) ends an episode; default: 3 periods.
        time_unit: Seconds per unit of the time column (0.001 for milliseconds).
        degrees: Columns in degrees, converted to radians.
        angles: States that are angles, wrapped into [-pi, pi).
        action_bounds: name → (low, high), or one pair for each action; default: the extremes of the log.
        on_error: "fail" or "skip": what to do about malformed rows. They are counted and shown either way.
        format: "csv", "parquet", "numpy", "minari", "rosbag" or "transitions"; default: by the name of the file.
        **names: The fields of `Columns`, if `columns` is not given, and `LogKeywords` (history, delay, dt, …).
    """
    signals = {name: names.pop(name) for name in SIGNAL_KEYWORDS if name in names}  # type: ignore[misc]
    settings = ReadingSettings(period, max_gap, time_unit, degrees, angles, on_error)
    wanted = columns_given(columns, names)
    files = log_files(path, format)
    if any(kind == "transitions" for _, kind in files):
        return with_history(_saved(files, wanted), signals)
    problems = Problems(on_error)
    parts = _parts(files, wanted, settings, problems)
    return with_history(_log(parts, settings, problems, action_bounds, shown_path(path)), signals)


def _with_parameters_of(read: Callable[Parameters, Log]) -> Callable[[FullReader[Parameters]], FullReader[Parameters]]:
    """Shows the parameters of `read` to type checkers and `help`, without a second list of them."""

    def signed(function: FullReader[Parameters]) -> FullReader[Parameters]:
        vars(function)["__signature__"] = inspect.signature(read).replace(return_annotation="Transitions")
        return function

    return signed


@_with_parameters_of(read_log)
def read_transitions(*path: Any, **options: Any) -> Transitions:
    """The samples of a log. Issues a `LogWarning` for each common fault that the log seems to have.

    Args:
        *path: As in `read_log`.
        **options: The other parameters of `read_log`.
    """
    bound = inspect.signature(read_log).bind(*path, **options)
    require_fields("read_transitions", set(bound.arguments.get("names", ())) - set(SIGNAL_KEYWORDS))
    log = read_log(*bound.args, **bound.kwargs)
    for warning in log.description.warnings:
        warnings.warn(str(warning), LogWarning, stacklevel=2)
    return log.transitions


def transitions_of(rows: Rows, columns: ResolvedColumns, problems: Problems, action_space: Box | None) -> Transitions:
    """The samples of rows that are in memory."""
    steps = _steps(rows, columns, problems, ReadingSettings(), "memory")
    problems.settle()
    if not len(steps.actions):
        raise ValueError("dataset: has no samples, a sample needs two consecutive rows")
    box = action_space or action_box(columns, steps.actions, None, rows.action_space)[0]
    data = _transitions([LogPart("dataset", "memory", rows, columns, steps)], box, ())
    if data is None:
        raise ValueError("dataset: has no rewards, must have an array `rewards`")
    return data


def _parts(
    files: Sequence[tuple[str, str]], wanted: Columns, settings: ReadingSettings, problems: Problems
) -> list[LogPart]:
    parts = []
    with ParquetProcess() as process:
        for file, kind in files:
            rows, columns = _read(file, kind, wanted, problems, settings, process)
            parts.append(LogPart(file, kind, rows, columns, _steps(rows, columns, problems, settings, kind)))
    problems.settle()
    _require_same_columns(parts)
    return parts


def _log(
    parts: Sequence[LogPart], settings: ReadingSettings, problems: Problems, given: ActionBounds | None, source: str
) -> Log:
    first = parts[0]
    actions = joined([part.steps.actions for part in parts])
    box, bounds_from_log = action_box(first.columns, actions, given, first.rows.action_space)
    description = describe_log(log_contents(parts, settings, problems, bounds_from_log))
    if description.n_samples == 0:
        raise ValueError(f"{source}: has no samples ({description.n_rows} rows); a sample needs two consecutive rows")
    return Log(description, _transitions(parts, box, settings.angles))


def _read(
    file: str, kind: str, wanted: Columns, problems: Problems, settings: ReadingSettings, process: ParquetProcess
) -> tuple[Rows, ResolvedColumns]:
    path = Path(file)
    if kind == "csv":
        return read_csv(path, wanted, problems)
    if kind == "parquet":
        return read_parquet(path, wanted, problems, process)
    if kind == "numpy":
        return read_array_file(path, wanted, problems)
    if kind == "minari":
        return read_minari(file, wanted, problems)
    return read_bag(path, wanted, problems, settings.period, settings.max_gap)


def _steps(
    rows: Rows, columns: ResolvedColumns, problems: Problems, settings: ReadingSettings, kind: str
) -> assembly.Steps:
    period, max_gap = settings.period, settings.max_gap
    if rows.time is not None and kind != "rosbag":
        rows.time[:] *= settings.time_unit
    assembly.degrees_to_radians(rows, settings.degrees)
    rows, duplicates = assembly.without_duplicates(rows, problems)
    rows, intervals, gaps = assembly.with_gaps(rows, np.inf if rows.whole and max_gap is None else max_gap)
    if period is not None and kind != "rosbag" and len(rows):
        if rows.time is None:
            raise ValueError("period: needs a column with the time (time=…, --time)")
        if columns.next_state:
            raise ValueError("period: cannot be used with next_state columns, which belong to the log's own steps")
        rows = resampled(rows, columns, period)
    assembly.wrap_angles(rows, settings.angles, columns)
    return assembly.assemble(rows, columns, problems, intervals, gaps, duplicates)


def _saved(files: list[tuple[str, str]], wanted: Columns) -> Log:
    reward, terminal = wanted.reward, wanted.terminal
    wanted = replace(wanted, reward=None, terminal=None)  # formulas for these are evaluated on the samples
    others = [name for name, kind in files if kind != "transitions"]
    if others:
        raise ValueError(
            f"path: {others[0]} is a log and {files[0][0]} holds transitions, all files must be of one kind"
        )
    if wanted != Columns():
        raise ValueError(
            f"{files[0][0]}: holds transitions, whose columns are known; state, action, … must be left out, "
            "except for a reward and a terminal formula over known names"
        )
    data = Transitions.concatenate([load_transitions(name) for name, _ in files]).with_known(reward, terminal)
    return Log(describe_transitions(data, [name for name, _ in files]), data)


def _transitions(parts: Sequence[LogPart], actions: Box, angles: Sequence[str]) -> Transitions | None:
    """The samples of all files; None where there are no rewards."""
    steps, first = [part.steps for part in parts], parts[0].rows
    if steps[0].rewards is None:
        return None
    names = [column.name for column in parts[0].columns.state]
    told = {name: sides for name, sides in first.periodic.items() if name in names}
    episodes, number = [], 0
    for part in steps:
        episodes.append(part.episodes + number)
        number += int(part.episodes.max(initial=-1)) + 1
    return Transitions(
        joined([part.states for part in steps]),
        joined([part.actions for part in steps]),
        joined([part.rewards for part in steps if part.rewards is not None]),
        joined([part.next_states for part in steps]),
        joined([part.terminals for part in steps]),
        joined(episodes),
        action_space=actions,
        observation_space=first.observation_space,
        periodic={names.index(name): sides for name, sides in (told | dict.fromkeys(angles, FULL_TURN)).items()},
        plant=log_plant(parts[0].columns),
    )


def _require_same_columns(parts: Sequence[LogPart]) -> None:
    """Refuses a log whose files have different columns."""
    first = parts[0]
    for part in parts:
        for role in ("state", "action"):
            here, there = ([c.name for c in getattr(one.columns, role)] for one in (part, first))
            if here != there:
                message = f"its {role} is {', '.join(here)}, that of {first.file} is {', '.join(there)}"
                raise ValueError(f"{part.file}: {message}; all files must have the same columns")
        if (part.columns.reward is None) != (first.columns.reward is None):
            with_it, without = (first, part) if part.columns.reward is None else (part, first)
            raise ValueError(
                f"{without.file}: has no reward and {with_it.file} has one, all files must have the same columns"
            )
