"""What ``policyforest explore`` reports: plain data for --json, and lines for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policyforest.cli.output import number_of
from policyforest.environments.evaluation import Evaluation
from policyforest.exploration import ExploringAgent, ModelExploration
from policyforest.exploration.guards import GuardedPolicy


def exploration_report(explorer: ExploringAgent, output: Path, judged: Evaluation, seconds: float) -> dict[str, Any]:
    """Plain data about a run, its policy and the returns of that policy."""
    return {
        "episodes": explorer.n_episodes,
        "samples": explorer.total_steps,
        "coverage": explorer.log[-1].coverage,
        "returns": [episode.episode_return for episode in explorer.log],
        "policy": str(output),
        "known": known_names(explorer),
        "evaluation": judged.as_dict(),
        "seconds": seconds,
        **about_plans(explorer),
    }


def lost_steps(explorer: ExploringAgent) -> dict[str, Any]:
    """Counts the steps that gave no sample because the history was filling, and the episodes that ended meanwhile. Only
    this process is counted, not the earlier part of a resumed run."""
    env = explorer.env
    filling, short = (getattr(env, name, 0) for name in ("n_filling", "n_short_episodes"))
    return {"lost": filling, "short_episodes": short}


def known_names(explorer: ExploringAgent) -> list[str]:
    """The functions that are known: to an agent that plans with a model, or in place of the environment's own."""
    plant = explorer.problem.plant
    known = {"reward": plant.reward, "terminal": plant.terminal}
    if isinstance(explorer, ModelExploration):
        known |= {name: explorer.settings()[name] for name in known if explorer.settings()[name] is not None}
    return [name for name, function in known.items() if function is not None]


def about_plans(explorer: ExploringAgent) -> dict[str, Any]:
    """What only agents that plan with a model report: the number of plans, and whether they found a policy that beats a
    constant action."""
    if not isinstance(explorer, ModelExploration):
        return {}
    return {"plans": len(explorer.plans), "goal_found": not explorer.found_nothing}


def goal_line(report: dict[str, Any]) -> dict[str, str]:
    """Tells people that an agent that plans has found nothing; empty otherwise."""
    if report.get("goal_found") is not False:
        return {}
    if not report["plans"]:  # without a plan nothing has judged which states and actions are known
        return {"goal": "none was found: there were too few samples for a plan"}
    known = f"{report['coverage']:.1%} of states and actions are known"
    return {"goal": f"none was found: nothing beats a constant action ({known})"}


def guard_report(played: object) -> dict[str, int] | None:
    """How often the guard changed the actions of the policy that was evaluated; None without a guard."""
    if not isinstance(played, GuardedPolicy):
        return None
    return {"steps": played.n_steps, "changed": played.n_changed}


def report_lines(report: dict[str, Any], chosen: str, judged: Evaluation) -> dict[str, str]:
    """The report for people; `chosen` states how the policy was chosen."""
    known = {"known": " and ".join(report["known"])} if report["known"] else {}
    return {
        **known,
        **goal_line(report),
        "samples": f"{report['samples']:,} in {number_of(report['episodes'], 'episode')}",
        **_lost_line(report),
        "policy": chosen,
        "return": str(judged),
        **_guard_line(report),
        **({} if report["compared"] is None else {"baseline": report["compared"]["text"]}),
        "time": f"{report['seconds']:.1f} s",
        "saved": report["policy"],
    }


def _lost_line(report: dict[str, Any]) -> dict[str, str]:
    if not report["lost"]:
        return {}
    short = report["short_episodes"]
    ended = f"; {number_of(short, 'episode')} ended meanwhile" if short else ""
    return {"history": f"{number_of(report['lost'], 'step')} lost while it filled{ended}"}


def _guard_line(report: dict[str, Any]) -> dict[str, str]:
    if report["guard"] is None:
        return {}
    changed, steps = report["guard"]["changed"], report["guard"]["steps"]
    return {"guard": f"it holds in all episodes, and changed {changed:,} of the {steps:,} actions of this return"}
