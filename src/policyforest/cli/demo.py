"""``make demo``: from random episodes to a controller, a file and a report, in less than two minutes.

    python -m policyforest.cli.demo [--output demo] [--episodes 100]

Learns to balance a pole on a cart of 6 kg from 100 episodes of a random policy (about 500 samples) with the default
settings, plays 50 episodes, turns the policy into a single tree, and writes both policies, the tree as C, pictures of
the policy and of rollouts in the learned model, and report.html.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from policyforest.cli.output import print_table, progress
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.learning.improvement.simple_policies import constant_policy
from policyforest.learning.methods import Learned, Learner
from policyforest.policy.action_time import action_time
from policyforest.policy.policy import Policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM = "policyforest/InvertedPendulum6kg-v0"
DISCOUNT = named_problem(PROBLEM).discount
TREE_LEAVES = 1_000
PAPER, LIMIT = -172.0, -120.5
"""Mean return of the paper's FPF:PWL after 100 episodes, and of dynamic programming (`paper.limit_studies`)"""

CAPTION = (
    "Returns are undiscounted; an episode has at most 3,000 steps (5 minutes). Our rows are from this one run, and "
    "their intervals are over its episodes; another seed gives another policy. The paper's value is the mean of 50 "
    "policies. The single tree copies the planned policy with small errors. It can still score better: the planned "
    "policy is the best one in the learned model, not on the true system, so an error can help by chance."
)
ROLLOUTS = (
    "Rollouts in the learned model, each in a member of its ensemble that no policy was made with. Dashed lines are "
    "the edge of the data: a rollout ends with a bad value when it goes beyond this edge or the pole falls."
)
COLOURS = (
    "Positive forces are red, negative ones blue. There are no samples beyond the dashed line, so the forces there are "
    "extrapolated and shown in pale colours. The picture below shows the single tree."
)
COLUMNS = ("controller", "mean return", "95% interval", "worst", "best", "µs per action")
INTRODUCTION = (
    "A pole of 2 kg stands on a cart of 6 kg. Ten times a second the controller sees the pole's angle and speed and "
    "chooses a force of up to 50 N; noise of up to 10 N is added to it. An episode ends with -1000 when the pole falls "
    "or turns faster than 2 rad/s. The learner is told the ranges of states and forces and the discount, 0.95; it "
    "learns everything else from the samples."
)


@dataclass(frozen=True)
class MeasuredPolicy:
    """A policy of the demo, with its measured returns and its time per action."""

    name: str
    policy: Policy
    result: Evaluation
    microseconds: float

    def row(self) -> tuple[str, ...]:
        low, high = self.result.interval
        figures = (f"{self.result.mean:.1f}", f"[{low:.1f}, {high:.1f}]", f"{self.result.worst:.1f}")
        return (self.name, *figures, f"{self.result.best:.1f}", f"{self.microseconds:.2f}")


def demo(
    output: Annotated[Path, typer.Option(help="The folder for the policies and the report.")] = Path("demo"),
    episodes: Annotated[int, typer.Option(help="Random episodes to learn from.")] = 100,
    evaluation_episodes: Annotated[int, typer.Option(help="Episodes to evaluate each policy on.")] = 50,
    seed: Annotated[int, typer.Option(help="The seed of samples, forests and episodes.")] = 0,
) -> None:
    """Learn to balance a pole from random episodes, evaluate it, and write a report."""
    started = time.perf_counter()
    output.mkdir(parents=True, exist_ok=True)
    with progress() as shown:
        shown.stage("collecting samples")
        data = collect(PROBLEM, episodes=episodes, seed=seed)
        learned = Learner("plan", PROBLEM, seed=seed, n_jobs=-1, stage=shown.stage).fit(data)
        assert isinstance(learned.policy, Policy)
        shown.stage("playing episodes")
        forest = measured("planned policy", learned.policy, evaluation_episodes, seed)
        tree = measured("one tree", learned.policy.simplify(TREE_LEAVES), evaluation_episodes, seed)
        shown.stage("writing the report")
        forest.policy.save(output / "pendulum.pforest")
        tree.policy.save(output / "pendulum-tree.pforest")
        exported = tree.policy.export_c(output / "pendulum-c", "float32", name="pendulum")
        write_demo_report(output, data, learned, (forest, tree))
    print_table(
        f"Balance a pole, learned from {data.n_episodes} random episodes",
        COLUMNS,
        table_rows((forest, tree)),
        COLUMNS[1:],
    )
    print(CAPTION)
    print(f"Saved pendulum.pforest, pendulum-tree.pforest, policy.png, rollouts.png and report.html in {output}/,")
    print(f"and the tree as C99, {exported.n_bytes:,} bytes, in {exported.directory}/ (make test)", end=" ")
    print(f"({time.perf_counter() - started:.0f} s in all).")


