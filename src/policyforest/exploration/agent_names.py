"""Agents by name, as the command line and the studies ask for them."""

from __future__ import annotations

from typing import Any

from policyforest._support.arguments import one_of
from policyforest.exploration.agents import (
    BaselineExploration,
    DisagreementExploration,
    MultiResolutionExploration,
)
from policyforest.exploration.explorers import EXPLORERS
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.model_exploration import PLAN_AGENT, ModelExploration
from policyforest.exploration.problem import Explorable

AGENTS = (*EXPLORERS, PLAN_AGENT)
"""The names that `make_agent` knows: those of explorers, and "plan", which plans with the learned model."""


def make_agent(name: str, system: Explorable, **settings: Any) -> ExploringAgent:
    """An agent by its name, one of `AGENTS`; `settings` are the parameters of its class."""
    one_of("agent", name, AGENTS)
    if name == PLAN_AGENT:
        if settings.pop("r_max", None) is not None:
            raise ValueError("r_max: the agent 'plan' does not use it, must be None")
        return ModelExploration(system, **settings)
    for known in ("reward", "terminal"):
        if settings.pop(known, None) is not None:
            raise ValueError(f"{known}: only the agent 'plan' can use it, must be None for {name!r}")
    if name == "disagreement":
        return DisagreementExploration(system, **settings)
    if name == "mre":
        return MultiResolutionExploration(system, **settings)
    settings.pop("r_max", None)  # only optimism needs it
    return BaselineExploration(system, name, **settings)
