"""The limit of the acrobot: the fewest steps to its goal that a search over cells of states finds.

Every step tries three torques from every state that is kept. At most one state is kept per cell of a grid, and a state
and its mirror image count as one. Of these states, those with the most energy are kept, because the goal requires
energy. The states themselves are exact, so the torques can be played in the environment from the hanging links at rest.
Their return is a lower bound on the optimum. A grid that is finer by 30%, with 150,000 states, needs as many steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from policyforest import _core
from policyforest._support.arguments import Floats
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.named_problems import environment_id
from policyforest.environments.problems.acrobot import MAX_TORQUE

PROBLEM = "acrobot"
TORQUES = MAX_TORQUE * np.array([-1.0, 0.0, 1.0])
CELL = np.array([0.05, 0.05, 0.1, 0.2])
KEPT = 100_000
MOST_STEPS = 500


@dataclass(frozen=True)
class Front:
    """The states that are kept after a step, and the origin of each.

    The origin is the index of the parent in the previous front, the torque, and whether the kept state is the mirror
    image of the state that the torque led to."""

    states: Floats
    parents: NDArray[np.int64]
    torques: Floats
    mirrored: NDArray[np.bool_]


def energy(states: Floats) -> Floats:
    """The sum of the kinetic and the potential energy of each state."""
    theta1, theta2, omega1, omega2 = states.T
    d1, d2 = 3.5 + np.cos(theta2), 1.25 + np.cos(theta2) / 2
    moving = 0.5 * (d1 * omega1**2 + 2 * d2 * omega1 * omega2 + 1.25 * omega2**2)
    found: Floats = moving - 9.8 * (1.5 * np.cos(theta1) + 0.5 * np.cos(theta1 + theta2))
    return found


def best_torques(cell: Floats = CELL, kept: int = KEPT, most_steps: int = MOST_STEPS) -> Floats:
    """The torques of the shortest path to the goal that was found."""
    none = np.zeros(1)
    fronts = [Front(np.zeros((1, 4)), none.astype(int), none, none.astype(bool))]
    for _ in range(most_steps):
        front, reached = _ahead(fronts[-1], cell, kept)
        fronts.append(front)
        if reached is not None:
            return _way(fronts, reached)
    raise RuntimeError(f"the search did not find the goal in {most_steps} steps with {kept} states kept")


def _ahead(front: Front, cell: Floats, kept: int) -> tuple[Front, int | None]:
    """The next front, and the index of a state at the goal in it; None if no state has reached the goal."""
    parents = np.repeat(np.arange(len(front.states)), len(TORQUES))
    torques = np.tile(TORQUES, len(front.states))
    system: Any = _core.Acrobot()
    states, _, ends = system.step_many(front.states[parents], torques[:, None], np.zeros((len(parents), 0)))
    mirrored = states[:, 0] > 0
    states = states * np.where(mirrored, -1.0, 1.0)[:, None]
    if ends.any():
        return Front(states, parents, torques, mirrored), int(ends.argmax())
    places = (np.floor(states / cell) + 500) @ 1000.0 ** np.arange(4)
    _, best = np.unique(places, return_index=True)
    best = best[np.argsort(-energy(states[best]), kind="stable")[:kept]]
    return Front(states[best], parents[best], torques[best], mirrored[best]), None


def _way(fronts: list[Front], place: int) -> Floats:
    """The torques that lead to a state of the last front, with the mirror images undone."""
    torques, flips = [], []
    for front in reversed(fronts[1:]):
        torques.append(front.torques[place])
        flips.append(-1.0 if front.mirrored[place] else 1.0)
        place = int(front.parents[place])
    signs = np.cumprod([1.0, *reversed(flips[1:])])
    way: Floats = signs * np.array(torques[::-1])
    return way


def acrobot_limit(cell: Floats = CELL, kept: int = KEPT) -> Evaluation:
    """The best torques, played in the environment from the hanging links at rest."""
    torques = iter(best_torques(cell, kept))
    env = gym.make(environment_id(PROBLEM), start_range=0.0)
    return evaluate(lambda state: np.array([next(torques)]), env, episodes=1)
