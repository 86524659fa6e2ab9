"""README's table of results, made from the finished cells:

    python -m policyforest.paper.readme README.md docs/results

It replaces what stands between two marks in the file, and a test compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from policyforest.evaluation import interval_half_width
from policyforest.files import replacing
from policyforest.paper import STUDIES

BEGIN, END = "<!-- results: made by policyforest.paper.readme -->", "<!-- end of results -->"
# (what, samples, study, method, the paper's mean, the problem whose limit stands beside)
ROWS = (
    ("Pendulum 6 kg, our defaults", "100 random episodes", "pendulum-6kg", "fpf-pwl", "-172", "inverted-pendulum-6kg"),
    ("the same, the paper's settings", "", "pendulum-6kg-paper", "fpf-pwl", "-172", "inverted-pendulum-6kg"),
    ("Pendulum 8 kg, our defaults", "100 random episodes", "pendulum-8kg", "fpf-pwl", "-", "inverted-pendulum"),
    (
        *("Double Integrator, our defaults", "300 random episodes", "double-integrator"),
        *("fpf-pwl", "-", "double-integrator"),
    ),
    ("the same, Binary Action Search", "", "double-integrator-paper", "bas", "-", "double-integrator"),
    ("Pendulum-v1, our defaults", "10,000 random steps", "pendulum-v1", "fpf-pwl", "-", ""),
)


def table(out: Path) -> list[str]:
    """The lines between the marks."""
    limits = {result["problem"]: f"{result['return']:.4g}" for result in STUDIES["limits"].results(out)}
    lines = [
        "| problem | samples | mean return [95%] | worst | policies | paper | limit |",
        "|---|---|---|---|---|---|---|",
    ]
    for what, samples, study, method, paper, problem in ROWS:
        returns = np.array([result[method]["return"] for result in STUDIES[study].results(out) if method in result])
        if len(returns) == 0:
            continue
        mean, half = returns.mean(), interval_half_width(returns)
        interval = f"{mean:.4g} [{mean - half:.4g}, {mean + half:.4g}]"
        cells = (what, samples, interval, f"{returns.min():.4g}", str(len(returns)), paper, limits.get(problem, "-"))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def with_table(text: str, out: Path) -> str:
    """The text of a README with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README: lacks the marks {BEGIN!r} and {END!r}")
    return "\n".join([before + BEGIN, "", *table(out), "", END + after])


def main(readme: str, out: str) -> None:
    path = Path(readme)
    text = with_table(path.read_text(), Path(out))
    with replacing(path) as beside:
        beside.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
