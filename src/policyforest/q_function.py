"""A learned Q function: a forest over (s, a), and the policy that is greedy in it (the paper's "FQI")."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

from policyforest.arguments import Floats, finite_array, moderate, one_of, whole_number
from policyforest.forests import BestActions, Forest
from policyforest.growth_rules import period_rows
from policyforest.policy import PolicyInfo, sb3_predict
from policyforest.spaces import bounds, require_actions, require_observations
from policyforest.transitions import Transitions

if TYPE_CHECKING:
    from policyforest.dynamics_forest import Resampling
    from policyforest.fitted_q import FittedQIteration, QIteration

SearchMode = Literal["exact", "merged"]


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
        """What finds the maxima, without the samples."""
        n_states, settings = self.transitions.states.shape[1], self.settings
        return Maximiser(self.forest, n_states, self.transitions.periodic, settings.action_search, settings.max_leaves)

    def policy(self) -> GreedyPolicy:
        """pi(s) = arg max_a Q(s, a), searched anew at each call: the paper's "FQI"."""
        return GreedyPolicy(
            self.forest,
            self.transitions.observation_space,
            self.transitions.action_space,
            self.settings.action_search,
            self.settings.max_leaves,
            PolicyInfo.of("fqi", self.settings, len(self.transitions)),
            self.transitions.periodic,
        )

    def _states(self, states: ArrayLike) -> Floats:
        box = self.forest.box[: self.transitions.states.shape[1]]
        return states_in_box(states, box, self.transitions.periodic)


def states_in_box(states: ArrayLike, box: Floats, periodic: Mapping[int, tuple[float, float]]) -> Floats:
    """Rows of states, angles turned into their period, moved to the nearest point of the box.

    Outside of the box a forest's outermost leaf answers, which is the leaf of that nearest point."""
    rows = finite_array("states", states, 2)
    if rows.shape[1] != len(box):
        raise ValueError(f"states: has {rows.shape[1]} columns, must have {len(box)}")
    for d, (lo, hi) in periodic.items():
        x = rows[:, d]
        turned = x - (hi - lo) * np.floor((x - lo) / (hi - lo))
        rows = rows.copy()
        rows[:, d] = np.where((x >= lo) & (x <= hi), x, np.clip(turned, lo, hi))
    return np.clip(rows, box[:, 0], box[:, 1])


@dataclass(frozen=True, eq=False)
class Maximiser:
    """The best actions by a Q forest: what is sent to where they are searched."""

    forest: Forest
    n_states: int
    periodic: Mapping[int, tuple[float, float]]
    search: SearchMode
    max_leaves: int

    def __call__(self, states: ArrayLike, n_jobs: int | None = 1) -> BestActions:
        rows = states_in_box(states, self.forest.box[: self.n_states], self.periodic)
        return self.forest.best_action(rows, search=self.search, max_leaves=self.max_leaves, n_jobs=n_jobs)


@dataclass(frozen=True, eq=False)
class GreedyPolicy:
    """Acts by the arg max of a Q forest; states outside the forest's box get the answer of the nearest inside."""

    kind = "greedy"

    forest: Forest
    observation_space: Box
    action_space: Box
    action_search: SearchMode = "exact"
    max_leaves: int = 50
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("fqi"))
    periodic: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_states = require_observations("observation_space", self.observation_space).shape[0]
        n_actions = require_actions("action_space", self.action_space).shape[0]
        one_of("action_search", self.action_search, ("exact", "merged"))
        whole_number("max_leaves", self.max_leaves, at_least=1)
        if self.forest.n_inputs != n_states + n_actions:
            raise ValueError(f"forest: has {self.forest.n_inputs} inputs, must have {n_states} + {n_actions}")
        if not np.isfinite(self.forest.box[n_states:]).all():
            raise ValueError("forest: its box is unbounded in an action, must be finite there")
        moderate("forest", self.forest.arrays["split"])
        period_rows(self.periodic, n_states)

    def act(self, state: ArrayLike) -> Floats:
        """The action of the largest Q at one state."""
        action: Floats = self.act_batch(finite_array("state", state, 1)[np.newaxis])[0]
        return action

    def act_batch(self, states: ArrayLike) -> Floats:
        """The actions of the largest Q, for rows of states."""
        box = self.forest.box[: self.observation_space.shape[0]]
        rows = states_in_box(states, box, self.periodic)
        found = self.forest.best_action(rows, search=self.action_search, max_leaves=self.max_leaves)
        box = bounds(self.action_space)
        return np.clip(found.action, box[:, 0], box[:, 1])

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """Stable-Baselines3's signature."""
        return sb3_predict(self, observation), state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a ``.pforest`` file: arrays and JSON, never code."""
        from policyforest.policy_files import save_policy

        save_policy(self, path)
