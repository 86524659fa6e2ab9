"""PolicyForest learns controllers with continuous actions from few samples; a forest computes an action in 1 µs."""

import sys

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in ("policyforest", "-mpolicyforest"):
    # `python -m policyforest` imports this file before __main__.py: Ctrl-C is quiet from here on.
    from _policyforest_command import start_quietly

    start_quietly()

from policyforest import baselines as baselines  # registers their methods and kinds of policies
from policyforest import executors as executors
from policyforest import problems as problems
from policyforest._support.signals import Actuators, Signals
from policyforest._support.version import __version__
from policyforest.certification.certificate import Certificate, UnprovedStates
from policyforest.certification.certificate_files import load_certificate
from policyforest.certification.checker.check import CertificateCheck, check_certificate
from policyforest.certification.equations import Equations
from policyforest.certification.model_error import ErrorClause
from policyforest.certification.search import SearchRound, certify
from policyforest.data.delay import DelayEvidence, DelaySearch, find_delay
from policyforest.data.excursions import ObservationWarning
from policyforest.data.plant import Plant
from policyforest.data.readers import Columns, Log, LogWarning, as_transitions, read_log, read_transitions
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect, sample_uniform
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.known_task import KnownTask
from policyforest.environments.limited_actuators import DelayedActions, LimitedActuators
from policyforest.environments.signal_task import SignalTask
from policyforest.exploration import (
    DisagreementExploration,
    ModelExploration,
    MultiResolutionExploration,
    resume,
)
from policyforest.forest.best_actions import BestActions
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.forest.knownness import KnownnessForest, KnownnessLeaves
from policyforest.learning.comparison import CandidateValue
from policyforest.learning.contest import PlannedPolicy
from policyforest.learning.dynamics.dynamics_forest import DynamicsForest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.model_parts import Resampling
from policyforest.learning.dynamics.structure import ExogenousEvidence
from policyforest.learning.fitted_policy import FittedPolicyForest
from policyforest.learning.fitted_q import FittedQIteration
from policyforest.learning.improvement.gain_improvement import GainImprovement
from policyforest.learning.improvement.grid_planning import GridPlan, GridPlanning
from policyforest.learning.improvement.policy_search import Improvement, ImprovementRound
from policyforest.learning.improvement.rollout_improvement import RolloutImprovement
from policyforest.learning.improvement.trajectory_improvement import TrajectoryImprovement
from policyforest.learning.offline_comparison import OfflineComparison, compare_offline
from policyforest.learning.offline_evaluation import CoverageWarning, OfflineEvaluation, evaluate_offline
from policyforest.learning.planned_learning import PlannedLearning, PlanningWarning, learn
from policyforest.learning.q_function import QFunction
from policyforest.learning.q_history import QIteration
from policyforest.policy.baseline import BaselinePolicy, NoisyBaseline, as_baseline
from policyforest.policy.controller import PolicyController
from policyforest.policy.explanation import Explanation
from policyforest.policy.greedy_policy import GreedyPolicy
from policyforest.policy.inspection import ActionRange, Check, Sensitivity
from policyforest.policy.policy import Policy, Simplification
from policyforest.policy.policy_files import load
from policyforest.policy.policy_info import PolicyInfo

__all__ = [
    "ActionRange",
    "Actuators",
    "BaselinePolicy",
    "BestActions",
    "CandidateValue",
    "Certificate",
    "CertificateCheck",
    "Check",
    "Columns",
    "CoverageWarning",
    "DelayEvidence",
    "DelaySearch",
    "DelayedActions",
    "DisagreementExploration",
    "DynamicsForest",
    "DynamicsModel",
    "Equations",
    "ErrorClause",
    "Evaluation",
    "ExogenousEvidence",
    "Explanation",
    "FittedPolicyForest",
    "FittedQIteration",
    "Forest",
    "GainImprovement",
    "GreedyPolicy",
    "GridPlan",
    "GridPlanning",
    "Improvement",
    "ImprovementRound",
    "KnownTask",
    "KnownnessForest",
    "KnownnessLeaves",
    "LimitedActuators",
    "Log",
    "LogWarning",
    "ModelExploration",
    "MultiResolutionExploration",
    "NoisyBaseline",
    "ObservationWarning",
    "OfflineComparison",
    "OfflineEvaluation",
    "PlannedLearning",
    "PlannedPolicy",
    "PlanningWarning",
    "Plant",
    "Policy",
    "PolicyController",
    "PolicyInfo",
    "QFunction",
    "QIteration",
    "Resampling",
    "RolloutImprovement",
    "SearchRound",
    "Sensitivity",
    "SignalTask",
    "Signals",
    "Simplification",
    "TrajectoryImprovement",
    "Transitions",
    "UnprovedStates",
    "__version__",
    "as_baseline",
    "as_transitions",
    "certify",
    "check_certificate",
    "collect",
    "compare_offline",
    "evaluate",
    "evaluate_offline",
    "find_delay",
    "grow_forest",
    "learn",
    "load",
    "load_certificate",
    "read_log",
    "read_transitions",
    "resume",
    "sample_uniform",
]
