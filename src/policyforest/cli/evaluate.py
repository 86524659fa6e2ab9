"""``policyforest evaluate``: the returns of a saved policy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from policyforest.cli.known_options import KnownOptions
from policyforest.cli.option_groups import with_option_groups
from policyforest.cli.output import Json, Seed, count_option, number_of, print_json, print_pairs, progress
from policyforest.cli.policy_argument import PolicyFile, read_policy
from policyforest.cli.problem_argument import ProblemName, open_environment
from policyforest.environments.collection import collect
from policyforest.environments.episodes import id_from_file
from policyforest.environments.evaluation import Evaluation
from policyforest.environments.evaluation import evaluate as play
from policyforest.environments.named_problems import environment_id
from policyforest.policy.action_time import action_time


def _checked_discount(discount: float) -> float:
    if not 0.0 <= discount <= 1.0:
        raise ValueError(f"--discount: is {discount}, must be at least 0 and at most 1")
    return discount


@with_option_groups
def evaluate(
    policy: PolicyFile,
    problem: ProblemName = None,
    episodes: Annotated[int, count_option("Episodes to play.")] = 50,
    seed: Seed = 1,
    max_steps: Annotated[
        int | None, count_option("The largest number of steps per episode, if below the problem's own limit.")
    ] = None,
    discount: Annotated[
        float,
        typer.Option(help="The discount of the returns; 1 sums the rewards unchanged.", callback=_checked_discount),
    ] = 1.0,
    *,
    known: KnownOptions,
    json: Json = False,
) -> None:
    """Play episodes of a saved policy.

    Prints the mean return, its 95% interval, the worst and the best return, and the time per action. PROBLEM may be
    left out if the policy names the problem that it was learned on."""
    learned = read_policy(policy)
    name = problem or id_from_file(str(policy), learned.info.problem or "")
    if not name:
        raise ValueError("PROBLEM: is missing, must be given because the policy does not name one")
    environment = known.applied(open_environment(name))
    try:
        with progress(quiet=json) as shown:
            shown.stage(f"playing {number_of(episodes, 'episode')}")
            result = play(learned, environment, episodes=episodes, seed=seed, max_steps=max_steps, discount=discount)
            shown.stage("timing actions")
            visited = collect(environment, learned, steps=500, seed=seed, max_steps=max_steps).states
            microseconds = 1e6 * action_time(learned, visited)
    finally:
        environment.close()
    report = {"policy": str(policy), "problem": environment_id(name), "seed": seed} | result.as_dict()
    if json:
        print_json(report | {"action_microseconds": microseconds})
    else:
        print_pairs(f"{policy} on {environment_id(name)}", evaluation_lines(result, microseconds))


def evaluation_lines(result: Evaluation, microseconds: float) -> dict[str, Any]:
    low, high = result.interval
    ended, length = int(result.terminals.sum()), result.lengths.mean()
    steps = "1 step" if length == 1 else f"{length:.4g} steps"
    return {
        "mean return": f"{result.mean:.4g}",
        "95% interval": f"[{low:.4g}, {high:.4g}]" if low > -float("inf") else "needs more than one episode",
        "worst": f"{result.worst:.4g}",
        "best": f"{result.best:.4g}",
        "episodes": f"{len(result.returns)} of {steps}, {ended} reached a terminal state",
        "time per action": f"{microseconds:.2f} µs from Python",
    }
