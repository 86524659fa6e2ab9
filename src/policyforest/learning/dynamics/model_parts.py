"""The reward of a learned model, and the report of the samples that were drawn from a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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


class Shape(NamedTuple):
    """A function of dimensions of (s, a, s'): the angle of a sine and a cosine or, if both are the same dimension, its
    number; with `size`, the absolute value."""

    sine: int
    cosine: int
    size: bool

    def of(self, step: Floats) -> Floats:
        """The values at rows of (s, a, s')."""
        x = step[:, self.sine] if self.sine == self.cosine else np.arctan2(step[:, self.sine], step[:, self.cosine])
        return np.abs(x) if self.size else x


@dataclass(frozen=True)
class RewardModel:
    """The reward as a function of some dimensions of (s, a, s')."""

    choice: Choice
    inputs: ModelInputs
    targets: Floats
    sources: tuple[int, ...]
    """The dimensions of (s, a, s') that are inputs as they are"""
    rows: NDArray[np.intp]
    """The samples that it is learned from: those that are not terminal"""
    shapes: tuple[Shape, ...] = ()
    """Further inputs: functions of dimensions of (s, a, s')"""

    @property
    def read(self) -> set[int]:
        """The dimensions of (s, a, s') that determine its inputs."""
        return {*self.sources, *(d for shape in self.shapes for d in (shape.sine, shape.cosine))}
