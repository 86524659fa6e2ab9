"""``policyforest learn``: samples in, a policy out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from policyforest._support.arguments import one_of
from policyforest._support.spaces import check_fit
from policyforest.cli.baseline_options import compared, read_baseline
from policyforest.cli.folders import folder_option
from policyforest.cli.learn_report import learning_report, print_learned, warn_of
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
    progress,
    training_curves,
)
from policyforest.cli.output_files import require_output
from policyforest.cli.problem_argument import ProblemName
from policyforest.cli.signal_options import SignalCommandOptions
from policyforest.data.transitions import Transitions
from policyforest.environments.named_problems import named_problem
from policyforest.learning.methods import METHODS, WITH_Q, WITHOUT_Q, Learned, Learner, with_problem
from policyforest.learning.planned_learning import PlanningWarning
from policyforest.learning.q_history import QIteration
from policyforest.policy.policy_files import SUFFIX

DEFAULT_METHOD, PRESET_METHOD = "plan", "fpf-pwl"


@dataclass(frozen=True)
class LearnerOptions:
    """How to learn."""

    method: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(METHODS)}.  [default: {DEFAULT_METHOD}, and {PRESET_METHOD} with --preset]",
        ),
    ] = None
    preset: Annotated[str | None, typer.Option(help="'paper': the settings of the paper for this problem.")] = None
    baseline: Annotated[
        str | None, typer.Option(help="An existing controller to beat: a .pforest file, or 'u = -12*theta - 3*omega'.")
    ] = None
    discount: Discount = None
    seed: Seed = 0
    jobs: Jobs = -1

    @property
    def chosen_method(self) -> str:
        """The method that was given; a preset holds settings of Fitted Q Iteration, so it implies that."""
        return self.method or (DEFAULT_METHOD if self.preset is None else PRESET_METHOD)

    def check(self) -> None:
        """Refuses a method and a preset that do not exist, or that do not go together."""
        one_of("--method", self.chosen_method, METHODS)
        if self.preset is not None:
            one_of("--preset", self.preset, ("paper",))
            if self.chosen_method in WITHOUT_Q:
                raise ValueError(
                    f"--preset: is {self.preset!r}, must be left out with the method {self.chosen_method!r}"
                )
        if self.baseline is not None and self.chosen_method != "plan":
            raise ValueError(f"--baseline: needs the method 'plan', must be left out with {self.chosen_method!r}")


@dataclass(frozen=True)
class OutputOptions:
    """Where the results go."""

    output: PolicyOutput = Path("policy.pforest")
    save_data: Annotated[Path | None, typer.Option(help="Where to save the samples, .npz or .parquet.")] = None
    tensorboard: Annotated[Path | None, folder_option("A folder for TensorBoard's training curves.")] = None
    checkpoint_dir: Annotated[
        Path | None, folder_option("A folder that keeps finished iterations; run the same command again to resume.")
    ] = None
    json: Json = False

    def require_places(self) -> None:
        """Refuses, before the work begins, paths that cannot be written at its end."""
        require_output("--output", self.output, SUFFIX)
        if self.save_data is not None:
            require_output("--save-data", self.save_data, ".npz", ".parquet")

    def require_iterations(self, method: str) -> None:
        """Refuses output options that only Fitted Q Iteration can fill."""
        for option, path in (("checkpoint-dir", self.checkpoint_dir), ("tensorboard", self.tensorboard)):
            if path is not None and method in WITHOUT_Q:
                raise ValueError(
                    f"--{option}: needs Fitted Q Iteration, must be left out with the method {method!r}; "
                    f"use it with --method {WITH_Q[0]}"
                )


@with_option_groups
def learn(
    problem: ProblemName = None,
    *,
    sample_options: SampleOptions,
    log_options: LogOptions,
    signals: SignalCommandOptions,
    learner_options: LearnerOptions,
    output_options: OutputOptions,
) -> None:
    """Learn a policy from samples and save it.

    The samples are episodes of a random policy on PROBLEM, or come from logs (--data; see `policyforest data`)."""
    output_options.require_places()
    learner_options.check()
    output_options.require_iterations(learner_options.chosen_method)
    reading = sample_options.reading(log_options)
    seed, json = learner_options.seed, output_options.json
    with _observed_learner(problem or "", learner_options, output_options) as (learner, shown):
        started = perf_counter()
        shown.stage("collecting samples")
        transitions, origin = take_samples(problem, sample_options, reading, signals, seed, quiet=json)
        if output_options.save_data is not None:
            transitions.save(output_options.save_data)
        collect_seconds = perf_counter() - started
        learned = _fit(learner, transitions, shown)
        policy = with_problem(learned.policy, named_problem(problem or "").id, **origin)
        policy.save(output_options.output)
        if learner.baseline is not None:
            shown.stage("comparing with the baseline")
        offline = compared(policy, learner.baseline, transitions, learner.gamma, learner_options.jobs)
    report = learning_report(learned, transitions, output_options.output, collect_seconds) | offline
    if learned.planned is not None:
        warn_of(learned.planned, has_baseline=learner.baseline is not None)
    if json:
        print_json(report | {"problem": policy.info.problem, "seed": seed, **origin})
        return
    _note_unbounded(transitions)
    source = policy.info.problem or ", ".join(sample_options.data or [])
    print_learned(source, report)


def _note_unbounded(transitions: Transitions) -> None:
    if transitions.unbounded:
        dims = ", ".join(map(str, transitions.unbounded))
        note(f"states without bounds (dimensions {dims}): the policy covers the range of the samples")


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
                method=options.chosen_method,
                problem=problem,
                discount=options.discount,
                preset=options.preset,
                seed=options.seed,
                n_jobs=options.jobs,
                callback=tell,
                progress=shown.block,
                checkpoint_dir=outputs.checkpoint_dir,
                baseline=None if options.baseline is None else read_baseline(options.baseline),
                stage=shown.stage,
            ),
            shown,
        )


def _fit(learner: Learner, transitions: Transitions, shown: ProgressDisplay) -> Learned:
    if learner.baseline is not None and not isinstance(learner.baseline, str):
        try:
            check_fit(learner.baseline, transitions.observation_space, transitions.action_space)
        except ValueError as error:
            raise ValueError(f"--baseline: {str(error).removeprefix('policy: ')}") from None
    if learner.method in WITHOUT_Q:
        shown.stage(f"learning by {learner.method}")
    else:
        shown.iterations(learner.learners[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanningWarning)  # it is printed as one line with the result
        return learner.fit(transitions)
