"""``policyforest explore``: an agent that learns online; a run that was killed can be resumed."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest._support.arguments import one_of
from policyforest.cli.baseline_options import BaselineOptions, compared
from policyforest.cli.episode_table import EpisodeTable, RunBudget, part_of_budget
from policyforest.cli.explore_report import exploration_report, guard_report, lost_steps, report_lines
from policyforest.cli.folders import folder_option, run_dir_named, run_dir_option
from policyforest.cli.known_options import KnownOptions
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.option_names import options_named
from policyforest.cli.output import (
    Discount,
    Jobs,
    Json,
    PolicyOutput,
    Seed,
    count_option,
    note,
    number_of,
    print_json,
    print_pairs,
    progress,
)
from policyforest.cli.output_files import require_output
from policyforest.cli.problem_argument import PROBLEM_HELP, open_environment
from policyforest.cli.signal_options import SignalCommandOptions
from policyforest.data.signal_options import SignalOptions
from policyforest.environments.episodes import Environment
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.exploration import (
    AGENTS,
    EpisodeReport,
    ExploringAgent,
    make_agent,
    resume,
)
from policyforest.exploration.model_exploration import PLAN_AGENT, ModelExploration
from policyforest.exploration.run_directory import holds_run
from policyforest.exploration.run_resuming import stored_delay
from policyforest.learning.methods import with_problem
from policyforest.policy.baseline import NoisyBaseline
from policyforest.policy.policy_files import SUFFIX

EVALUATION_EPISODES = 10
DEFAULT_EPISODES = 100


@dataclass(frozen=True)
class RunOptions:
    """How to explore."""

    episodes: Annotated[
        int | None,
        count_option("Total episodes of the run, including those of a resumed run.  [default: 100 without --steps]"),
    ] = None
    steps: Annotated[int | None, count_option("Total steps of the run; the limit that is reached first ends it.")] = (
        None
    )
    agent: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(AGENTS)}; 'plan' plans with a learned model and needs the fewest samples, 'disagreement' "
            "plans with Q forests."
        ),
    ] = AGENTS[0]
    run_dir: Annotated[
        Path | None, run_dir_option("A folder for the finished episodes; an existing run is resumed.")
    ] = None
    r_max: Annotated[
        float | None, typer.Option(help="The largest reward of a step.  [default: the largest seen so far]")
    ] = None
    max_steps: Annotated[
        int | None, count_option("The largest number of steps per episode.  [default: the problem's own]")
    ] = None
    discount: Discount = None

    @property
    def budget(self) -> RunBudget:
        """Episodes and steps."""
        episodes = DEFAULT_EPISODES if self.episodes is None and self.steps is None else self.episodes
        return episodes, self.steps

    def check(self) -> None:
        """Refuses an agent that does not exist, and options that it cannot use."""
        one_of("--agent", self.agent, AGENTS)
        if self.agent == PLAN_AGENT and self.r_max is not None:
            raise ValueError(
                f"--r-max: is {self.r_max}, must be left out with --agent {PLAN_AGENT} (it does not need it)"
            )


@dataclass(frozen=True)
class SelectionOptions:
    """How the policy is chosen at the end, and where it is saved."""

    policies: Annotated[int, count_option("Policies to learn at the end; the best is kept.")] = 10
    validation_episodes: Annotated[int, count_option("Episodes per policy that decide which policy is the best.")] = 10
    output: PolicyOutput = Path("policy.pforest")

    def told(self, plans: bool) -> str:
        """How the policy is chosen, for people; an agent that plans has as many candidates as it has plans."""
        among = "the last plan and earlier ones" if plans else str(self.policies)
        return f"the best of {among} by {number_of(self.validation_episodes, 'validation episode')} each"

    def check(self) -> None:
        require_output("--output", self.output, SUFFIX)


@with_option_groups
def explore(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help=PROBLEM_HELP)],
    *,
    run_options: RunOptions,
    known: KnownOptions,
    baseline: BaselineOptions,
    signals: SignalCommandOptions,
    selection: SelectionOptions,
    tensorboard: Annotated[Path | None, folder_option("A folder for TensorBoard's scalars.")] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Learn online from scratch, and keep the best policy.

    Explores PROBLEM, learns several policies from all samples at the end, and keeps the best of them."""
    selection.check()
    run_options.check()
    plans = run_options.agent == PLAN_AGENT  # this agent itself also uses the formulas
    with closing(known.applied(open_environment(problem))) as env:
        wanted = _with_stored_delay(signals.arguments(), run_options.run_dir)
        parts = baseline.prepared(env, wanted, seed)
        explorer = _open(parts, problem, run_options, known if plans else KnownOptions(), seed, jobs)
        if not json:
            _note_beginning(explorer, run_options.run_dir)
        started = time.perf_counter()
        _play(explorer, run_options.budget, tensorboard, quiet=json)
        lost = lost_steps(explorer)
        told = {"explored_by": run_options.agent, "explored_episodes": explorer.n_episodes, **known.told()}
        best = with_problem(_best_policy(explorer, selection, quiet=json), named_problem(problem).id, **told)
        best.save(selection.output)
        offline = _compared_with_guard(explorer, best, _discount(problem, run_options), jobs)
        judged, guarded = _judged(explorer, best, explorer.env or env, seed + 1)
    report = {"problem": best.info.problem, "agent": run_options.agent, "seed": seed} | offline | lost | guarded
    report |= exploration_report(explorer, selection.output, judged, time.perf_counter() - started)
    if json:
        print_json(report)
        return
    chosen = selection.told(plans)
    print_pairs(f"Explored {report['problem']} with {report['agent']}", report_lines(report, chosen, judged))


