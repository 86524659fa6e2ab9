"""The summary of a report: the paper's number, ours with its 95% interval, the limit, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass

from policyforest.paper.finished_cells import Cells
from policyforest.paper.statistics import mean_interval


@dataclass(frozen=True)
class Line:
    """A number of the paper, and the study and method that are compared with it."""

    what: str
    study: str
    method: str
    problem: str
    paper: float | None = None
    key: str = "return"
    why: str = ""
    """The reason why our number may be worse than the paper's"""


WORST_POLICY = "worst policy"
WHY_SWING_UP = (
    "the main cause is MRE's samples; with these samples, our own learner also stays far from the limit (see the claim "
    "below)."
)
WHY_PENDULUM = "a few policies are far worse than the median; the paper leaves out its settings of Q."
SIX, EIGHT = "inverted-pendulum-6kg", "inverted-pendulum"
LINES = (
    Line("Pendulum 6 kg, 100 random episodes, FPF:PWL", "pendulum-6kg-paper", "fpf-pwl", SIX, -172.0, why=WHY_PENDULUM),
    Line("Pendulum 6 kg, 100 random episodes, our defaults", "pendulum-6kg", "fpf-pwl", SIX, -172.0),
    Line("Pendulum 6 kg, 100 episodes online, MRE", "pendulum-online-mre", "mean", SIX, -171.0),
    Line("Pendulum 6 kg, 100 episodes online, our explorer", "pendulum-online-ours", "mean", SIX, -171.0),
    Line("Pendulum 8 kg, 100 random episodes, FPF:PWL", "pendulum-8kg-paper", "fpf-pwl", EIGHT),
    Line("Pendulum 8 kg, 100 random episodes, our defaults", "pendulum-8kg", "fpf-pwl", EIGHT),
    Line("Double Integrator, 300 episodes, FPF:PWL", "double-integrator-paper", "fpf-pwl", "double-integrator"),
    Line("Double Integrator, 300 episodes, BAS", "double-integrator-paper", "bas", "double-integrator"),
    Line("Double Integrator, 300 episodes, our defaults", "double-integrator", "fpf-pwl", "double-integrator"),
    Line("Car on the Hill, steps, FPF:PWL", "car-on-the-hill", "fpf-pwl", "car-on-the-hill", None, "steps"),
    Line("Car on the Hill, steps, BAS", "car-on-the-hill-bas", "bas", "car-on-the-hill", None, "steps"),
    Line("Swing-up, 100 episodes online, MRE", "swing-up-mre", "mean", "swing-up"),
    Line("Swing-up, 100 episodes online, our explorer", "swing-up-ours", "mean", "swing-up"),
    Line("Swing-up, worst policy, MRE", "swing-up-mre", WORST_POLICY, "swing-up", -51.0, why=WHY_SWING_UP),
    Line("Swing-up, worst policy, our explorer", "swing-up-ours", WORST_POLICY, "swing-up", -51.0),
)
COLUMNS = ("what", "paper", "ours [95%]", "policies", "limit", "verdict")


def rows(cells: Cells) -> list[tuple[str, ...]]:
    """A row for each line that has cells; the verdict is "in our interval", "better", "worse" or "none"."""
    return [_row(cells, line) for line in LINES if cells.results(line.study)]


def reasons(cells: Cells) -> list[str]:
    """The reason for each line in which our number is worse than the paper's."""
    found = [(line, _row(cells, line)[-1]) for line in LINES if line.why and cells.results(line.study)]
    return [f"{line.what}: {line.why}" for line, verdict in found if verdict == "worse"]


def _row(cells: Cells, line: Line) -> tuple[str, ...]:
    limit = cells.limit(line.problem, line.key)
    number, interval, policies = _worst(cells, line) if line.method == WORST_POLICY else _mean(cells, line)
    return (
        line.what,
        "-" if line.paper is None else f"{line.paper:g}",
        f"{number:.4g}" + (f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else ""),
        policies,
        "-" if limit is None else f"{limit:.4g}",
        "none" if policies == "1" else _beside(number, interval, line.paper),
    )


def _mean(cells: Cells, line: Line) -> tuple[float, tuple[float, float] | None, str]:
    values = cells.values(line.study, line.method, line.key)
    online = len(cells.policy_returns(line.study)) if line.method == "mean" else 0
    policies = f"{online} of {len(values)} trials" if online else str(len(values))
    return float(values.mean()), mean_interval(values) if len(values) > 1 else None, policies


def _worst(cells: Cells, line: Line) -> tuple[float, None, str]:
    """The worst of all policies of all trials, as the paper counts it."""
    returns = cells.policy_returns(line.study)
    return float(returns.min()), None, str(len(returns))


def _beside(number: float, interval: tuple[float, float] | None, paper: float | None) -> str:
    if paper is None:
        return "none"
    if interval is not None and interval[0] <= paper <= interval[1]:
        return "in our interval"
    return "better" if number > paper else "worse"
