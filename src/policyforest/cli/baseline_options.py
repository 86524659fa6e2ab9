"""The options for an existing controller: `explore` starts from it, and results are compared with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from policyforest._support.arguments import Floats
from policyforest._support.signals import numbers_per_action
from policyforest.cli.policy_argument import read_policy
from policyforest.cli.signal_options import numbers
from policyforest.data.signal_options import SignalOptions
from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import Environment
from policyforest.environments.signal_task import SignalTask
from policyforest.exploration import Problem
from policyforest.exploration.guards import StackedGuard
from policyforest.learning.offline_comparison import compare_offline
from policyforest.policy.baseline import NoisyBaseline, as_baseline
from policyforest.policy.policy_files import SUFFIX

FOLDS = 4


def read_baseline(text: str) -> Any:
    """The policy of a file, or the formula itself."""
    return read_policy(Path(text), "--baseline") if text.endswith(SUFFIX) else text


def compared(new: Any, baseline: Any, data: Transitions, discount: float, n_jobs: int) -> dict[str, Any]:
    """How a new policy compares with the existing controller on the samples; printed with every new policy."""
    if baseline is None:
        return {"compared": None}
    if data.n_episodes < 2 * FOLDS:
        reason = f"{data.n_episodes} episodes are too few to hold some of them out; at least {2 * FOLDS} are needed"
        return {"compared": {"statement": "not shown to be better", "text": f"not shown to be better: {reason}"}}
    found = compare_offline(new, baseline, data, discount=discount, folds=FOLDS, n_jobs=n_jobs)
    return {"compared": asdict(found) | {"text": str(found)}}


@dataclass(frozen=True)
class BaselineOptions:
    """An existing controller."""

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

    def prepared(
        self, env: Environment, signals: SignalOptions, seed: int
    ) -> tuple[Environment, SignalOptions, NoisyBaseline | None]:
        """The environment, the signal options that are left to the agent, and the guard. A controller that needs
        derived signals or past rows acts on the states that these options make, so they are applied here and none are
        left."""
        try:
            return env, signals, self.guard(Problem.of_env(env), seed)
        except ValueError:
            if self.baseline is None or self.noise is None or not signals:
                raise
        stacked = SignalTask(env, probe=self._probe(env, signals, seed), **signals)
        return stacked, {}, self.guard(Problem.of_env(stacked), seed)

    def _probe(self, env: Environment, signals: SignalOptions, seed: int) -> StackedGuard | None:
        """The guard that acts during the search for a delay, when states do not hold pending commands yet."""
        now = cast("SignalOptions", {name: value for name, value in signals.items() if name != "delay"})
        stacked = SignalTask(env, **now)
        guard = self.guard(Problem.of_env(stacked), seed) if signals.get("delay") == "auto" else None
        if guard is None or stacked.plant.signals is None:
            return None
        return StackedGuard(guard, stacked.plant.signals)

    def guard(self, problem: Problem, seed: int) -> NoisyBaseline | None:
        """The guard that keeps actions near those of the controller; None without a controller."""
        if self.baseline is None:
            if self.noise is not None or self.safe:
                raise ValueError("--noise, --safe: need --baseline, must be left out without it")
            return None
        if self.noise is None:
            raise ValueError("--noise: is missing, must be given with --baseline (the largest change of its actions)")
        plant = problem.plant.named(problem.observation_space.shape[0], problem.action_space.shape[0])
        given = read_baseline(self.baseline)
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
