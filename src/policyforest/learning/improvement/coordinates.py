"""The directions in which the state of a system can move; trajectories are expanded in these directions.

Not every dimension of a state moves alone. The sine and the cosine of an angle turn together, a dimension that is a
function of others follows them, and a dimension that never varied in the data does not change. A trajectory needs
neither slopes nor curvature in directions that no state can take, and a model knows nothing about them. The state of
InvertedDoublePendulum-v5 has nine dimensions and six directions, so a state and an action have 21 pairs of directions
instead of 45.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import policyforest._core as _core
from policyforest._support.angles import within_half_a_turn
from policyforest._support.arguments import Floats
from policyforest.learning.dynamics.dynamics_model import DynamicsModel


@dataclass(frozen=True)
class Coordinates:
    """First the dimensions that move alone, then one angle for each pair of sine and cosine."""

    model: DynamicsModel

    @cached_property
    def alone(self) -> list[int]:
        """The state dimensions that move alone."""
        states, structure = self.model.transitions.states, self.model.structure
        others = {d for sine, cosine, _ in structure.circles for d in (sine, cosine)}
        others |= {relation.dimension for relation in structure.relations}
        varies = np.ptp(states, axis=0) > 0.0 if len(states) > 1 else np.ones(states.shape[1], dtype=bool)
        found = [d for d in range(states.shape[1]) if d not in others and varies[d]]
        return found if found or structure.circles else list(range(states.shape[1]))

    @cached_property
    def are_dimensions(self) -> bool:
        """Whether each dimension of the state is a direction."""
        return len(self.alone) == int(self.model.transitions.states.shape[1])

    @property
    def number(self) -> int:
        """How many directions there are."""
        return len(self.alone) + len(self.model.structure.circles)

    def sizes(self, spread: Floats) -> Floats:
        """The spread of the data in each direction, from its spread in each dimension."""
        if self.are_dimensions:
            return spread
        turns = [np.hypot(spread[s], spread[c]) / radius for s, c, radius in self.model.structure.circles]
        return np.concatenate([spread[self.alone], turns])

    def moved(self, states: Floats, moves: Floats) -> Floats:
        """States (…, dimensions) after moves (…, directions); the leading dimensions are broadcast."""
        if self.are_dimensions:
            return np.asarray(states + moves)
        shape = np.broadcast_shapes(states.shape[:-1], moves.shape[:-1])
        result = np.array(np.broadcast_to(states, (*shape, states.shape[-1])))
        n_alone = len(self.alone)
        result[..., self.alone] += moves[..., :n_alone]
        for k, (s, c, _) in enumerate(self.model.structure.circles):
            turn, sine, cosine = moves[..., n_alone + k], states[..., s], states[..., c]
            result[..., s] = sine * np.cos(turn) + cosine * np.sin(turn)
            result[..., c] = cosine * np.cos(turn) - sine * np.sin(turn)
        for dimension, sources, formula in self._computed:
            rows = np.ascontiguousarray(result[..., sources].reshape(-1, len(sources)))
            result[..., dimension] = formula.predict(rows)[:, 0].reshape(shape)
        return result

    def apart(self, a: Floats, b: Floats) -> Floats:
        """a - b (…, directions), the shorter way around for angles."""
        if self.are_dimensions:
            return within_half_a_turn(a - b, self.model.transitions.periodic)
        difference = within_half_a_turn(a - b, self.model.transitions.periodic)[..., self.alone]
        turns = [
            np.arctan2(a[..., s] * b[..., c] - a[..., c] * b[..., s], a[..., c] * b[..., c] + a[..., s] * b[..., s])
            for s, c, _ in self.model.structure.circles
        ]
        return np.concatenate([difference, *(turn[..., None] for turn in turns)], axis=-1)

    def gains(self, gains: Floats, states: Floats) -> Floats:
        """Gains (…, actions, directions) at states (…, dimensions) as gains on each dimension of the state."""
        if self.are_dimensions:
            return gains
        result, n_alone = np.zeros((*gains.shape[:-1], states.shape[-1])), len(self.alone)
        result[..., self.alone] = gains[..., :n_alone]
        for k, (s, c, radius) in enumerate(self.model.structure.circles):  # a small turn: (c ds - s dc) / radius²
            result[..., s] = gains[..., n_alone + k] * states[..., None, c] / radius**2
            result[..., c] = -gains[..., n_alone + k] * states[..., None, s] / radius**2
        return result

    @cached_property
    def _computed(self) -> list[tuple[int, list[int], _core.RegressorGroup]]:
        """The dimensions that are functions of others, each with its sources and its formula."""
        found = []
        for relation in self.model.structure.relations:
            formula = relation.inputs.group()
            formula.add(np.ascontiguousarray(relation.coefficients), None)
            found.append((relation.dimension, list(relation.sources), formula))
        return found
