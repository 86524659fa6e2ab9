"""The benchmark problems by their short names, and the paper's settings for them."""

from policyforest.environments.named_problems import (
    DISCOUNT,
    PROBLEMS,
    NamedProblem,
    environment_id,
    named_problem,
)
from policyforest.learning.presets import PAPER, PaperSettings, paper

__all__ = [
    "DISCOUNT",
    "PAPER",
    "PROBLEMS",
    "NamedProblem",
    "PaperSettings",
    "environment_id",
    "named_problem",
    "paper",
]
