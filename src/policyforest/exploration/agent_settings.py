"""Converts an agent to plain data and back: all settings of its run, stored in ``settings.json`` of a run directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from policyforest._support.settings import result_settings
from policyforest.exploration.explorers import EpsilonSchedule, Explorer
from policyforest.exploration.guards import guard_settings
from policyforest.exploration.planner import Planner
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import EARLIER_SETTINGS, FittedQIteration

if TYPE_CHECKING:
    from policyforest.exploration.exploring_agent import ExploringAgent


def agent_settings(agent: ExploringAgent) -> dict[str, Any]:
    """The settings as numbers and texts, for JSON."""
    return {
        "problem": agent.problem.settings(),
        "explorer": asdict(agent.explorer),
        "planner": agent.planner.settings(),
        "final": result_settings(agent.final) | {"q": result_settings(agent.final.q_learner)},
        "r_max": agent.r_max,
        "seed": agent.seed,
        "max_steps": agent.max_steps,
        **guard_settings(agent.guard),
    }


def agent_arguments(settings: Mapping[str, Any], n_jobs: int | None) -> dict[str, Any]:
    """The arguments of `ExploringAgent` besides the problem; settings that a file lacks have their defaults."""
    explorer, planner, final = (dict(settings[name]) for name in ("explorer", "planner", "final"))
    epsilon = explorer.pop("epsilon")
    policy = planner.pop("policy")
    q, final_q = (EARLIER_SETTINGS | part.pop("q") for part in (planner, final))
    return {
        "explorer": Explorer(**explorer, epsilon=None if epsilon is None else EpsilonSchedule(**epsilon)),
        "planner": Planner(
            q_learner=FittedQIteration(**q, n_jobs=n_jobs),
            policy_learner=FittedPolicyForest(**policy, n_jobs=n_jobs),
            **planner,
        ),
        "final": replace(
            FittedPolicyForest(**final, n_jobs=n_jobs), q_learner=FittedQIteration(**final_q, n_jobs=n_jobs)
        ),
        "r_max": settings["r_max"],
        "seed": settings["seed"],
        "max_steps": settings["max_steps"],
    }
