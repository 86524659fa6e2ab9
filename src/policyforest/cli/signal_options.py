"""The options for history, delay, derived signals and actuators; `learn` and `data` share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer

from policyforest.data.signal_options import SignalOptions


@dataclass(frozen=True)
class SignalCommandOptions:
    """How measurements become states, and how commands become actions."""

    history: Annotated[
        int | None,
        typer.Option(help="The number of measurements in the state: the newest and past ones.  [default: 1]"),
    ] = None
    history_actions: Annotated[
        int | None, typer.Option(help="The number of past actions in the state.  [default: 0]")
    ] = None
    delay: Annotated[
        str | None, typer.Option(help="The delay of commands in control steps, or 'auto' to find it from the samples.")
    ] = None
    derive: Annotated[
        list[str] | None, typer.Option(help="A derived signal, 'omega = diff(theta, dt)'; may be repeated.")
    ] = None
    channel: Annotated[
        list[str] | None, typer.Option(help="A measured or derived column that is part of the state; may be repeated.")
    ] = None
    dt: Annotated[
        float | None,
        typer.Option(help="The control period in seconds, for formulas with dt; a log with times has its own period."),
    ] = None
    max_rate: Annotated[str | None, typer.Option(help="The largest change of each action per step, 'a' or 'a,b'.")] = (
        None
    )
    dead_zone: Annotated[str | None, typer.Option(help="Commands closer to 0 than this become 0.")] = None
    quantum: Annotated[str | None, typer.Option(help="Actions are whole multiples of this.")] = None
    exogenous: Annotated[
        list[str] | None,
        typer.Option(help="A state that the system does not influence, such as a set point; may be repeated."),
    ] = None
    held: Annotated[
        list[str] | None, typer.Option(help="An exogenous state that keeps its value in plans; may be repeated.")
    ] = None
    previewed: Annotated[
        list[str] | None,
        typer.Option(
            help="An exogenous state with a measured next value, 'setpoint = setpoint_ahead'; may be repeated."
        ),
    ] = None

    def of_log(self) -> dict[str, Any]:
        """The arguments of `read_log`, without those that were not given."""
        return self._history() | ({} if self.dt is None else {"dt": self.dt})

    def arguments(self) -> SignalOptions:
        """The arguments of `collect`, without those that were not given."""
        return cast("SignalOptions", self._history() | ({} if self.dt is None else {"period": self.dt}))

    def _history(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "history": self.history,
            "history_actions": self.history_actions,
            "delay": None if self.delay is None else _delay(self.delay),
            "derive": self.derive,
            "channels": self.channel,
            "max_rate": numbers("--max-rate", self.max_rate),
            "dead_zone": numbers("--dead-zone", self.dead_zone),
            "quantum": numbers("--quantum", self.quantum),
            "exogenous": self.exogenous,
            "held": self.held,
            "previewed": self.previewed,
        }
        return {name: value for name, value in given.items() if value is not None}


def _delay(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def numbers(option: str, text: str | None) -> Sequence[float] | float | None:
    """The numbers of an option: one, or several separated by commas."""
    if text is None:
        return None
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option}: is {text!r}, must be numbers such as '0.5' or '0.5,1'") from None
    return found[0] if len(found) == 1 else found
