"""``policyforest learn``: samples in, a policy out."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from policyforest._support.labels import ACTION_NAMES, STATE_NAMES
from policyforest.cli import log_options as options
from policyforest.cli.output import (
    Jobs,
    Json,
    ProgressDisplay,
    Seed,
    note,
    print_json,
    print_pairs,
    progress,
    training_curves,
)
from policyforest.cli.problem_argument import ProblemName, open_environment
from policyforest.data.readers import read_log
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect, sample_uniform
from policyforest.environments.named_problems import named_problem
from policyforest.learning.methods import METHODS, Learned, Learner, with_problem
from policyforest.learning.q_history import QIteration
from policyforest.policy.policy_files import SUFFIX

# Whichever comes first, where nothing is said.
DEFAULT_EPISODES, DEFAULT_STEPS, DEFAULT_SAMPLES = 100, 10_000, 10_000


def learn(
    problem: ProblemName = None,
    episodes: Annotated[
        int | None, typer.Option(help=f"Episodes of a random policy to learn from.  [default: {DEFAULT_EPISODES}]")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help=f"Control steps at most.  [default: {DEFAULT_STEPS} without --episodes]")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(help="Draw states and actions uniformly in place of episodes (car-on-the-hill does so)."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Learn from a log: a file, a folder, a pattern or 'minari:ID'; may be repeated."),
    ] = None,
    angle: Annotated[
        list[str] | None,
        typer.Option(help="A state that is an angle in [-pi, pi], its dimension or name; may be repeated."),
    ] = None,
    state: options.State = None,
    action: options.Action = None,
    reward: options.Reward = None,
    terminal: options.Terminal = None,
    truncated: options.Truncated = None,
    episode: options.Episode = None,
    time: options.Time = None,
    next_state: options.NextState = None,
    terminal_marks: options.TerminalMarks = None,
    period: options.Period = None,
    max_gap: options.MaxGap = None,
    time_unit: options.TimeUnit = 1.0,
    degrees: options.Degrees = None,
    bounds: options.Bounds = None,
    on_error: options.OnError = "fail",
    format: options.Format = None,
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = "fpf-pwl",
    preset: Annotated[str | None, typer.Option(help="'paper': the settings of the paper for this problem.")] = None,
    discount: Annotated[
        float | None, typer.Option(help="What a reward one step later is worth.  [default: the problem's own, or 0.98]")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the policy goes.")] = Path("policy.pforest"),
    save_data: Annotated[Path | None, typer.Option(help="Where the samples go, .npz or .parquet.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="A folder for TensorBoard's training curves.")] = None,
    checkpoint_dir: Annotated[
        Path | None, typer.Option(help="A folder for each finished iteration; the same command goes on from there.")
    ] = None,
    json: Json = False,
) -> None:
    """Learn a policy from samples and save it.

    The samples are episodes of a random policy on PROBLEM, or come from logs (--data; see `policyforest data`)."""
    _require_places(output, save_data)
    reading = options.log_options(
        bounds=bounds, degrees=degrees, angles=angle if data else None, state=state, action=action, reward=reward,
        terminal=terminal, truncated=truncated, episode=episode, time=time, next_state=next_state,
        terminal_marks=terminal_marks, period=period, max_gap=max_gap, time_unit=time_unit, on_error=on_error,
        format=format,
    )  # fmt: skip
    name = problem or ""
    with progress(quiet=json) as shown, training_curves(tensorboard) as written:

        def tell(iteration: QIteration) -> None:
            shown.iteration(iteration)
            written(iteration)

        learner = Learner(method, name, discount, preset, seed, jobs, tell, shown.block, checkpoint_dir)
        started = perf_counter()
        shown.stage("collecting samples")
        if data:
            _refuse_with_data(episodes=episodes, steps=steps, samples=samples)
            transitions, origin = _read(data, reading, quiet=json)
        else:
            _refuse_without_data(reading)
            transitions, origin = _gather(problem, episodes, steps, samples, angle, seed)
        if save_data is not None:
            transitions.save(save_data)
        collect_seconds = perf_counter() - started
        learned = _fit(learner, transitions, shown)
    policy = with_problem(learned.policy, named_problem(name).id, **origin)
    policy.save(output)
    report = _report(learned, transitions, output, collect_seconds)
    if json:
        print_json(report | {"problem": policy.info.problem, "seed": seed, **origin})
        return
    if transitions.unbounded:
        dims = ", ".join(map(str, transitions.unbounded))
        note(f"states without bounds (dimensions {dims}): the policy knows the range of the samples")
    print_pairs(f"Learned a policy for {policy.info.problem or ', '.join(data or [])}", _lines(report))


def _require_places(output: Path, save_data: Path | None) -> None:
    """Refuses at once what could not be written when all the work is done."""
    for option, path, endings in (("output", output, (SUFFIX,)), ("save-data", save_data, (".npz", ".parquet"))):
        if path is not None and path.suffix not in endings:
            raise ValueError(f"--{option}: is {path}, must end in {' or '.join(endings)}")
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"--{option}: is {path}, must lie in a folder that exists")


def _gather(
    problem: str | None,
    episodes: int | None,
    steps: int | None,
    samples: int | None,
    angle: list[str] | None,
    seed: int,
) -> tuple[Transitions, dict[str, Any]]:
    """The samples asked for, and how they were asked for."""
    if not problem:
        raise ValueError("PROBLEM: is missing, must be given without --data")
    by_episodes = episodes is not None or steps is not None
    if samples is not None and by_episodes:
        raise ValueError("--samples: goes with neither --episodes nor --steps, must stand alone")
    environment = open_environment(problem)
    try:
        if samples is not None or (named_problem(problem).sampling == "uniform" and not by_episodes):
            if angle:
                raise ValueError("--angle: goes with episodes, must be left out with uniform samples")
            samples = DEFAULT_SAMPLES if samples is None else samples
            return sample_uniform(environment, samples, seed), {"collected_samples": samples, "collected_seed": seed}
        if not by_episodes:
            episodes, steps = DEFAULT_EPISODES, DEFAULT_STEPS
        periodic = {_dimension(text): (-math.pi, math.pi) for text in angle} if angle else None
        collected = collect(environment, episodes=episodes, steps=steps, seed=seed, periodic=periodic)
        return collected, {"collected_episodes": collected.n_episodes, "collected_seed": seed}
    finally:
        environment.close()


def _dimension(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--angle: is {text!r}, must be the number of a state dimension") from None


def _read(data: list[str], reading: dict[str, Any], quiet: bool) -> tuple[Transitions, dict[str, Any]]:
    """The samples of a log, and where they come from: its files, and what its columns are called."""
    log = read_log(data, **reading)
    for warning in log.description.warnings:
        if not quiet:
            note(str(warning))
    names = {role: [c.name for c in log.description.columns if c.role == role] for role in ("state", "action")}
    files = ", ".join(Path(d).name for d in data)
    return log.transitions, {"data": files, STATE_NAMES: names["state"], ACTION_NAMES: names["action"]}


def _refuse_without_data(reading: dict[str, Any]) -> None:
    """Options of logs say nothing about an environment."""
    plain = {"time_unit": 1.0, "on_error": "fail", "degrees": (), "angles": ()}
    for name, value in reading.items():
        if plain.get(name) != value:
            option = {"action_bounds": "bounds"}.get(name, name).replace("_", "-")
            raise ValueError(f"--{option}: is {value}, must be left out without --data")


def _refuse_with_data(**options: object) -> None:
    for name, value in options.items():
        if value:
            raise ValueError(f"--{name}: is {value}, must be left out with --data, which holds all samples")


def _fit(learner: Learner, transitions: Transitions, shown: ProgressDisplay) -> Learned:
    if learner.method in ("bas", "fqi-discrete"):
        shown.stage(f"learning by {learner.method}")
    else:
        shown.iterations(learner.learners[0])
    return learner.fit(transitions)


def _report(learned: Learned, transitions: Transitions, output: Path, collect_seconds: float) -> dict[str, Any]:
    policy, q = learned.policy, learned.q
    report: dict[str, Any] = {
        "policy": str(output),
        "method": policy.info.method,
        "samples": len(transitions),
        "episodes": transitions.n_episodes,
        "terminal": int(transitions.terminals.sum()),
        "discount": policy.info.settings.get("discount"),
        "collect_seconds": collect_seconds,
        "q_seconds": learned.q_seconds,
        "policy_seconds": learned.policy_seconds,
    }
    if q is not None:
        report |= {
            "discount": q.settings.discount,
            "iterations": [asdict(iteration) for iteration in q.history],
            "resampling": None if q.resampling is None else asdict(q.resampling),
        }
    if hasattr(policy, "worst_case_comparisons"):
        report |= {"leaves": policy.n_leaves, "worst_case_comparisons": policy.worst_case_comparisons}  # type: ignore[attr-defined]
    return report


def _lines(report: dict[str, Any]) -> dict[str, str]:
    seconds = report["collect_seconds"] + report["q_seconds"] + report["policy_seconds"]
    lines = {
        "method": f"{report['method']}, discount {report['discount']:g}",
        "samples": f"{report['samples']:,} in {report['episodes']:,} episodes, {report['terminal']:,} terminal",
    }
    if report.get("resampling"):
        drawn = report["resampling"]
        quality = [*drawn["state_scores"], drawn["reward_score"]]
        explained = f"at least {100 * min(quality):.1f}%" if math.isfinite(min(quality)) else "an unknown part"
        lines["resampling"] = (
            f"{drawn['n_drawn']:,} samples from a model, which explains {explained} of the variance of held-out steps"
        )
    if report.get("iterations"):
        last = report["iterations"][-1]
        lines["Q"] = f"{last['iteration']} iterations, mean value {last['value']:.4g}"
    if "leaves" in report:
        lines["size"] = f"{report['leaves']:,} leaves, at most {report['worst_case_comparisons']} comparisons an action"
    return lines | {"time": f"{seconds:.1f} s", "saved": report["policy"]}
