"""What ``policyforest learn`` reports: plain data for --json, lines and the table of candidates for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from policyforest.cli.output import number_of, one_line, print_pairs, print_table, warn
from policyforest.data.transitions import Transitions
from policyforest.learning.contest import PlannedPolicy
from policyforest.learning.dynamics.dynamics_model import GOOD_SCORE
from policyforest.learning.methods import Learned
from policyforest.report.candidates import CAPTION, COLUMNS, comparison_of


def learning_report(learned: Learned, transitions: Transitions, output: Path, collect_seconds: float) -> dict[str, Any]:
    """Plain data about what was learned, from what, and how long it took."""
    policy, q = learned.policy, learned.q
    report: dict[str, Any] = {
        "policy": str(output),
        "method": policy.info.method,
        "samples": len(transitions),
        "episodes": transitions.n_episodes,
        "terminal": int(transitions.terminals.sum()),
        "lost": transitions.n_lost,
        "delay": transitions.plant.delay,
        "delay_search": None if transitions.delay_search is None else asdict(transitions.delay_search),
        "state": list(transitions.plant.state_names),
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
    if learned.planned is not None:
        planned = learned.planned
        compared = [asdict(candidate) for candidate in planned.candidates]
        report |= {"winner": planned.winner, "candidates": compared, "note": planned.note}
    if hasattr(policy, "worst_case_comparisons"):
        report |= {"leaves": policy.n_leaves, "worst_case_comparisons": policy.worst_case_comparisons}  # type: ignore[attr-defined]
    return report


def print_learned(source: str, report: dict[str, Any]) -> None:
    """The report for people: lines, and the table of candidates where there were several."""
    print_pairs(f"Learned a policy for {source}", _lines(report))
    print_candidates(report)


def print_candidates(settings: Mapping[str, Any]) -> None:
    """The table of candidates, if the settings of a policy contain any."""
    comparison = comparison_of(settings)
    if comparison is not None:
        rows = [(one_line(name), *figures) for name, *figures in comparison.rows()]
        print_table("Candidates in the learned model", COLUMNS, rows, COLUMNS[1:])
        print(CAPTION)


def warn_of(planned: PlannedPolicy, has_baseline: bool) -> None:
    """Warns on standard error if the result does not beat an alternative, or was not compared with it."""
    if planned.note:
        warn(planned.note)
    if has_baseline and not planned.candidates:
        warn("the policy of --baseline was not compared with the result")


def _lines(report: dict[str, Any]) -> dict[str, str]:
    seconds = report["collect_seconds"] + report["q_seconds"] + report["policy_seconds"]
    episodes = number_of(report["episodes"], "episode")
    lines = {
        "method": f"{report['method']}, discount {report['discount']:g}",
        "samples": f"{report['samples']:,} in {episodes}, {report['terminal']:,} terminal",
    }
    if report["lost"]:
        lines["history"] = f"{report['lost']:,} samples lost, because their history is not known"
    comparison = comparison_of(report)
    if comparison is not None:
        lines["chosen"] = comparison.summary()
    if report.get("compared"):
        lines["baseline"] = report["compared"]["text"]
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
        # A negative R² of a few samples can be any number: it shows only that the mean predicts better.
        quality = f"{worst:.2g}" if worst >= 0.0 else "below 0" if math.isfinite(worst) else "unknown"
        return (
            f"none: the learned model was not used, because its lowest R² on held-out steps is {quality} "
            f"and must be at least {GOOD_SCORE:g}"
        )
    explained = f"at least {100 * worst:.1f}%" if math.isfinite(worst) else "an unknown part"
    return f"{drawn['n_drawn']:,} samples from a model, which explains {explained} of the variance of held-out steps"
