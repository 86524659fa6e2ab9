"""Rollouts of policies in the members of a learned model's ensemble, with common random numbers.

A policy of forests is rolled out by the core. Any other policy, and a model whose reward or end is known as a Python
function, takes the same steps from here, all rows side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats, threads
from policyforest._support.spaces import bounds
from policyforest.data.known_functions import known_ends, known_rewards
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.edge import Edge

Streams = NDArray[np.uint32]
# A rollout has ended when the probability that it continues is below this; the core has the same number.
ALIVE = 0.02


@dataclass(frozen=True)
class ModelRollouts:
    """The values of policies in the members of an ensemble."""

    model: DynamicsModel
    discount: float
    n_members: int
    n_jobs: int | None = 1
    noisy: bool = True
    cache: dict[int, _core.LearnedModel] = field(default_factory=dict, repr=False)

    def member(self, number: int) -> _core.LearnedModel:
        """A compiled member, made when it is first needed."""
        if number not in self.cache:
            made = self.model.member(number)
            self.model.set_edge(made, self.discount)
            self.cache[number] = made
        return self.cache[number]

    def values(
        self,
        policy: Any,
        states: Floats,
        *,
        n_steps: int,
        seed: int,
        member: int,
        first_actions: Floats | None = None,
        streams: Streams | None = None,
    ) -> Floats:
        """The discounted sum of rewards from each state: `first_actions` first if given, then the policy's."""
        return self._roll(policy, states, n_steps, seed, member, first_actions, streams, 0.0, False)[0]

    def visited(
        self, policy: Any, states: Floats, *, n_steps: int, seed: int, member: int, action_noise: float
    ) -> Floats:
        """The states that rollouts pass, with noise on the actions: a row each, the starts not among them."""
        _, states, alive = self._roll(policy, states, n_steps, seed, member, None, None, action_noise, True)
        passed: Floats = states[np.arange(n_steps)[None, :] < alive[:, None]]
        return passed

    @cached_property
    def _edge(self) -> Edge:
        return self.model.edge(self.discount)

    @cached_property
    def _known(self) -> bool:
        return self.model.known_reward is not None or self.model.known_terminal is not None

    def _roll(
        self, policy: Any, states: Floats, n_steps: int, seed: int, member: int, first_actions: Floats | None,
        streams: Streams | None, action_noise: float, trace: bool,
    ) -> tuple[Floats, Floats, Streams]:  # fmt: skip
        rows, seed = np.ascontiguousarray(states), seed % 2**64
        numbers = np.arange(len(rows), dtype=np.uint32) if streams is None else streams
        controller = getattr(policy, "native", None)
        if isinstance(controller, _core.Controller) and not self._known:
            return self.member(member).rollouts(
                controller, rows, None if first_actions is None else np.ascontiguousarray(first_actions), numbers,
                n_steps, self.discount, seed, self.noisy, action_noise, trace, threads(self.n_jobs),
            )  # fmt: skip
        return self._roll_here(policy, rows, n_steps, seed, member, first_actions, numbers, action_noise)

    def _roll_here(
        self, policy: Any, states: Floats, n_steps: int, seed: int, member: int, first_actions: Floats | None,
        streams: Streams, action_noise: float,
    ) -> tuple[Floats, Floats, Streams]:  # fmt: skip
        """The same steps in Python, for policies and functions that the core cannot run."""
        native, box = self.member(member), bounds(self.model.transitions.action_space)
        draws = _core.residual_draws(seed, streams, n_steps, len(self.model.residuals))
        noise = self._action_noise(seed, streams, n_steps, action_noise)
        values, weights, weight = np.zeros(len(states)), np.ones(len(states)), 1.0
        visited, alive = np.zeros((len(states), n_steps, states.shape[1])), np.zeros(len(states), dtype=np.uint32)
        rows, here = np.arange(len(states)), states
        for t in range(n_steps):
            if t == 0 and first_actions is not None:
                actions = np.ascontiguousarray(first_actions)
            else:
                drawn = t if first_actions is None else t - 1
                actions = checked_actions(policy, here, len(box))
                actions = actions if noise is None else actions + noise[rows, drawn]
                actions = np.ascontiguousarray(np.clip(actions, box[:, 0], box[:, 1]))
            residuals = np.ascontiguousarray(draws[rows, t]) if self.noisy else None
            here, rewards, chance, paid = self.step(native, here, actions, residuals)
            earned = (1.0 - chance) * rewards + chance * paid
            values[rows] += weight * weights[rows] * earned
            weight *= self.discount  # a power would differ from the core in its last bits
            weights[rows] *= 1.0 - chance
            going = weights[rows] > ALIVE
            rows, here = rows[going], np.ascontiguousarray(here[going])
            visited[rows, t], alive[rows] = here, t + 1
            if len(rows) == 0:
                break
        return values, visited, alive

    def _action_noise(self, seed: int, streams: Streams, n_steps: int, size: float) -> Floats | None:
        """The noise that the core would add to the policy's actions (rows, steps, dimensions)."""
        if size == 0.0:
            return None
        low, high = bounds(self.model.transitions.action_space).T
        draws = _core.action_draws(seed, streams, n_steps * len(low))
        noise: Floats = size * (high - low) * draws.reshape(len(streams), n_steps, len(low))
        return noise

    def step(
        self, native: _core.LearnedModel, states: Floats, actions: Floats, residuals: Streams | None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        known_reward, known_terminal = self.model.known_reward, self.model.known_terminal
        if known_reward is None and known_terminal is None:
            return native.step(states, actions, residuals, True)
        ahead, rewards, chance, paid = native.step(states, actions, residuals, False)
        actions = self.model.applied(states, actions)
        kept, left = self._edge.kept(ahead), self._edge.left(ahead)
        ahead = np.where(np.isfinite(ahead), ahead, kept)
        if known_terminal is not None:
            chance = known_ends(known_terminal, states, actions, ahead).astype(np.float64)
        if known_reward is not None:
            rewards = known_rewards(known_reward, states, actions, ahead)
        if known_reward is not None or self.model.end.kind == "never":
            paid = rewards
        # The rule of the core for steps that leave the data; a known reward may be even lower.
        gone = left & (chance < 0.5) & self._edge.ends
        worst = paid if known_reward is not None else np.inf
        paid = np.where(gone, np.minimum(worst, self._edge.value), paid)
        rewards = np.where(left, np.minimum(rewards, self._edge.reward), rewards)
        return kept, rewards, np.where(gone, 1.0, chance), paid


def checked_actions(policy: Any, states: Floats, n_actions: int) -> Floats:
    """The actions of any policy at rows of states, one finite row per state."""
    actions = np.asarray(policy.act_batch(states))
    if actions.shape != (len(states), n_actions) or actions.dtype.kind not in "fiub":
        given = f"{actions.dtype} of shape {actions.shape}"
        raise ValueError(f"policy: returned {given}, must return real numbers of shape ({len(states)}, {n_actions})")
    rows: Floats = actions.astype(np.float64)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        i = int(np.argmin(finite))
        given = f"{rows[i].tolist()} at the state {states[i].tolist()}"
        raise ValueError(f"policy: returned {given}, must return finite actions")
    return rows
