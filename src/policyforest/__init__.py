"""PolicyForest: continuous controllers learned from few samples by regression forests, run in a microsecond."""

from policyforest import executors as executors
from policyforest import problems as problems  # registers the environments
from policyforest.collection import collect, sample_uniform
from policyforest.dynamics_forest import DynamicsForest, DynamicsModel, Resampling
from policyforest.evaluation import Evaluation, evaluate
from policyforest.explanation import Explanation
from policyforest.exploration import (
    DisagreementExploration,
    MultiResolutionExploration,
    resume,
)
from policyforest.fitted_policy import FittedPolicyForest
from policyforest.fitted_q import FittedQIteration, QIteration
from policyforest.forests import BestActions, Forest, grow_forest
from policyforest.inspection import ActionRange, Check, Sensitivity
from policyforest.knownness import KnownnessForest, KnownnessLeaves
from policyforest.offline_evaluation import CoverageWarning, OfflineEvaluation, evaluate_offline
from policyforest.policy import Policy, PolicyInfo, Simplification
from policyforest.policy_files import load
from policyforest.q_function import GreedyPolicy, QFunction
from policyforest.readers import Log, LogWarning, as_transitions, read_log, read_transitions
from policyforest.transitions import Transitions

__version__ = "0.1.0"

__all__ = [
    "ActionRange",
    "BestActions",
    "Check",
    "CoverageWarning",
    "DisagreementExploration",
    "DynamicsForest",
    "DynamicsModel",
    "Evaluation",
    "Explanation",
    "FittedPolicyForest",
    "FittedQIteration",
    "Forest",
    "GreedyPolicy",
    "KnownnessForest",
    "KnownnessLeaves",
    "Log",
    "LogWarning",
    "MultiResolutionExploration",
    "OfflineEvaluation",
    "Policy",
    "PolicyInfo",
    "QFunction",
    "QIteration",
    "Resampling",
    "Sensitivity",
    "Simplification",
    "Transitions",
    "__version__",
    "as_transitions",
    "collect",
    "evaluate",
    "evaluate_offline",
    "grow_forest",
    "load",
    "read_log",
    "read_transitions",
    "resume",
    "sample_uniform",
]
