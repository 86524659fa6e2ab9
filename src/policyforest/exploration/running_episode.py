"""The running episode: the states, actions and rewards so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, finite_array, real_array
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import LARGEST, UnjudgedStepError
from policyforest.environments.episodes import Episode
from policyforest.exploration.problem import Problem


class RunningEpisode:
    """Collects states, actions and rewards of one episode, and checks them."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._problem = problem
        self.rng = rng
        """The random numbers of this episode"""
        self.ended = False
        """Whether no further step is allowed: the state is terminal, or `episode` was called"""
        self._terminal = False
        self._states: list[Floats] = []
        self._actions: list[Floats] = []
        self._rewards: list[float] = []

    def __len__(self) -> int:
        return len(self._actions)

    def see(self, state: ArrayLike) -> Floats:
        """Sets the state in which the next action is taken. It also replaces the next state of the last step, because a
        sample ends where the next one begins."""
        here = self._state("state", state)
        del self._states[len(self._actions) :]
        self._states.append(here)
        return here

    def took(
        self, action: ArrayLike, reward: float, next_state: ArrayLike, terminal: bool, r_max: float | None = None
    ) -> None:
        """Records the result of an action; a reward above `r_max` is an error."""
        if self.ended or len(self._states) != len(self._actions) + 1:
            raise RuntimeError("observe: act was not called before it in this episode")
        taken = finite_array("action", np.atleast_1d(np.asarray(action, dtype=np.float64)), 1)
        box = bounds(self._problem.action_space)
        if taken.shape != (len(box),) or not ((taken >= box[:, 0]) & (taken <= box[:, 1])).all():
            raise ValueError(f"action: is {taken.tolist()}, must lie within {box.tolist()}")
        paid = self._paid(reward, taken)
        if r_max is not None and paid > r_max:
            raise ValueError(f"r_max: is {r_max}, must be at least the reward {paid} that was just seen")
        self._states.append(self._state("next_state", next_state))
        self._actions.append(taken)
        self._rewards.append(paid)
        self.ended = self._terminal = bool(terminal)

    def episode(self) -> Episode:
        """Ends the episode and returns all of it."""
        self.ended = True
        states = np.array(self._states[: len(self) + 1])
        return Episode(states, np.array(self._actions), np.array(self._rewards), self._terminal)

    def _paid(self, reward: Any, taken: Floats) -> float:
        """The reward as a number."""
        place = f"at the state {self._states[-1].tolist()} (action {taken.tolist()})"
        try:
            paid = float(real_array("reward", reward).item())
        except (TypeError, ValueError):
            raise UnjudgedStepError(f"reward: is {reward!r} {place}, must be a real number") from None
        if not abs(paid) <= LARGEST:
            allowed = f"must be finite and at most {LARGEST:g} in size"
            raise UnjudgedStepError(f"reward: is {paid} {place}, {allowed}")
        return paid

    def _state(self, name: str, value: ArrayLike) -> Floats:
        state = finite_array(name, value, 1)
        if np.abs(state).max(initial=0.0) > LARGEST:
            raise UnjudgedStepError(f"{name}: is {state.tolist()}, must hold numbers of at most {LARGEST:g} in size")
        if state.shape != self._problem.observation_space.shape:
            raise ValueError(f"{name}: has shape {state.shape}, must have {self._problem.observation_space.shape}")
        return state.copy()
