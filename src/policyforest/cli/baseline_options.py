"""The options for a controller that is already there; `explore` starts from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from policyforest._support.arguments import Floats
from policyforest._support.signals import numbers_per_action
from policyforest.cli.signal_options import numbers
from policyforest.exploration import Problem
from policyforest.policy.baseline import NoisyBaseline, as_baseline
from policyforest.policy.policy_files import SUFFIX, load


@dataclass(frozen=True)
class BaselineOptions:
    """A controller that is already there."""

    baseline: Annotated[
        str | None, typer.Option(help="A controller to start from: a .pforest file, or 'u = -12*theta - 3*omega'.")
    ] = None
    noise: Annotated[
        str | None,
        typer.Option(help="With --baseline: the largest change of its actions while exploring, 'a' or 'a,b'."),
    ] = None
    safe: Annotated[
        list[str] | None,
        typer.Option(help="States in which noise is allowed, name=low:high; may be repeated.  [default: all]"),
    ] = None

    def guard(self, problem: Problem, seed: int) -> NoisyBaseline | None:
        """What keeps actions near the controller's; None without one."""
        if self.baseline is None:
            if self.noise is not None or self.safe:
                raise ValueError("--noise, --safe: need --baseline, must be left out without it")
            return None
        if self.noise is None:
            raise ValueError("--noise: is missing, must be given with --baseline (the largest change of its actions)")
        plant = problem.plant.named(problem.observation_space.shape[0], problem.action_space.shape[0])
        given: Any = load(Path(self.baseline)) if self.baseline.endswith(SUFFIX) else self.baseline
        spaces = (problem.observation_space, problem.action_space)
        controller = as_baseline(given, *spaces, plant.state_names, plant.action_names)
        sizes = numbers_per_action("--noise", numbers("--noise", self.noise), problem.action_space.shape[0])
        return NoisyBaseline(controller, sizes, self._box(plant.state_names), seed)

    def _box(self, names: tuple[str, ...]) -> Floats | None:
        if not self.safe:
            return None
        box = np.tile([-np.inf, np.inf], (len(names), 1))
        for text in self.safe:
            name, _, sides = text.partition("=")
            low, colon, high = sides.partition(":")
            try:
                if not colon or name not in names:
                    raise ValueError(text)
                box[names.index(name)] = float(low), float(high)
            except ValueError:
                raise ValueError(
                    f"--safe: is {text!r}, must be name=low:high with a name of {', '.join(names)}"
                ) from None
        return box
