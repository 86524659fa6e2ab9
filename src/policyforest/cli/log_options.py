"""The options for reading a log; `learn` and `data` share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer


@dataclass(frozen=True)
class LogOptions:
    """How to read a log, as given on the command line."""

    state: Annotated[
        str | None, typer.Option(help="The state's columns, 'a,b' or 'name=column,…'.  [default: state_0, state_1, …]")
    ] = None
    action: Annotated[str | None, typer.Option(help="The action's columns.  [default: action_0, …]")] = None
    reward: Annotated[
        str | None,
        typer.Option(help="A column, or a formula: '-(theta**2) - 0.1*next_omega**2'.  [default: reward]"),
    ] = None
    terminal: Annotated[
        str | None,
        typer.Option(help="A column of true and false, or a formula such as 'abs(theta) > 1.5'.  [default: terminal]"),
    ] = None
    truncated: Annotated[
        str | None, typer.Option(help="A column of true and false, true where only a time limit ends the episode.")
    ] = None
    episode: Annotated[str | None, typer.Option(help="A column whose value changes with each episode.")] = None
    time: Annotated[str | None, typer.Option(help="A column with seconds, or dates and times.")] = None
    next_state: Annotated[
        str | None, typer.Option(help="Columns of the next state.  [default: the state of the next row]")
    ] = None
    terminal_marks: Annotated[
        str | None,
        typer.Option(
            help="'step' if the terminal flag is in the row of the last action, 'state' if it is in the next row."
        ),
    ] = None
    period: Annotated[float | None, typer.Option(help="Resample rows to this control period (seconds).")] = None
    max_gap: Annotated[
        float | None, typer.Option(help="A longer gap between rows (seconds) ends an episode.  [default: 3 periods]")
    ] = None
    time_unit: Annotated[float, typer.Option(help="Seconds per unit of the time column: 0.001 for milliseconds.")] = 1.0
    degrees: Annotated[list[str] | None, typer.Option(help="A column in degrees; may be repeated.")] = None
    angle: Annotated[list[str] | None, typer.Option(help="A state that is an angle; may be repeated.")] = None
    bounds: Annotated[list[str] | None, typer.Option(help="Limits of an action, name=low:high; may be repeated.")] = (
        None
    )
    on_error: Annotated[str, typer.Option(help="What to do with malformed rows: 'fail' or 'skip'.")] = "fail"
    format: Annotated[
        str | None,
        typer.Option(help="csv, parquet, numpy, minari, rosbag or transitions.  [default: by the file's name]"),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `read_log`, without those that were not given."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        degrees, angles, bounds = (given.pop(name, ()) for name in ("degrees", "angle", "bounds"))
        if bounds:
            given["action_bounds"] = dict(_limits(text) for text in bounds)
        return given | {"degrees": tuple(degrees), "angles": tuple(angles)}


def _limits(text: str) -> tuple[str, tuple[float, float]]:
    """The name and the limits in 'name=low:high'."""
    name, _, sides = text.rpartition("=")
    low, colon, high = sides.partition(":")
    try:
        if not (name and colon):
            raise ValueError(text)
        return name, (float(low), float(high))
    except ValueError:
        raise ValueError(f"--bounds: is {text!r}, must be name=low:high") from None
