"""Online learning: agents that explore, plan between episodes, act in real time, and can be resumed after they were
killed.

May import: `_support`, `data`, `forest`, `environments`, `policy`, `learning`.
"""

from policyforest.exploration.agent_names import AGENTS, make_agent
from policyforest.exploration.agents import (
    BaselineExploration,
    DisagreementExploration,
    MultiResolutionExploration,
)
from policyforest.exploration.episode_report import EpisodeReport
from policyforest.exploration.explorers import EXPLORERS, EpsilonSchedule, Explorer
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.model_exploration import ModelExploration
from policyforest.exploration.model_planner import ModelPlan, ModelPlanner
from policyforest.exploration.plan_files import StoredPlan
from policyforest.exploration.planner import Plan, Planner
from policyforest.exploration.problem import Problem
from policyforest.exploration.run_resuming import resume

__all__ = [
    "AGENTS",
    "EXPLORERS",
    "BaselineExploration",
    "DisagreementExploration",
    "EpisodeReport",
    "EpsilonSchedule",
    "Explorer",
    "ExploringAgent",
    "ModelExploration",
    "ModelPlan",
    "ModelPlanner",
    "MultiResolutionExploration",
    "Plan",
    "Planner",
    "Problem",
    "StoredPlan",
    "make_agent",
    "resume",
]
