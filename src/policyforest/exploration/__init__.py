"""Online learning: agents that explore, plan between episodes, control in real time, and survive being killed.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`.
"""

from policyforest.exploration.agents import (
    BaselineExploration,
    DisagreementExploration,
    MultiResolutionExploration,
    make_agent,
)
from policyforest.exploration.episode_report import EpisodeReport
from policyforest.exploration.explorers import EXPLORERS, EpsilonSchedule, Explorer
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.planner import Plan, Planner
from policyforest.exploration.problem import Problem
from policyforest.exploration.run_resuming import resume

__all__ = [
    "EXPLORERS",
    "BaselineExploration",
    "DisagreementExploration",
    "EpisodeReport",
    "EpsilonSchedule",
    "Explorer",
    "ExploringAgent",
    "MultiResolutionExploration",
    "Plan",
    "Planner",
    "Problem",
    "make_agent",
    "resume",
]
