"""An environment whose observations are the states that a policy with signals acts on: for agents that explore."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, SupportsFloat, Unpack

import gymnasium as gym
import numpy as np

from policyforest._support.signal_buffer import SignalBuffer
from policyforest._support.spaces import bounds, require_actions, require_observations
from policyforest.data.delay import DelaySearch, find_delay
from policyforest.data.signal_options import SignalOptions, make_signals, with_outside_columns
from policyforest.data.stacking import stacked_box, stacked_space
from policyforest.data.transitions import Transitions
from policyforest.environments.collection import collect
from policyforest.environments.known_task import environment_plant

# Episodes that a delay is looked for in, one number after the other, and steps of each at most.
PROBE_EPISODES, LONGEST_PROBE = (10, 20, 40), 100
# With fewer rows than this, no delay is certain.
ENOUGH_ROWS = 100


class SignalTask(gym.Wrapper[Any, Any, Any, Any]):
    """Stacks what is measured into states, and passes commands through actuators.

    While the history of an episode fills, the idle action is taken; these steps are in `n_filling`, and no agent sees
    them. A delay that is to be found (``delay="auto"``) is looked for at once, in episodes that are played for this.

    Args:
        env: An environment with Box spaces.
        probe: What acts in the episodes that the delay is found in, such as a `NoisyBaseline`; None: random actions.
        **options: `SignalOptions`.
    """

    def __init__(self, env: gym.Env[Any, Any], *, probe: Any = None, **options: Unpack[SignalOptions]) -> None:
        super().__init__(env)
        space = require_observations("env.observation_space", env.observation_space)
        actions = require_actions("env.action_space", env.action_space)
        self.evidence: DelaySearch | None = None
        """How the delay was found, where it was looked for"""
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
        """What learners use exactly, signals included"""
        self.n_filling = 0
        """Steps that were taken while the history filled"""
        self._buffer = SignalBuffer(signals, bounds(actions))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode, and takes idle actions until the state is complete."""
        observation, info = super().reset(seed=seed, options=options)
        self._buffer.reset()
        state = self._buffer.measure(observation)
        while state is None:
            idle = self._buffer.act(self._buffer.idle).astype(self.action_space.dtype)
            observation, _, terminated, truncated, info = super().step(idle)
            self.n_filling += 1
            if terminated or truncated:
                raise ValueError(
                    "history: an episode ended before its history was complete, so the history must be shorter"
                )
            state = self._buffer.measure(observation)
        return state, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Takes the action that a command becomes."""
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
