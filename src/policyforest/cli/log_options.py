"""The options that say how a log is to be read; `learn` and `data` share them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

State = Annotated[
    str | None, typer.Option(help="The state's columns, 'a,b' or 'name=column,…'.  [default: state_0, state_1, …]")
]
Action = Annotated[str | None, typer.Option(help="Columns of the action.  [default: action_0, …]")]
NextState = Annotated[str | None, typer.Option(help="Columns of the next state.  [default: the state of the next row]")]
Reward = Annotated[
    str | None,
    typer.Option(help="A column, or a formula: '-(theta**2) - 0.1*next_omega**2'.  [default: reward]"),
]
Terminal = Annotated[
    str | None, typer.Option(help="A column of truths, or a formula such as 'abs(theta) > 1.5'.  [default: terminal]")
]
Truncated = Annotated[str | None, typer.Option(help="A column of truths: ends that are only time limits.")]
Episode = Annotated[str | None, typer.Option(help="A column whose value changes with each episode.")]
Time = Annotated[str | None, typer.Option(help="A column with seconds, or dates and times.")]
TerminalMarks = Annotated[
    str | None,
    typer.Option(help="'step' if the terminal flag stands beside the last action, 'state' if beside the end."),
]
Period = Annotated[float | None, typer.Option(help="Seconds of a control step that rows are brought to.")]
MaxGap = Annotated[float | None, typer.Option(help="Seconds without a row that end an episode.  [default: 3 periods]")]
TimeUnit = Annotated[float, typer.Option(help="Seconds in a unit of the time column: 0.001 for milliseconds.")]
Degrees = Annotated[list[str] | None, typer.Option(help="A column in degrees; may be repeated.")]
Bounds = Annotated[list[str] | None, typer.Option(help="Limits of an action, name=low:high; may be repeated.")]
OnError = Annotated[str, typer.Option(help="What to do about malformed rows: 'fail' or 'skip'.")]
Format = Annotated[
    str | None, typer.Option(help="csv, parquet, numpy, minari, rosbag or transitions.  [default: by the file's name]")
]


def log_options(
    *, bounds: Sequence[str] | None, degrees: Sequence[str] | None, angles: Sequence[str] | None, **given: Any
) -> dict[str, Any]:
    """The arguments of `read_log`, without those that were not given."""
    options = {name: value for name, value in given.items() if value is not None}
    if bounds:
        options["action_bounds"] = dict(_bounds(text) for text in bounds)
    return options | {"degrees": tuple(degrees or ()), "angles": tuple(angles or ())}


def _bounds(text: str) -> tuple[str, tuple[float, float]]:
    name, _, sides = text.rpartition("=")
    low, colon, high = sides.partition(":")
    try:
        if not (name and colon):
            raise ValueError(text)
        return name, (float(low), float(high))
    except ValueError:
        raise ValueError(f"--bounds: is {text!r}, must be name=low:high") from None