def measured(name: str, policy: Policy, episodes: int, seed: int) -> MeasuredPolicy:
    result = evaluate(policy, PROBLEM, episodes=episodes, seed=seed + 1)
    visited = collect(PROBLEM, policy, steps=200, seed=seed + 1).states
    return MeasuredPolicy(name, policy, result, 1e6 * action_time(policy, visited))


def table_rows(policies: Sequence[MeasuredPolicy]) -> list[tuple[str, ...]]:
    """The table: our policies, and the values to compare them with."""
    others = [("the paper's forest", PAPER), ("limit (the true equations known)", LIMIT)]
    return [p.row() for p in policies] + [(name, f"{mean:.4g}", "", "", "", "") for name, mean in others]


def write_demo_report(folder: Path, data: Transitions, learned: Learned, policies: Sequence[MeasuredPolicy]) -> None:
    from policyforest.report import page
    from policyforest.report.plots import episode_figure, png_bytes, policy_figure, returns_figure
    from policyforest.report.policy_page import candidates

    forest, tree = policies
    rollouts_picture = png_bytes(_rollouts(data, learned))
    played = collect(PROBLEM, forest.policy, steps=150, seed=1)
    marks = {"paper": PAPER, "limit": LIMIT}
    policy_picture = png_bytes(policy_figure(forest.policy, samples=data.states))
    tree_picture = png_bytes(policy_figure(tree.policy, samples=data.states))
    blocks = [
        page.paragraph(INTRODUCTION),
        page.heading("How good it is"),
        page.table(COLUMNS, table_rows(policies), CAPTION),
        page.picture(png_bytes(returns_figure(forest.result.returns, marks)), "Histogram of returns"),
        page.heading("What was learned"),
        page.paragraph(_words(data, learned, tree)),
        page.picture(policy_picture, "The force over angle and speed"),
        page.paragraph(COLOURS),
        page.picture(tree_picture, "The force of the single tree over angle and speed"),
        page.paragraph(_reached(forest.policy)),
        page.heading("How it behaves"),
        page.paragraph("The first 15 seconds of an episode."),
        page.picture(png_bytes(episode_figure(played, PROBLEM)), "Angle, speed and force over time"),
        *candidates(forest.policy.info.settings),
        page.paragraph(ROLLOUTS),
        page.picture(rollouts_picture, "Rollouts in the learned model over angle and speed, and over time"),
        page.heading("Use it"),
        page.code('import policyforest as pf\n\npolicy = pf.load("pendulum.pforest")\nforce = policy.act(state)'),
    ]
    page.write_page(folder / "report.html", "A controller from random episodes", blocks)
    folder.joinpath("policy.png").write_bytes(policy_picture)
    folder.joinpath("rollouts.png").write_bytes(rollouts_picture)


def _rollouts(data: Transitions, learned: Learned) -> Figure:
    from policyforest.report.rollouts import rollouts_figure

    assert learned.planned is not None
    compared = {"no force": constant_policy(data, np.zeros(1)), "planned policy": learned.policy}
    return rollouts_figure(learned.planned.model, compared, discount=DISCOUNT, problem=PROBLEM)


def _reached(policy: Policy) -> str:
    """The exact range of the force over all states, and its sensitivity, as text."""
    found = policy.range()
    moves = " and ".join(f"{policy.sensitivity(d).at_most[0]:.1f} N" for d in range(len(policy.state_box)))
    return (
        f"Over all states it was learned on, the force lies exactly in [{found.low[0]:.2f}, {found.high[0]:.2f}] N. "
        f"Changes of only the angle, or only the speed, change it by at most {moves}."
    )


def _words(data: Transitions, learned: Learned, tree: MeasuredPolicy) -> str:
    change = tree.policy.simplification
    assert change is not None
    return (
        f"The policy was learned from {len(data):,} samples of {data.n_episodes} episodes with random forces. Learning "
        f"a model and planning with it took {learned.policy_seconds:.1f} s. The single tree has {tree.policy.n_leaves} "
        f"leaves; its force differs from the planned one by {change.mean_change[0]:.2g} N on average, and by at most "
        f"{change.largest_change[0]:.2g} N."
    )


if __name__ == "__main__":
    typer.run(demo)