def _compared_with_guard(explorer: ExploringAgent, best: Any, discount: float, jobs: int) -> dict[str, Any]:
    """How the policy compares with the controller of the guard, judged by the samples alone; empty without a guard."""
    law = None if explorer.guard is None else explorer.guard.baseline
    return compared(best, law, explorer.transitions, discount, jobs)


def _judged(explorer: ExploringAgent, best: Any, env: Environment, seed: int) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluates the policy in episodes that neither the run nor the validation has used, under the guard of the run if
    there is one; also returns how often the guard changed its actions."""
    played = explorer.guarded(best)
    judged = evaluate(played, env, episodes=EVALUATION_EPISODES, seed=seed, max_steps=explorer.longest_judged)
    return judged, {"guard": guard_report(played)}


def _open(
    parts: tuple[Environment, SignalOptions, NoisyBaseline | None], problem: str, options: RunOptions,
    known: KnownOptions, seed: int, jobs: int,
) -> ExploringAgent:  # fmt: skip
    """A new run, or the one in `run_dir`, which must have been begun with the same settings."""
    env, signals, guard = parts
    settings: dict[str, Any] = {
        "r_max": options.r_max,
        "discount": _discount(problem, options),
        "seed": seed,
        "max_steps": options.max_steps,
        "n_jobs": jobs,
        "reward": known.reward,
        "terminal": known.terminal,
        "guard": guard,
    }
    run_dir = options.run_dir
    with options_named("run_dir", "r_max", "reward", "terminal"):
        if run_dir is None or not holds_run(run_dir):
            return make_agent(options.agent, env, run_dir=run_dir, **settings, **signals)
        again = make_agent(options.agent, env, **settings, **signals)
        return resume(run_dir, again.env, n_jobs=jobs, guard=guard, expected=again.settings())


def _note_beginning(explorer: ExploringAgent, run_dir: Path | None) -> None:
    """Prints how a delay was found, and whether a run is resumed."""
    if (found := getattr(explorer.env, "evidence", None)) is not None:
        note(str(found))
    if explorer.n_episodes:
        note(f"{run_dir} holds {number_of(explorer.n_episodes, 'episode')}; the run is resumed")


def _discount(problem: str, options: RunOptions) -> float:
    return named_problem(problem).discount if options.discount is None else options.discount


def _with_stored_delay(signals: SignalOptions, run_dir: Path | None) -> SignalOptions:
    """The signal options with ``delay="auto"`` replaced by the delay that the resumed run has found."""
    with run_dir_named():
        if run_dir is None or signals.get("delay") != "auto" or not holds_run(run_dir):
            return signals
        return signals | {"delay": stored_delay(run_dir)}


def _play(explorer: ExploringAgent, budget: RunBudget, tensorboard: Path | None, quiet: bool) -> None:
    """Plays the remaining episodes of the run."""
    episodes, steps = budget
    with closing(EpisodeTable(quiet, tensorboard, explorer.log)) as shown, progress(quiet) as bar:
        done = part_of_budget(budget, explorer.n_episodes, explorer.total_steps)
        advance = bar.counted("exploring", 1.0, done)

        def observe(report: EpisodeReport) -> None:
            shown(report)
            advance(part_of_budget(budget, report.episode + 1, report.total_steps), 1.0)

        with options_named("r_max"):  # whether it is too small is only known when rewards are seen
            explorer.learn(episodes, steps, callback=observe)
    if explorer.run is not None:
        explorer.run.close()


def _best_policy(explorer: ExploringAgent, selection: SelectionOptions, quiet: bool) -> Any:
    n = selection.policies
    with progress(quiet) as bar:
        if isinstance(explorer, ModelExploration):  # it makes one plan; the others are those of the run
            bar.stage(f"planning from {explorer.total_steps:,} samples")
            return explorer.best_policy(n, selection.validation_episodes)
        learned = bar.counted("learning 1 policy" if n == 1 else f"learning {n} policies", n)
        return explorer.best_policy(n, selection.validation_episodes, callback=learned)
