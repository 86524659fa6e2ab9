"""The benchmark problems by their short names, and the paper's settings for them."""

from policyforest.environments.named_problems import DISCOUNT as DISCOUNT
from policyforest.environments.named_problems import PROBLEMS as PROBLEMS
from policyforest.environments.named_problems import NamedProblem, environment_id, named_problem
from policyforest.learning.presets import PAPER as PAPER
from policyforest.learning.presets import PaperSettings, paper

__all__ = ["NamedProblem", "PaperSettings", "environment_id", "named_problem", "paper"]
