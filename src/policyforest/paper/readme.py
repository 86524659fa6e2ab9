"""The tables and numbers of results in README.md and in docs/, made from the finished cells:

    python -m policyforest.paper.readme docs/results README.md docs/exploring.md docs/ros.md docs/learning.md \\
        docs/problems.md

This command replaces the text between marks in the pages, and a test compares the result. `policyforest.paper.quotes`
replaces the numbers within sentences.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.files import replacing
from policyforest.paper import STUDIES, online_studies
from policyforest.paper.quotes import with_quotes
from policyforest.paper.statistics import mean_interval

ONLINE = tuple(name for name in STUDIES if name in online_studies.STUDIES and name != "planning-time")
# (label, samples, study, method, the paper's mean, the problem whose limit is shown)
ROWS = (
    (
        "Pendulum 6 kg, `pf.learn`",
        "100 random episodes",
        "planning-pendulum-6kg",
        "planned",
        "-",
        "inverted-pendulum-6kg",
    ),
    ("Pendulum 8 kg, `pf.learn`", "100 random episodes", "planning-pendulum-8kg", "planned", "-", "inverted-pendulum"),
    (
        *("Double Integrator, `pf.learn`", "50 random episodes", "planning-double-integrator-50"),
        *("planned", "-", "double-integrator"),
    ),
    ("Pendulum-v1, `pf.learn`", "5,000 random steps", "planning-pendulum-v1", "planned", "-", ""),
    ("InvertedPendulum-v5, `pf.learn`", "1,000 random steps", "planning-inverted-pendulum-v5", "planned", "-", ""),
    ("Reacher-v5, `pf.learn`", "3,000 random steps", "planning-reacher-v5", "planned", "-", ""),
    ("Swing-up, `pf.ModelExploration`", "4 episodes online", "explore-swing-up-4", "explored", "-", "swing-up"),
    (
        *("MountainCarContinuous-v0, `pf.ModelExploration`", "15 episodes online", "explore-mountain-car-15"),
        *("explored", "-", ""),
    ),
    ("Pendulum-v1, `pf.ModelExploration`", "1,000 steps online", "explore-pendulum-v1-1000", "explored", "-", ""),
    (
        "Pendulum 6 kg, Fitted Policy Forest",
        "100 random episodes",
        "pendulum-6kg",
        "fpf-pwl",
        "-172",
        "inverted-pendulum-6kg",
    ),
    ("the same, the paper's settings", "", "pendulum-6kg-paper", "fpf-pwl", "-172", "inverted-pendulum-6kg"),
    ("Pendulum 8 kg, Fitted Policy Forest", "100 random episodes", "pendulum-8kg", "fpf-pwl", "-", "inverted-pendulum"),
    (
        *("Double Integrator, Fitted Policy Forest", "300 random episodes", "double-integrator"),
        *("fpf-pwl", "-", "double-integrator"),
    ),
    ("the same, Binary Action Search", "", "double-integrator-paper", "bas", "-", "double-integrator"),
    ("Pendulum-v1, Fitted Policy Forest", "10,000 random steps", "pendulum-v1", "fpf-pwl", "-", ""),
    (
        *("Pendulum 6 kg, `DisagreementExploration`", "100 episodes online", "pendulum-online-ours"),
        *("mean of 10", "-171", "inverted-pendulum-6kg"),
    ),
    ("Swing-up, `DisagreementExploration`", "100 episodes online", "swing-up-ours", "mean of 10", "-", "swing-up"),
    (
        "MountainCarContinuous-v0, `DisagreementExploration`",
        "30 episodes online",
        "mountain-car-ours",
        "mean of 10",
        "-",
        "",
    ),
)


def table(out: Path) -> list[str]:
    """The lines between the marks."""
    limits = {result["problem"]: f"{result['return']:.4g}" for result in STUDIES["limits"].results(out)}
    lines = [
        "| problem | samples | mean return [95%] | worst | policies | paper | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for what, samples, study, method, paper, problem in ROWS:
        found = [result[method] for result in STUDIES[study].results(out) if method in result]
        if not found:
            continue
        means = np.array([row["return"] for row in found])
        # In online studies, a cell is a trial with several policies.
        policies = np.concatenate([row.get("returns", [row["return"]]) for row in found])
        number = str(len(means)) if len(policies) == len(means) else f"{len(policies)} of {len(means)} trials"
        interval = f"{means.mean():.4g}{_interval(means)}"
        cells = (what, samples, interval, f"{policies.min():.4g}", number, paper, limits.get(problem, "-"))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def exploration_table(out: Path) -> list[str]:
    """One line per study, about all policies of all trials and about the policies that validation chose.

    For all policies, the line has the mean, the worst and the worst episode. For the chosen policies, one of each
    trial, it has the mean and the worst."""
    lines = [
        "| study | trials | mean [95%] | worst policy | worst episode | chosen: mean | chosen: worst |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in ONLINE:
        results = STUDIES[name].results(out)
        if not results:
            continue
        every, chosen = [result["mean of 10"] for result in results], [result["chosen of 10"] for result in results]
        means, kept = (np.array([row["return"] for row in rows]) for rows in (every, chosen))
        interval = _interval(means)
        worst = min(min(row["returns"]) for row in every), min(row["worst_episode"] for row in every)
        cells = (
            *(f"`{name}`", f"{len(results)} of {STUDIES[name].seeds['paper']}", f"{means.mean():.4g}{interval}"),
            *(f"{number:.4g}" for number in (*worst, kept.mean(), kept.min())),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _interval(values: Floats) -> str:
    low, high = mean_interval(values)
    return f" [{low:.4g}, {high:.4g}]" if len(values) > 1 else ""


TABLES = {"results": table, "exploration": exploration_table}


def renewed(text: str, out: Path) -> str:
    """The text with each of its tables and quotes regenerated."""
    found = [name for name in TABLES if _mark(name) in text]
    if not found and "<!-- quote:" not in text:
        raise ValueError(f"text: lacks a mark such as {_mark('results')!r}")
    for name in found:
        before, _, rest = text.partition(_mark(name))
        _, end, after = rest.partition(_end(name))
        if not end:
            raise ValueError(f"text: lacks the mark {_end(name)!r}")
        text = "\n".join([before + _mark(name), "", *TABLES[name](out), "", _end(name) + after])
    return with_quotes(text, out)


def _mark(name: str) -> str:
    return f"<!-- {name}: made by policyforest.paper.readme -->"


def _end(name: str) -> str:
    return f"<!-- end of {name} -->"


def main(out: str, *pages: str) -> None:
    made = {Path(page): renewed(Path(page).read_text(encoding="utf-8"), Path(out)) for page in pages}
    for path, text in made.items():
        with replacing(path) as beside:
            beside.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
