"""The reward of a learned model, and the report of the samples that were drawn from a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.choice import Choice
from policyforest.learning.dynamics.regression import ModelInputs


@dataclass(frozen=True)
class Resampling:
    """The samples that were drawn from a model, and how good the model was on held-out samples."""

    n_drawn: int
    state_scores: tuple[float, ...]
    """R² of the change of each state dimension, by cross-validation over episodes"""
    reward_score: float
    terminal_error: float
    """Mean |chance - outcome| of terminal steps, by cross-validation"""


@dataclass(frozen=True)
class RewardModel:
    """The reward as a function of some dimensions of (s, a, s')."""

    choice: Choice
    inputs: ModelInputs
    targets: Floats
    sources: tuple[int, ...]
    """The dimensions of (s, a, s') that the reward depends on"""
    rows: NDArray[np.intp]
    """The samples that it is learned from: those that are not terminal"""
