"""`read_log` and `read_transitions`: from a path, whatever the format, to samples and what was understood of them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats, one_of, real_number
from policyforest.data.readers import assembly
from policyforest.data.readers.array_files import read_arrays
from policyforest.data.readers.columns import Columns, Marks, Wanted
from policyforest.data.readers.description import Description, LogWarning, described, described_transitions
from policyforest.data.readers.log_files import PathLike, log_files, shown_path
from policyforest.data.readers.minari_files import read_minari
from policyforest.data.readers.parquet_process import ParquetProcess
from policyforest.data.readers.resampling import resampled
from policyforest.data.readers.ros_bags import read_bag
from policyforest.data.readers.rows import OnError, Problems, Rows, joined
from policyforest.data.readers.table_files import read_csv, read_parquet
from policyforest.data.transition_files import load_transitions
from policyforest.data.transitions import Transitions

Parameters = ParamSpec("Parameters")
TURN = (-np.pi, np.pi)
Bounds = Mapping[str, tuple[float, float]] | Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Log:
    """What was read: the samples, and a description of how they were understood."""

    description: Description
    _transitions: Transitions | None

    @property
    def transitions(self) -> Transitions:
        """The samples; an error if the log has no reward."""
        if self._transitions is None:
            raise ValueError(
                "reward: is not given and no column is called so; must be a column or a formula (--reward)"
            )
        return self._transitions


def read_log(
    path: PathLike | Iterable[PathLike],
    *,
    state: Sequence[str] | None = None,
    action: Sequence[str] | None = None,
    reward: str | None = None,
    terminal: str | None = None,
    truncated: str | None = None,
    episode: str | None = None,
    time: str | None = None,
    next_state: Sequence[str] | None = None,
    terminal_marks: Marks | None = None,
    period: float | None = None,
    max_gap: float | None = None,
    time_unit: float = 1.0,
    degrees: Sequence[str] = (),
    angles: Sequence[str] = (),
    action_bounds: Bounds | None = None,
    on_error: OnError = "fail",
    format: str | None = None,
) -> Log:
    """Reads logs of any format.

    Parameters
    ----------
    path: a file, a folder (Minari, a ROS 2 bag, recorded episodes), a pattern such as ``logs/*.csv``, ``minari:`` and
        the id of a dataset, or several of them. Each file begins a new episode.
    state, action: columns, ``name`` or ``name=source``; default: those called state_0, … and action_0, …
    reward: a column, or a formula over the columns' names; ``next_`` before a state's name is its next value.
    terminal, truncated: columns of truths that end an episode; truncated ones could have gone on. `terminal` may be a
        formula.
    terminal_marks: whether a terminal flag stands beside the last "step" (as in Gymnasium) or the final "state".
        Default: "step" for a column, "state" for a formula.
    episode, time: columns; a new episode begins where the label changes, and where time goes back or jumps.
    next_state: columns, where the log has them; default: the state of the row after.
    period: seconds of a control step: rows are brought to it. None: rows are steps as they are.
    max_gap: seconds without a row that end an episode; default: 3 periods.
    time_unit: seconds in a unit of the time column (0.001 for milliseconds).
    degrees: columns in degrees, turned into radians. angles: states that are angles, turned into [-pi, pi).
    action_bounds: name → (low, high), or one pair for each action; default: the extremes of the log.
    on_error: "fail" or "skip": what to do about malformed rows. They are counted and shown either way.
    format: one of "csv", "parquet", "numpy", "minari", "rosbag", "transitions"; default: by the name of the file.
    """
    one_of("on_error", on_error, ("fail", "skip"))
    if terminal_marks is not None:
        one_of("terminal_marks", terminal_marks, ("step", "state"))
    if period is not None:
        real_number("period", period, at_least=1e-9)
    if max_gap is not None:
        real_number("max_gap", max_gap, at_least=0.0)
    unit = real_number("time_unit", time_unit, at_least=1e-12)
    wanted = Wanted(
        _texts("state", state),
        _texts("action", action),
        _texts("next_state", next_state),
        _text("reward", reward),
        _text("terminal", terminal),
        _text("truncated", truncated),
        _text("episode", episode),
        _text("time", time),
        terminal_marks,
    )
    degrees, angles = _texts("degrees", degrees) or (), _texts("angles", angles) or ()
    files = log_files(path, format)
    if any(kind == "transitions" for _, kind in files):
        return _saved(files, wanted)
    problems = Problems(on_error)
    parts = []
    with ParquetProcess() as process:
        for file, kind in files:
            rows, columns = _read(file, kind, wanted, problems, period, max_gap, process)
            parts.append((_steps(rows, columns, problems, unit, period, max_gap, degrees, angles, kind), rows, columns))
    problems.settle()
    _require_same_columns([name for name, _ in files], [part[2] for part in parts])
    columns = parts[0][2]
    steps = [part[0] for part in parts]
    bounds = _action_box(columns, joined([s.actions for s in steps]), action_bounds, parts[0][1].action_space)
    description = described([p[1] for p in parts], steps, columns, problems, bounds[1], files, angles, period, degrees)
    if description.n_samples == 0:
        raise ValueError(
            f"{shown_path(path)}: has no samples ({description.n_rows} rows); a sample needs two rows that follow"
        )
    return Log(description, _transitions(steps, columns, bounds[0], angles, parts[0][1]))


def _samples_alone(read: Callable[Parameters, Log]) -> Callable[Parameters, Transitions]:
    def read_transitions(*path: Parameters.args, **options: Parameters.kwargs) -> Transitions:
        """The samples of a log; the parameters are those of `read_log`.

        What usually goes wrong with logs is told as a `LogWarning`."""
        log = read(*path, **options)
        for warning in log.description.warnings:
            warnings.warn(str(warning), LogWarning, stacklevel=2)
        return log.transitions

    signature = inspect.signature(read).replace(return_annotation="Transitions")
    vars(read_transitions)["__signature__"] = signature  # for help(): type checkers know it already
    read_transitions.__qualname__ = "read_transitions"
    return read_transitions


read_transitions = _samples_alone(read_log)


def transitions_of(rows: Rows, columns: Columns, problems: Problems, action_space: Box | None) -> Transitions:
    """The samples of rows that are in memory."""
    steps = _steps(rows, columns, problems, 1.0, None, None, (), (), "memory")
    problems.settle()
    if not len(steps.actions):
        raise ValueError("dataset: has no samples, a sample needs two rows that follow each other")
    box = action_space or _action_box(columns, steps.actions, None, rows.action_space)[0]
    data = _transitions([steps], columns, box, (), rows)
    if data is None:
        raise ValueError("dataset: has no rewards, must have an array `rewards`")
    return data


def _read(
    file: str,
    kind: str,
    wanted: Wanted,
    problems: Problems,
    period: float | None,
    max_gap: float | None,
    process: ParquetProcess,
) -> tuple[Rows, Columns]:
    path = Path(file)
    if kind == "csv":
        return read_csv(path, wanted, problems)
    if kind == "parquet":
        return read_parquet(path, wanted, problems, process)
    if kind == "numpy":
        return read_arrays(path, wanted, problems)
    if kind == "minari":
        return read_minari(file, wanted, problems)
    return read_bag(path, wanted, problems, period, max_gap)


def _steps(
    rows: Rows,
    columns: Columns,
    problems: Problems,
    unit: float,
    period: float | None,
    max_gap: float | None,
    degrees: Sequence[str],
    angles: Sequence[str],
    kind: str,
) -> assembly.Steps:
    if rows.time is not None and kind != "rosbag":
        rows.time[:] *= unit
    assembly.degrees_to_radians(rows, degrees, columns)
    rows, duplicates = assembly.without_duplicates(rows, problems)
    rows, intervals, gaps = assembly.with_gaps(rows, np.inf if rows.whole and max_gap is None else max_gap)
    if period is not None and kind != "rosbag" and len(rows):
        if rows.time is None:
            raise ValueError("period: needs a column with the time (time=…, --time)")
        if columns.next_state:
            raise ValueError("period: cannot be used with next_state columns, which belong to the log's own steps")
        rows = resampled(rows, columns, period)
    assembly.wrap_angles(rows, angles, columns)
    return assembly.assemble(rows, columns, problems, intervals, gaps, duplicates)


def _saved(files: list[tuple[str, str]], wanted: Wanted) -> Log:
    others = [name for name, kind in files if kind != "transitions"]
    if others:
        raise ValueError(f"path: {others[0]} is a log and {files[0][0]} holds transitions, must be of one kind")
    if wanted != Wanted():
        raise ValueError(
            f"{files[0][0]}: holds transitions, whose columns are known; state, action, … must be left out"
        )
    data = Transitions.concatenate([load_transitions(name) for name, _ in files])
    return Log(described_transitions(data, [name for name, _ in files]), data)


def _action_box(columns: Columns, actions: Floats, given: Bounds | None, told: Box | None) -> tuple[Box, bool]:
    """The box of the actions, and whether it was read off the log."""
    if given is None and told is not None and told.is_bounded():
        return told, False
    names = [column.name for column in columns.action]
    low, high = (actions.min(axis=0), actions.max(axis=0)) if len(actions) else (np.zeros(len(names)),) * 2
    if given is None:
        return Box(low, high, dtype=np.float64), True
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"action_bounds: has {unknown[0]!r}, must have {', '.join(names)}")
        pairs = [given.get(name, (low[d], high[d])) for d, name in enumerate(names)]
    else:
        pairs = list(given) if isinstance(given, Sequence) else []
    try:
        box = np.array(pairs, dtype=np.float64)
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.shape != (len(names), 2) or not (np.isfinite(box).all() and (box[:, 0] < box[:, 1]).all()):
        raise ValueError(f"action_bounds: is {given!r}, must be a pair low < high for each of {', '.join(names)}")
    for d, name in enumerate(names):
        if len(actions) and (low[d] < box[d, 0] or high[d] > box[d, 1]):
            raise ValueError(f"action_bounds: {name} goes from {low[d]:g} to {high[d]:g}, must lie within {pairs[d]}")
    return Box(box[:, 0], box[:, 1], dtype=np.float64), False


def _transitions(
    steps: Sequence[assembly.Steps], columns: Columns, actions: Box, angles: Sequence[str], first: Rows
) -> Transitions | None:
    if steps[0].rewards is None:
        return None
    names = [column.name for column in columns.state]
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
        periodic={names.index(name): sides for name, sides in (told | dict.fromkeys(angles, TURN)).items()},
    )


def _texts(role: str, value: Sequence[str] | str | None) -> list[str] | None:
    if value is None:
        return None
    texts = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    return [str(_text(role, text)).strip() for text in texts if text != ""]


def _text(role: str, value: str | None) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{role}: is {value!r}, must be the name of a column")
    return value


def _require_same_columns(names: Sequence[str], parts: Sequence[Columns]) -> None:
    """All files of a log must mean the same thing."""
    for name, columns in zip(names, parts, strict=True):
        for role in ("state", "action"):
            here, first = ([c.name for c in getattr(part, role)] for part in (columns, parts[0]))
            if here != first:
                message = f"its {role} is {', '.join(here)}, that of {names[0]} is {', '.join(first)}"
                raise ValueError(f"{name}: {message}; all files must have the same columns")
        if (columns.reward is None) != (parts[0].reward is None):
            with_it, without = (names[0], name) if columns.reward is None else (name, names[0])
            raise ValueError(f"{without}: has no reward and {with_it} has one, all files must have the same columns")
