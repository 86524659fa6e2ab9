"""The systems of the problems: those of the core, and those of rigid-body engines with the same interface."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from policyforest import _core
from policyforest._support.arguments import Floats

# States, actions, rewards, and whether the last state is terminal.
Played = tuple[Floats, Floats, Floats, bool]


class NativeSystem(Protocol):
    """A system of the core, or one with its interface: a control step is a function of state, action and noise."""

    @property
    def n_state(self) -> int: ...
    @property
    def n_action(self) -> int: ...
    @property
    def n_noise(self) -> int: ...
    def step_many(
        self, states: Floats, actions: Floats, noise: Floats
    ) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]: ...
    def play(self, controller: _core.Controller, start: Floats, noise: Floats) -> Played: ...
    def replay(self, actions: Floats, start: Floats, noise: Floats) -> Played: ...


class EngineSystem:
    """A system in a rigid-body engine: a control step is a function of state and action, without noise."""

    n_state: int
    n_action = 1
    n_noise = 0

    def step(self, state: Floats, action: Floats) -> tuple[Floats, float, bool]:
        """The state after a control step, its reward, and whether it is terminal."""
        raise NotImplementedError

    def picture(self, state: Floats) -> npt.NDArray[np.uint8] | None:
        """A frame rendered by the engine; None if it renders none."""
        return None

    def close(self) -> None:
        """Releases the resources of the engine."""

    def step_many(self, states: Floats, actions: Floats, noise: Floats) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        stepped = [self.step(state, action) for state, action in zip(states, actions, strict=True)]
        next_states, rewards, terminals = zip(*stepped, strict=True)
        return np.array(next_states), np.array(rewards), np.array(terminals, dtype=np.bool_)

    def play(self, controller: _core.Controller, start: Floats, noise: Floats) -> Played:
        """An episode of at most as many steps as `noise` has rows."""
        return self._roll_out(lambda state, t: controller.act(state), start, len(noise))

    def replay(self, actions: Floats, start: Floats, noise: Floats) -> Played:
        """An episode with given actions."""
        return self._roll_out(lambda state, t: actions[t], start, len(noise))

    def _roll_out(self, control_law: Any, start: Floats, steps: int) -> Played:
        states, actions, rewards, terminal = [np.array(start)], [], [], False
        for t in range(steps):
            actions.append(np.array(control_law(states[-1], t)))
            state, reward, terminal = self.step(states[-1], actions[-1])
            states.append(state)
            rewards.append(reward)
            if terminal:
                break
        return np.array(states), np.array(actions).reshape(-1, self.n_action), np.array(rewards), terminal
