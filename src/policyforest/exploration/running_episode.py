"""The running episode: the states, actions and rewards so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policyforest._support.arguments import Floats, real_array
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import LARGEST
from policyforest.data.step_checks import step_reward, step_state
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
        here = self._state("state", state, None)
        del self._states[len(self._actions) :]
        self._states.append(here)
        return here

    def took(
        self, action: ArrayLike, reward: float, next_state: ArrayLike, terminal: bool, r_max: float | None = None
    ) -> None:
        """Records the result of an action; a reward above `r_max` is an error."""
        if self.ended or len(self._states) != len(self._actions) + 1:
            raise RuntimeError("observe: act was not called before it in this episode")
        taken, ends = self._taken(action), _truth("terminal", terminal)
        here = self._states[-1]
        paid = step_reward(reward, here, taken)
        if r_max is not None and paid > r_max:
            raise ValueError(f"r_max: is {r_max}, must be at least the reward {paid} that was just seen")
        self._states.append(self._state("next_state", next_state, (here, taken)))
        self._actions.append(taken)
        self._rewards.append(paid)
        self.ended = self._terminal = ends

    def episode(self) -> Episode:
        """Ends the episode and returns all of it."""
        self.ended = True
        states = np.array(self._states[: len(self) + 1])
        return Episode(states, np.array(self._actions), np.array(self._rewards), self._terminal)

    def _taken(self, action: ArrayLike) -> Floats:
        box = bounds(self._problem.action_space)
        try:
            taken: Floats = np.atleast_1d(real_array("action", action, "fiubO").astype(np.float64))
        except (TypeError, ValueError):
            raise TypeError(f"action: is {action!r}, must hold real numbers") from None
        if taken.shape != (len(box),) or not ((taken >= box[:, 0]) & (taken <= box[:, 1])).all():
            given = action.tolist() if isinstance(action, np.ndarray) else repr(action)
            raise ValueError(f"action: is {given}, must lie within {box.tolist()}")
        return taken

    def _state(self, name: str, value: ArrayLike, last: tuple[Floats, Floats] | None) -> Floats:
        return step_state(name, value, self._problem.observation_space.shape, last, LARGEST)


def _truth(name: str, value: Any) -> bool:
    """True or False; 1 and 0 are also allowed."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name}: is {value!r}, must be True or False")
