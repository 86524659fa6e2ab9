"""A learned Q function: a forest over (s, a), with the samples and settings it was learned from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array
from policyforest.data.transitions import Transitions
from policyforest.forest.best_actions import BestActions, SearchMode
from policyforest.forest.forest import Forest
from policyforest.forest.maximiser import Maximiser, states_in_box
from policyforest.policy.greedy_policy import GreedyPolicy
from policyforest.policy.policy_info import PolicyInfo

if TYPE_CHECKING:
    from policyforest.learning.dynamics.model_parts import Resampling
    from policyforest.learning.fitted_q import FittedQIteration
    from policyforest.learning.q_history import QIteration


@dataclass(frozen=True)
class QFunction:
    """Q(s, a) as a forest, with the samples and settings it was learned from."""

    forest: Forest
    transitions: Transitions = field(repr=False)
    settings: FittedQIteration
    history: tuple[QIteration, ...] = field(default=(), repr=False)
    resampling: Resampling | None = None

    def q(self, states: ArrayLike, actions: ArrayLike) -> Floats:
        """Q(s, a) for rows of states and of actions."""
        rows = self._states(states)
        acts = finite_array("actions", actions, 2)
        expected = (len(rows), self.transitions.actions.shape[1])
        if acts.shape != expected:
            raise ValueError(f"actions: has shape {acts.shape}, must have shape {expected}")
        return self.forest.predict(np.concatenate([rows, acts], axis=1), self.settings.n_jobs)

    def value(self, states: ArrayLike) -> Floats:
        """V(s) = max_a Q(s, a) for rows of states."""
        return self.maxima(states).value

    def maxima(self, states: ArrayLike, n_jobs: int | None = None) -> BestActions:
        """The best actions, their values and boxes, for rows of states; see `Forest.best_action`."""
        return self.maximiser()(states, self.settings.n_jobs if n_jobs is None else n_jobs)

    def maximiser(self) -> Maximiser:
        """An object that finds the maxima without holding the samples."""
        n_states, settings = self.transitions.states.shape[1], self.settings
        search = settings.search_mode(self.transitions)
        return Maximiser(self.forest, n_states, self.transitions.periodic, search, settings.max_leaves)

    def policy(self, action_search: SearchMode | None = None) -> GreedyPolicy:
        """pi(s) = arg max_a Q(s, a), searched again at each call: the paper's "FQI".

        Args:
            action_search: How the arg max is searched, as in `Forest.best_action`; None: the search with which Q was
                learned.
        """
        return GreedyPolicy(
            self.forest,
            self.transitions.observation_space,
            self.transitions.action_space,
            self.settings.search_mode(self.transitions) if action_search is None else action_search,
            self.settings.max_leaves,
            PolicyInfo.of("fqi", self.settings, len(self.transitions), **self.transitions.plant.given_names),
            self.transitions.periodic,
        )

    def _states(self, states: ArrayLike) -> Floats:
        box = self.forest.box[: self.transitions.states.shape[1]]
        return states_in_box(states, box, self.transitions.periodic)
