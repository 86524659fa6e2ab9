"""``policyforest learn``: samples in, a policy out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from policyforest.cli.learning_samples import SampleOptions, take_samples
from policyforest.cli.log_options import LogOptions
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.output import (
    Discount,
    Jobs,
    Json,
    PolicyOutput,
    ProgressDisplay,
    Seed,
    note,
    print_json,
    print_pairs,
    progress,
    training_curves,
)
from policyforest.cli.problem_argument import ProblemName
from policyforest.data.transitions import Transitions
from policyforest.environments.named_problems import named_problem
from policyforest.learning.dynamics.dynamics_model import GOOD_SCORE
from policyforest.learning.methods import METHODS, WITHOUT_Q, Learned, Learner, with_problem
from policyforest.learning.q_history import QIteration
from policyforest.policy.policy_files import SUFFIX


@dataclass(frozen=True)
class LearnerOptions:
    """How to learn."""

    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = "fpf-pwl"
    preset: Annotated[str | None, typer.Option(help="'paper': the settings of the paper for this problem.")] = None
    discount: Discount = None
    seed: Seed = 0
    jobs: Jobs = -1


@dataclass(frozen=True)
class OutputOptions:
    """Where the results go."""

    output: PolicyOutput = Path("policy.pforest")
    save_data: Annotated[Path | None, typer.Option(help="Where the samples go, .npz or .parquet.")] = None
    tensorboard: Annotated[Path | None, typer.Option(help="A folder for TensorBoard's training curves.")] = None
    checkpoint_dir: Annotated[
        Path | None, typer.Option(help="A folder for each finished iteration; run the same command again to resume.")
    ] = None
    json: Json = False

    def require_places(self) -> None:
        """Refuses at once what could not be written when all the work is done."""
        places = (("output", self.output, (SUFFIX,)), ("save-data", self.save_data, (".npz", ".parquet")))
        for option, path, endings in places:
            if path is not None and path.suffix not in endings:
                raise ValueError(f"--{option}: is {path}, must end in {' or '.join(endings)}")
            if path is not None and not path.parent.is_dir():
                raise ValueError(f"--{option}: is {path}, must lie in a folder that exists")


@with_option_groups
def learn(
    problem: ProblemName = None,
    *,
    sample_options: SampleOptions,
    log_options: LogOptions,
    learner_options: LearnerOptions,
    output_options: OutputOptions,
) -> None:
    """Learn a policy from samples and save it.

    The samples are episodes of a random policy on PROBLEM, or come from logs (--data; see `policyforest data`)."""
    output_options.require_places()
    reading = sample_options.reading(log_options)
    seed, json = learner_options.seed, output_options.json
    with _observed_learner(problem or "", learner_options, output_options) as (learner, shown):
        started = perf_counter()
        shown.stage("collecting samples")
        transitions, origin = take_samples(problem, sample_options, reading, seed, quiet=json)
        if output_options.save_data is not None:
            transitions.save(output_options.save_data)
        collect_seconds = perf_counter() - started
        learned = _fit(learner, transitions, shown)
    policy = with_problem(learned.policy, named_problem(problem or "").id, **origin)
    policy.save(output_options.output)
    report = _report(learned, transitions, output_options.output, collect_seconds)
    if json:
        print_json(report | {"problem": policy.info.problem, "seed": seed, **origin})
        return
    if transitions.unbounded:
        dims = ", ".join(map(str, transitions.unbounded))
        note(f"states without bounds (dimensions {dims}): the policy knows the range of the samples")
    source = policy.info.problem or ", ".join(sample_options.data or [])
    print_pairs(f"Learned a policy for {source}", _lines(report))


@contextmanager
def _observed_learner(
    problem: str, options: LearnerOptions, outputs: OutputOptions
) -> Iterator[tuple[Learner, ProgressDisplay]]:
    """The learner, and the display on which it shows its progress."""
    with progress(quiet=outputs.json) as shown, training_curves(outputs.tensorboard) as written:

        def tell(iteration: QIteration) -> None:
            shown.iteration(iteration)
            written(iteration)

        yield (
            Learner(
                method=options.method,
                problem=problem,
                discount=options.discount,
                preset=options.preset,
                seed=options.seed,
                n_jobs=options.jobs,
                callback=tell,
                progress=shown.block,
                checkpoint_dir=outputs.checkpoint_dir,
            ),
            shown,
        )


def _fit(learner: Learner, transitions: Transitions, shown: ProgressDisplay) -> Learned:
    if learner.method in WITHOUT_Q:
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
        lines["resampling"] = _resampling(report["resampling"])
    if report.get("iterations"):
        last = report["iterations"][-1]
        lines["Q"] = f"{last['iteration']} iterations, mean value {last['value']:.4g}"
    if "leaves" in report:
        lines["size"] = (
            f"{report['leaves']:,} leaves, at most {report['worst_case_comparisons']} comparisons per action"
        )
    return lines | {"time": f"{seconds:.1f} s", "saved": report["policy"]}


def _resampling(drawn: dict[str, Any]) -> str:
    """How many samples came from the learned model, and how good it is; or why it was not used."""
    worst = min(*drawn["state_scores"], drawn["reward_score"])
    if drawn["n_drawn"] == 0:
        # A negative R² of a few samples can be any number: it says no more than that the mean predicts better.
        quality = f"{worst:.2g}" if worst >= 0.0 else "below 0" if math.isfinite(worst) else "unknown"
        return (
            f"none: the learned model was not used, because its lowest R² on held-out steps is {quality} "
            f"and must be at least {GOOD_SCORE:g}"
        )
    explained = f"at least {100 * worst:.1f}%" if math.isfinite(worst) else "an unknown part"
    return f"{drawn['n_drawn']:,} samples from a model, which explains {explained} of the variance of held-out steps"
