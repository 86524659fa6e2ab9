"""``policyforest explore``: an agent that learns online, and whose runs survive being killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from policyforest._support.arguments import whole_number
from policyforest.cli.output import Jobs, Json, Seed, note, print_json, print_pairs, progress
from policyforest.cli.problem_argument import PROBLEM_HELP, open_environment
from policyforest.environments.evaluation import evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.exploration import EXPLORERS, EpisodeReport, ExploringAgent, make_agent, resume
from policyforest.learning.methods import with_problem
from policyforest.policy.policy_files import SUFFIX

EVALUATION_EPISODES = 10


def explore(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help=PROBLEM_HELP)],
    episodes: Annotated[int, typer.Option(help="Episodes of the run in all, those of a resumed run included.")] = 100,
    agent: Annotated[str, typer.Option(help=f"{', '.join(EXPLORERS)}; 'disagreement' is ours.")] = EXPLORERS[0],
    run_dir: Annotated[
        Path | None, typer.Option(help="Where every finished episode is kept; the run goes on if there is one.")
    ] = None,
    r_max: Annotated[
        float | None, typer.Option(help="The largest reward of a step.  [default: the largest seen so far]")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="The longest episode.  [default: the problem's own]")] = None,
    discount: Annotated[
        float | None, typer.Option(help="What a reward one step later is worth.  [default: the problem's own, or 0.98]")
    ] = None,
    policies: Annotated[int, typer.Option(help="Policies that are learned in the end; the best is kept.")] = 10,
    validation_episodes: Annotated[int, typer.Option(help="Episodes to choose the best policy by.")] = 10,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the policy goes.")] = Path("policy.pforest"),
    tensorboard: Annotated[Path | None, typer.Option(help="A folder for TensorBoard's scalars.")] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: Json = False,
) -> None:
    """Explore PROBLEM from nothing, and keep the best of several policies learned from what was seen."""
    if output.suffix != SUFFIX or not output.parent.is_dir():
        raise ValueError(f"--output: is {output}, must end in {SUFFIX} and lie in a folder that exists")
    whole_number("--policies", policies, at_least=1)
    whole_number("--validation-episodes", validation_episodes, at_least=1)
    whole_number("--episodes", episodes, at_least=1)
    env = open_environment(problem)
    settings: dict[str, Any] = {
        "r_max": r_max,
        "discount": named_problem(problem).discount if discount is None else discount,
        "seed": seed,
        "max_steps": max_steps,
        "n_jobs": jobs,
    }
    explorer = _open(agent, env, run_dir, settings, jobs)
    if explorer.n_episodes and not json:
        note(f"{run_dir} holds {explorer.n_episodes} episodes, the run goes on")
    started = time.perf_counter()
    shown = EpisodeTable(quiet=json, tensorboard=tensorboard)
    try:
        explorer.learn(episodes=episodes, callback=shown)
    finally:
        shown.close()
    if explorer.run is not None:
        explorer.run.close()
    with progress(quiet=json) as bar:
        learned = bar.counted(f"learning {policies} policies from {explorer.total_steps:,} samples", policies)
        best = explorer.best_policy(policies, validation_episodes, callback=learned)
    best = with_problem(best, named_problem(problem).id, explored_by=agent, explored_episodes=explorer.n_episodes)
    best.save(output)
    judged = evaluate(best, env, episodes=EVALUATION_EPISODES, seed=seed + 1)
    report = {
        "problem": named_problem(problem).id,
        "agent": agent,
        "seed": seed,
        "episodes": explorer.n_episodes,
        "samples": explorer.total_steps,
        "coverage": explorer.log[-1].coverage,
        "returns": [episode.episode_return for episode in explorer.log],
        "policy": str(output),
        "evaluation": judged.as_dict(),
        "seconds": time.perf_counter() - started,
    }
    if json:
        print_json(report)
        return
    lines = {
        "samples": f"{report['samples']:,} in {report['episodes']} episodes",
        "policy": f"the best of {policies} by {validation_episodes} validation episodes each",
        "return": str(judged),
        "time": f"{report['seconds']:.1f} s",
        "saved": str(output),
    }
    print_pairs(f"Explored {report['problem']} with {agent}", lines)


def _open(agent: str, env: Any, run_dir: Path | None, settings: dict[str, Any], jobs: int) -> ExploringAgent:
    """A new run, or the one in `run_dir`, which must have been begun with the same settings."""
    if run_dir is None or not (run_dir / "settings.json").is_file():
        return make_agent(agent, env, run_dir=run_dir, **settings)
    return resume(run_dir, env, n_jobs=jobs, expected=make_agent(agent, env, **settings).settings())


class EpisodeTable:
    """A line an episode: live on a terminal or in a pipe, silent with --json; and TensorBoard's scalars."""

    HEAD = f"{'episode':>7} {'plan':>10} {'steps':>6} {'return':>10} {'best':>10} {'coverage':>8} {'planning':>9}"

    def __init__(self, quiet: bool, tensorboard: Path | None) -> None:
        self._quiet, self._begun, self._best = quiet, False, float("-inf")
        self._board: Any = None
        if tensorboard is not None:
            from policyforest.report.tensorboard import TensorBoard

            self._board = TensorBoard(tensorboard)

    def __call__(self, report: EpisodeReport) -> None:
        self._best = max(self._best, report.episode_return)
        if not self._quiet:
            if not self._begun:
                print(self.HEAD)
            self._begun = True
            print(
                f"{report.episode + 1:7} {report.kind:>10} {report.steps:6} {report.episode_return:10.4g} "
                f"{self._best:10.4g} {report.coverage:8.3f} {report.plan_seconds:7.2f} s"
            )
            sys.stdout.flush()
        if self._board is not None:
            self._board.episode(report)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()
