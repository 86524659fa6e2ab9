"""The base class of the benchmark problems: a system of the core with Gymnasium's interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box

from policyforest._support.angles import wrapped
from policyforest._support.arguments import Floats, real_number
from policyforest.environments.problems.problem_pictures import Canvas, Screen
from policyforest.environments.problems.systems import EngineSystem, NativeSystem


class NativeProblem(gym.Env[Any, Any]):
    """A system whose equations run in the core.

    Everything is in physical units and in double precision. There are three boxes: `state_limits` contains the
    states that are not terminal, `observation_space` also contains the terminal states in which a control step can
    end, and `action_space` contains the actions. An action outside its box is an error; nothing is clipped.

    ``reset(options={"state": [...]})`` puts the system into any state within `state_limits`.
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 10}  # noqa: RUF012

    observation_space: Box
    action_space: Box

    def __init__(
        self,
        system: NativeSystem,
        *,
        start: npt.ArrayLike,
        state_limits: npt.ArrayLike,
        observation_limits: npt.ArrayLike,
        action_limits: npt.ArrayLike,
        start_spread: float = 0.0,
        noise: float = 0.0,
        periodic: Mapping[int, tuple[float, float]] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            allowed = self.metadata["render_modes"]
            raise ValueError(f"render_mode: is {render_mode!r}, must be None or one of {allowed}")
        self.system = system
        self.start = _constant(start)
        self.start_spread = real_number("start_spread", start_spread, at_least=0.0)
        self.state_limits = _constant(state_limits)
        self.observation_space = _box(observation_limits)
        self.action_space = _box(action_limits)
        self.noise = noise
        self.periodic = dict(periodic or {})
        self.render_mode = render_mode
        self._state: Floats | None = None
        self._ended = False
        self._screen: Screen | None = None

    def draw_start(self, generator: np.random.Generator) -> Floats:
        """The first state of an episode: `start`, with a normal disturbance if `start_spread` is not 0."""
        if self.start_spread == 0.0:
            return self.start.copy()
        drawn = self.start + self.start_spread * generator.standard_normal(len(self.start))
        first: Floats = wrapped(drawn[None], self.periodic)[0]
        return first

    def draw_noise(self, generator: np.random.Generator, steps: int) -> Floats:
        """The random numbers of `steps` control steps, one row per step. They are the same whether they are drawn at
        once or one by one."""
        return generator.uniform(-self.noise, self.noise, size=(steps, self.system.n_noise))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Begins an episode at the start, or at the state that `options` gives."""
        super().reset(seed=seed)
        unknown = set(options or {}) - {"state"}
        if unknown:
            raise ValueError(f"options: is {sorted(unknown)}, must have no key other than 'state'")
        self._state = self._checked_state(options["state"]) if options else self.draw_start(self.np_random)
        self._ended = False
        if self.render_mode == "human":
            self.render()
        return self._state.copy(), {}

    def step(self, action: npt.ArrayLike) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Runs a control step; returns the next state, the reward and whether it is terminal. No step truncates."""
        if self._state is None or self._ended:
            raise ResetNeeded("step: the episode has not begun or has ended; call reset first")
        actions = self._checked_action(action)[None]
        noise = self.draw_noise(self.np_random, 1)
        next_states, rewards, terminals = self.system.step_many(self._state[None], actions, noise)
        self._state = next_states[0]
        self._ended = bool(terminals[0])
        if self.render_mode == "human":
            self.render()
        return self._state.copy(), float(rewards[0]), self._ended, False, {}

    def _checked_state(self, value: npt.ArrayLike) -> Floats:
        state = np.array(value, dtype=np.float64)
        low, high = self.state_limits.T
        if state.shape != low.shape or not np.isfinite(state).all():
            raise ValueError(f"options['state']: is {value!r}, must be {len(low)} finite numbers")
        if not ((state >= low) & (state <= high)).all():
            limits = self.state_limits.tolist()
            raise ValueError(f"options['state']: is {state.tolist()}, must lie within {limits}")
        return state

    def _checked_action(self, value: npt.ArrayLike) -> Floats:
        action = np.array(value, dtype=np.float64)
        if action.shape != self.action_space.shape:
            raise ValueError(f"action: is {value!r}, must be an array of shape {self.action_space.shape}")
        low, high = self.action_space.low, self.action_space.high
        if not ((action >= low) & (action <= high)).all():
            box = np.stack([low, high], axis=1).tolist()
            raise ValueError(f"action: is {action.tolist()}, must lie within {box}")
        return action

    def draw(self, canvas: Canvas, state: Floats) -> None:
        """Draws the system in a state; every problem has its own picture."""
        raise NotImplementedError

    def picture(self, state: Floats) -> npt.NDArray[np.uint8] | None:
        """A frame that an engine renders by itself; None if the system is drawn here."""
        return self.system.picture(state) if isinstance(self.system, EngineSystem) else None

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The current state as an image, or, with `render_mode="human"`, in a window."""
        if self.render_mode is None:
            gym.logger.warn("render: render_mode is None, must be 'rgb_array' or 'human' for a picture")
            return None
        if self._state is None:
            raise ResetNeeded("render: the episode has not begun; call reset first")
        if self.render_mode == "rgb_array" and (frame := self.picture(self._state)) is not None:
            return frame
        if self._screen is None:
            self._screen = Screen(self.render_mode, type(self).__name__, self.metadata["render_fps"])
        self.draw(self._screen.canvas, self._state)
        return self._screen.show()

    def close(self) -> None:
        """Closes the window, if there is one, and the engine."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
        if isinstance(self.system, EngineSystem):
            self.system.close()


def _constant(values: npt.ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _box(limits: npt.ArrayLike) -> Box:
    low, high = np.array(limits, dtype=np.float64).T.copy()
    return Box(low, high, dtype=np.float64)
