"""An environment whose observations are the states that a policy with signals acts on: for agents that explore."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, SupportsFloat, Unpack

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.signal_buffer import SignalBuffer
from policyforest._support.spaces import bounds, require_actions, require_observations
from policyforest.data.delay import DelaySearch, find_delay
from policyforest.data.excursions import ObservationWarning
from policyforest.data.signal_options import SignalOptions, make_signals, with_outside_columns
from policyforest.data.stacking import stacked_box, stacked_space
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect
from policyforest.environments.known_task import environment_plant

# Numbers of episodes in which a delay is looked for, tried in this order, and the most steps of each episode.
PROBE_EPISODES, LONGEST_PROBE = (10, 20, 40), 100
# With fewer rows than this, no delay is certain.
ENOUGH_ROWS = 100
# After so many episodes in a row that are too short for the history, the history is too long for the system.
MOST_SHORT_EPISODES = 100


class SignalTask(gym.Wrapper[Any, Any, Any, Any]):
    """Combines measurements into states, and passes commands through actuators.

    While the history of an episode fills, `filling` acts. `n_filling` counts these steps, and no agent sees them. An
    episode that ends before its history is full is counted in `n_short_episodes`, and the next one begins. With
    ``delay="auto"`` the delay is found immediately, in episodes that are played for this purpose.

    Args:
        env: An environment with Box spaces.
        probe: Chooses the actions of the episodes that find the delay, such as a `NoisyBaseline`; None: random actions.
        filling: Chooses actions from measurements while the history fills: an object with ``act(observation)``, such as
            the result of `as_baseline`. None: the idle action, or, for an agent with a guard, the guard's controller.
        **options: `SignalOptions`.
    """

    def __init__(
        self, env: gym.Env[Any, Any], *, probe: Any = None, filling: Any = None, **options: Unpack[SignalOptions]
    ) -> None:
        super().__init__(env)
        self.filling = filling
        """Chooses the actions while the history fills; None: the idle action"""
        space = require_observations("env.observation_space", env.observation_space)
        actions = require_actions("env.action_space", env.action_space)
        self.evidence: DelaySearch | None = None
        """How the delay was found, if it was looked for"""
        delay = options.get("delay", 0)
        if delay == "auto":
            self.evidence = _probed(env, probe, options.get("history", 1))
            delay = self.evidence.delay
        told = environment_plant(env)
        inside = env.unwrapped
        same = inside.observation_space == space
        one = np.zeros((1, space.shape[0]))
        empty = Transitions(
            one, [np.clip(0.0, actions.low, actions.high)], [0.0], one, [False], action_space=actions,
            observation_space=space, outside="keep", plant=replace(told, reward=None, terminal=None),
            state_limits=getattr(inside, "state_limits", None) if same else None,
            periodic=getattr(inside, "periodic", None) if same else None,
        )  # fmt: skip
        signals = make_signals(empty, options, delay)
        limits, periodic = stacked_box(empty, signals)
        self.observation_space = stacked_space(limits)
        self.state_limits, self.periodic = limits, periodic
        names: dict[str, Any] = {"state_names": signals.state_names, "action_names": signals.actions}
        self.plant = replace(with_outside_columns(told, options), **names, signals=signals, delay=delay)
        """The plant, including the signals, which learners use exactly"""
        self.n_filling = 0
        """Steps that were taken while the history filled"""
        self.n_short_episodes = 0
        """Episodes that ended while their history filled"""
        self._buffer = SignalBuffer(signals, bounds(actions))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, and lets `filling` act until the state is complete. An episode that ends earlier is
        counted, and another one begins."""
        for _ in range(MOST_SHORT_EPISODES):
            state, info = self._filled(seed, options)
            if state is not None:
                return state, info
            self._count_short_episode()
            seed = None  # continues the environment's random numbers; the same seed would end the same way
        history = self._buffer.signals.history
        raise ValueError(
            f"history: is {history}, must be smaller: {MOST_SHORT_EPISODES} episodes in a row ended before the state "
            f"was complete, which takes {self._buffer.signals.warm_up} steps"
        )

    def _filled(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """The first complete state of a new episode; None if the episode ends earlier."""
        observation, info = super().reset(seed=seed, options=options)
        self._buffer.reset()
        state, ended = self._buffer.measure(observation), False
        while state is None and not ended:
            taken = self._buffer.act(self._filling_action(observation)).astype(self.action_space.dtype)
            observation, _, terminated, truncated, info = super().step(taken)
            self.n_filling += 1
            ended = bool(terminated or truncated)
            state = None if ended else self._buffer.measure(observation)
        return state, info

    def _filling_action(self, observation: Any) -> Floats:
        if self.filling is None:
            return self._buffer.idle
        return np.asarray(self.filling.act(np.asarray(observation, dtype=np.float64)), dtype=np.float64)

    def _count_short_episode(self) -> None:
        if self.n_short_episodes == 0:
            warnings.warn(
                f"an episode ended before its state was complete, which takes {self._buffer.signals.warm_up} steps; no "
                "sample is made of it. n_short_episodes counts such episodes, and n_filling the steps while histories "
                "fill",
                ObservationWarning,
                stacklevel=3,
            )
        self.n_short_episodes += 1

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Steps the environment with the action that results from the command."""
        taken = self._buffer.act(np.asarray(action, dtype=np.float64))
        observation, reward, terminated, truncated, info = super().step(taken.astype(self.action_space.dtype))
        return self._buffer.measure(observation), reward, terminated, truncated, info | {"applied": taken}


def _probed(env: gym.Env[Any, Any], probe: Any, history: int) -> DelaySearch:
    """Looks for the delay in more and more episodes, until it is certain."""
    for episodes in PROBE_EPISODES:
        data = collect(env, probe, episodes=episodes, max_steps=LONGEST_PROBE, outside="keep")
        last = episodes == PROBE_EPISODES[-1]
        if len(data) >= ENOUGH_ROWS or last:
            found = find_delay(data, history=history, before="idle")
            if found.certain or last:
                break
    return found
