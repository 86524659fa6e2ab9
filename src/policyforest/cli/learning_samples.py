"""Where the samples of ``policyforest learn`` come from: random episodes, uniform samples, or logs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest._support.labels import ACTION_NAMES, STATE_NAMES
from policyforest.cli.log_options import LogOptions
from policyforest.cli.option_names import options_named
from policyforest.cli.output import count_option, note
from policyforest.cli.problem_argument import open_environment
from policyforest.cli.signal_options import SignalCommandOptions
from policyforest.data.readers import read_log
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect, sample_uniform
from policyforest.environments.episodes import Environment
from policyforest.environments.known_task import known_task
from policyforest.environments.named_problems import named_problem

# The defaults; collecting ends at the episodes or the steps, whichever comes first.
DEFAULT_EPISODES, DEFAULT_STEPS, DEFAULT_SAMPLES = 100, 10_000, 10_000

SampleOrigin = dict[str, Any]
"""What the info of a policy records about its samples"""


@dataclass(frozen=True)
class SampleOptions:
    """How many samples are collected, or the logs that hold them."""

    episodes: Annotated[
        int | None, count_option(f"Episodes of a random policy.  [default: {DEFAULT_EPISODES} without --steps]")
    ] = None
    steps: Annotated[
        int | None,
        count_option(f"The largest number of control steps.  [default: {DEFAULT_STEPS} without --episodes]"),
    ] = None
    samples: Annotated[
        int | None,
        count_option(
            "Draw this many states and actions uniformly instead of playing episodes (as for car-on-the-hill)."
        ),
    ] = None
    data: Annotated[
        list[str] | None,
        typer.Option(help="Learn from a log: a file, a folder, a pattern or 'minari:ID'; may be repeated."),
    ] = None
    angle: Annotated[
        list[str] | None,
        typer.Option(
            help="A state that is an angle in [-pi, pi]: its dimension, or with --data its name; may be repeated."
        ),
    ] = None

    def reading(self, log_options: LogOptions) -> dict[str, Any]:
        """The arguments of `read_log`; without logs, --angle is about the environment."""
        return replace(log_options, angle=self.angle if self.data else None).arguments()

    @property
    def by_episodes(self) -> bool:
        return self.episodes is not None or self.steps is not None


def take_samples(
    problem: str | None,
    options: SampleOptions,
    reading: dict[str, Any],
    signals: SignalCommandOptions,
    seed: int,
    quiet: bool,
) -> tuple[Transitions, SampleOrigin]:
    """The requested samples, and where they come from."""
    if options.data:
        _refuse_with_data(options)
        return _read(options.data, reading | signals.of_log(), quiet)
    reading = dict(reading)
    known = {name: reading.pop(name, None) for name in ("reward", "terminal")}
    _refuse_without_data(reading)
    if not problem:
        raise ValueError(
            "PROBLEM: is missing, must be a problem such as double-integrator unless logs are given with --data "
            "(see policyforest learn --help)"
        )
    if options.samples is not None and options.by_episodes:
        raise ValueError("--samples: cannot be combined with --episodes or --steps")
    with options_named("reward", "terminal"):
        environment = known_task(open_environment(problem), **known)
    told = {name: formula for name, formula in known.items() if formula is not None}
    try:
        if options.samples is not None or (named_problem(problem).sampling == "uniform" and not options.by_episodes):
            if signals.arguments():
                raise ValueError("--history, --delay, …: need episodes, must be left out with uniform samples")
            data, origin = _draw_uniformly(environment, options, seed)
        else:
            data, origin = _play_episodes(environment, options, signals, seed)
            if data.delay_search is not None and not quiet:
                note(str(data.delay_search))
        return data, origin | told
    finally:
        environment.close()


def _draw_uniformly(environment: Environment, options: SampleOptions, seed: int) -> tuple[Transitions, SampleOrigin]:
    if options.angle:
        raise ValueError("--angle: needs episodes, must be left out with uniform samples")
    samples = DEFAULT_SAMPLES if options.samples is None else options.samples
    return sample_uniform(environment, samples, seed), {"collected_samples": samples, "collected_seed": seed}


def _play_episodes(
    environment: Environment, options: SampleOptions, signals: SignalCommandOptions, seed: int
) -> tuple[Transitions, SampleOrigin]:
    episodes, steps = options.episodes, options.steps
    if not options.by_episodes:
        episodes, steps = DEFAULT_EPISODES, DEFAULT_STEPS
    periodic = {_dimension(text): (-math.pi, math.pi) for text in options.angle} if options.angle else None
    collected = collect(
        environment, episodes=episodes, steps=steps, seed=seed, periodic=periodic, **signals.arguments()
    )
    return collected, {"collected_episodes": collected.n_episodes, "collected_seed": seed}


def _dimension(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--angle: is {text!r}, must be the number of a state dimension") from None


def _read(data: list[str], reading: dict[str, Any], quiet: bool) -> tuple[Transitions, SampleOrigin]:
    """The samples of a log, and where they come from: its files, and what its columns are called."""
    log = read_log(data, **reading)
    for warning in log.description.warnings:
        if not quiet:
            note(str(warning))
    if log.description.delay is not None and not quiet:
        note(log.description.delay)
    plant = log.transitions.plant
    files = ", ".join(Path(d).name for d in data)
    told = {"data": files, STATE_NAMES: list(plant.state_names), ACTION_NAMES: list(plant.action_names)}
    known = {"reward": plant.reward, "terminal": plant.terminal}
    return log.transitions, told | {name: text for name, text in known.items() if text is not None}


def _refuse_without_data(reading: dict[str, Any]) -> None:
    """Refuses options that only apply to logs."""
    plain = {"time_unit": 1.0, "on_error": "fail", "degrees": (), "angles": ()}
    for name, value in reading.items():
        if plain.get(name) != value:
            option = {"action_bounds": "bounds"}.get(name, name).replace("_", "-")
            raise ValueError(f"--{option}: is {value}, must be left out without --data")


def _refuse_with_data(options: SampleOptions) -> None:
    for name in ("episodes", "steps", "samples"):
        if value := getattr(options, name):
            raise ValueError(f"--{name}: is {value}, must be left out with --data, which holds all samples")
