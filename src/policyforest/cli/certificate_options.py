"""The options of ``policyforest certify``: the system that a policy is certified on, and the set to search for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from policyforest._support.arguments import Floats
from policyforest.certification.certified_policy import known_box
from policyforest.certification.equations import Equations
from policyforest.cli.log_options import LogOptions
from policyforest.cli.problem_argument import open_environment
from policyforest.data.readers import read_log
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import id_from_file
from policyforest.environments.named_problems import PROBLEMS
from policyforest.environments.problems.native import NativeProblem
from policyforest.policy.policy import Policy


@dataclass(frozen=True)
class SystemOptions:
    """What the policy is certified on."""

    problem: Annotated[
        str | None,
        typer.Option(
            help=f"A problem of this library, by its name or id: {', '.join(PROBLEMS)}.  [default: the policy's own]"
        ),
    ] = None
    equations: Annotated[
        Path | None, typer.Option(help="A JSON file with formulas for each state, as in the documentation.")
    ] = None
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A log: learn a model from 70% of its episodes and bound its error on the rest; may be repeated."
        ),
    ] = None
    disturbance: Annotated[
        list[str] | None,
        typer.Option(
            help="A disturbance of the equations: name=low:high, or a number for ± that number; may be repeated."
        ),
    ] = None
    error: Annotated[
        str | None, typer.Option(help="With --data: a bound on the model's error for each state, '0.01, 0.2'.")
    ] = None
    coverage: Annotated[float, typer.Option(help="With --data: the share of held-out steps that the bound covers.")] = (
        1.0
    )

    def system(self, policy: Policy, path: Path, logs: LogOptions) -> Any:
        """The model argument of `certify`."""
        given = [name for name in ("problem", "equations", "data") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"--{given[0]}: is given, must be left out with --{given[1]}")
        if self.data:
            return read_log(self.data, **logs.arguments()).transitions
        if self.equations is not None:
            if not self.equations.is_file():
                raise FileNotFoundError(f"--equations: is '{self.equations}', must be a file")
            return Equations.from_text(self.equations.read_text(encoding="utf-8"))
        name = self.problem or id_from_file(str(path), policy.info.problem or "")
        if not name:
            raise ValueError(
                "--problem: is missing, must be given (or --equations, --data) because the policy names no problem"
            )
        found = open_environment(name, "--problem")
        if not isinstance(found.unwrapped, NativeProblem):
            raise ValueError(
                f"--problem: is {name!r}, must be a problem of this library ({', '.join(PROBLEMS)}), because a proof "
                "needs its equations; for another system, give --equations or --data"
            )
        return found

    def arguments(self) -> dict[str, Any]:
        """The arguments of `certify` that belong to the system."""
        given = {"error": None if self.error is None else _numbers("error", self.error)}
        return given | {"disturbance": _disturbance(self.disturbance), "coverage": self.coverage}


@dataclass(frozen=True)
class SetOptions:
    """The set that is searched for."""

    box: Annotated[
        str | None,
        typer.Option(
            help="The box that must never be left, 'lo:hi, lo:hi, …'.  [default: the states that the policy knows]"
        ),
    ] = None
    start: Annotated[
        str | None,
        typer.Option(help="The box of start states, for systems with three or more states.  [default: the box]"),
    ] = None
    target: Annotated[str | None, typer.Option(help="Also prove that this box is reached and then never left.")] = None
    horizon: Annotated[
        int | None, typer.Option(help="With --target: the largest number of moves until it is reached.")
    ] = None
    precision: Annotated[
        str | None,
        typer.Option(help="Precision of the policy: float64, float32 or int16.  [default: float64]"),
    ] = None
    control_steps: Annotated[
        int | None, typer.Option(help="Control steps per move.  [default: 1, more for three or more states]")
    ] = None
    max_cells: Annotated[int, typer.Option(help="The largest number of cells (boxes of states).")] = 100_000
    max_seconds: Annotated[float, typer.Option(help="The time after which no new round of the search begins.")] = 600.0
    tolerance: Annotated[
        float, typer.Option(help="End the search when less than this share of the box is undecided.")
    ] = 0.002

    def boxes(self) -> dict[str, Any]:
        """The boxes that are given."""
        return {name: _box(name, getattr(self, name)) for name in ("box", "start", "target")}

    def arguments(self, policy: Policy, model: Any, boxes: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `certify` that belong to the set."""
        if boxes["box"] is None:
            boxes = boxes | {"box": default_box(policy, model)}
        return boxes | {
            "horizon": self.horizon,
            "precision": self.precision,
            "steps": self.control_steps,
            "max_cells": self.max_cells,
            "max_seconds": self.max_seconds,
            "tolerance": self.tolerance,
        }


def default_box(policy: Policy, model: Any) -> Floats:
    """The states that the policy knows, limited to those where the problem does not end, or to those of the samples."""
    known = known_box(policy)
    if isinstance(model, Transitions):
        seen = np.stack([model.states.min(axis=0), model.states.max(axis=0)], axis=1)
    elif isinstance(getattr(model, "unwrapped", None), NativeProblem):
        seen = np.array(model.unwrapped.state_limits)
    else:
        seen = np.array(policy.state_box)
    if seen.shape != known.shape:
        raise ValueError(f"model: has {len(seen)} states, but the policy has {len(known)}")
    return np.stack([np.maximum(known[:, 0], seen[:, 0]), np.minimum(known[:, 1], seen[:, 1])], axis=1)


def _box(name: str, text: str | None) -> list[tuple[float, float]] | None:
    if text is None:
        return None
    try:
        sides = [part.split(":") for part in text.split(",")]
        return [(float(low), float(high)) for low, high in sides]
    except ValueError:
        raise ValueError(f"--{name}: is {text!r}, must be 'lo:hi, lo:hi, …'") from None


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(number) for number in text.replace(",", " ").split()]
    except ValueError:
        raise ValueError(f"--{name}: is {text!r}, must be numbers separated by commas") from None


def _disturbance(texts: Sequence[str] | None) -> Any:
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _numbers("disturbance", texts[0])[0]
    ranges = {}
    for text in texts:
        name, _, sides = text.partition("=")
        try:
            low, high = map(float, sides.split(":"))
        except ValueError:
            raise ValueError(f"--disturbance: is {text!r}, must be 'name=low:high', or one number") from None
        ranges[name] = low, high
    return ranges
