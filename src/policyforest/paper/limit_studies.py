"""How well the problems can be controlled at all: dynamic programming on a grid, with the true equations.

V is computed at the points of a grid by value iteration, in the core; the control law looks one step ahead, with the
equations themselves, and is then played from the problem's start. Its return is a lower bound on the optimum. The bound
is close to the optimum, since finer grids and more actions no longer change it. The cart-pole and the acrobot have four
states; their planners are `cart_pole_limit` and `acrobot_limit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

import policyforest._core as _core
from policyforest._support.arguments import Floats, one_of, threads
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.named_problems import environment_id
from policyforest.environments.problems.native import NativeProblem
from policyforest.paper import acrobot_limit, cart_pole_limit
from policyforest.paper.studies import Study
from policyforest.policy.policy_info import PolicyInfo

# The number of equally likely values that replace the uniform noise.
NOISES = 7


@dataclass(frozen=True)
class Grid:
    """How a problem is planned: rows (lo, hi, points, power) of the two states, the discount, and the actions.

    A power above one moves points towards the middle, where V is most curved and the controlled system stays.
    """

    rows: tuple[tuple[float, float, int, float], tuple[float, float, int, float]]
    discount: float
    n_actions: int = 41
    n_finer: int = 11
    """The control law refines its best action: it divides the distance to each neighbour into this many steps"""
    episodes: int = 10
    tolerance: float = 1e-3


GRIDS = {
    "inverted-pendulum": Grid(((-math.pi / 2, math.pi / 2, 121, 2.0), (-8.0, 8.0, 121, 2.0)), 0.98),
    "inverted-pendulum-6kg": Grid(((-math.pi / 2, math.pi / 2, 121, 2.0), (-2.0, 2.0, 121, 2.0)), 0.98),
    "double-integrator": Grid(((-1.0, 1.0, 201, 1.0), (-1.0, 1.0, 201, 1.0)), 0.999, 81, episodes=1),
    "car-on-the-hill": Grid(((-1.0, 1.0, 401, 1.0), (-3.0, 3.0, 401, 1.0)), 0.95, 2, 1, episodes=1, tolerance=1e-6),
    "swing-up": Grid(((-math.pi, math.pi, 301, 1.0), (-10.0, 10.0, 301, 1.0)), 0.99, episodes=1),
}
PLANNERS: dict[str, Callable[[], Evaluation]] = {
    cart_pole_limit.PROBLEM: cart_pole_limit.cart_pole_limit,
    acrobot_limit.PROBLEM: acrobot_limit.acrobot_limit,
}
"""For problems with more than two states"""
LIMITED = (*GRIDS, *PLANNERS)
"""The problems of the study, one cell each"""


@dataclass(frozen=True, eq=False)
class GridPolicy:
    """The control law of a grid: it looks one step ahead."""

    problem: NativeProblem
    grid: Grid
    n_jobs: int | None = 1
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("dynamic programming"))

    @property
    def observation_space(self) -> Box:
        return self.problem.observation_space

    @property
    def action_space(self) -> Box:
        return self.problem.action_space

    @cached_property
    def planner(self) -> Any:
        """The planner, after value iteration has converged."""
        n_threads = threads(self.n_jobs)
        axes = [[*row, float(d in self.problem.periodic)] for d, row in enumerate(self.grid.rows)]
        noise = self.problem.noise
        middles = (2 * np.arange(NOISES) + 1) / NOISES - 1 if noise > 0 else np.zeros(1)
        system = self.problem.system
        assert isinstance(system, _core.System)  # not MuJoCo's
        planner = _core.GridPlanner(system, axes, self._actions, (noise * middles).tolist(), n_threads)
        while planner.sweep(self.grid.discount, n_threads) > self.grid.tolerance:
            pass
        return planner

    @cached_property
    def _actions(self) -> list[float]:
        low, high = float(self.action_space.low[0]), float(self.action_space.high[0])
        return [float(a) for a in np.linspace(low, high, self.grid.n_actions)]

    def act(self, state: Floats, /) -> Floats:
        best = self.planner.act(state, self._actions, self.grid.discount)
        step = self._actions[1] - self._actions[0]
        near = np.clip(
            best + step * np.arange(1 - self.grid.n_finer, self.grid.n_finer) / self.grid.n_finer, *self._ends
        )
        return np.array([self.planner.act(state, near.tolist(), self.grid.discount)])

    @property
    def _ends(self) -> tuple[float, float]:
        return self._actions[0], self._actions[-1]

    def act_batch(self, states: Floats) -> Floats:
        return np.array([self.act(state) for state in states])


def limit(problem: str, *, seed: int = 1, n_jobs: int | None = -1, grid: Grid | None = None) -> Evaluation:
    """Evaluates dynamic programming on one of the problems in `GRIDS`: the returns of episodes from its start."""
    one_of("problem", problem, tuple(GRIDS))
    env = gym.make(environment_id(problem))
    assert isinstance(env.unwrapped, NativeProblem)
    chosen = GRIDS[problem] if grid is None else grid
    return evaluate(GridPolicy(env.unwrapped, chosen, n_jobs), env, episodes=chosen.episodes, seed=seed)


def _limit_of(number: int) -> dict[str, Any]:
    """A cell: the limit of one problem."""
    problem = LIMITED[number]
    played = PLANNERS[problem]() if problem in PLANNERS else limit(problem, n_jobs=1)
    return {
        "problem": problem,
        "return": played.mean,
        "worst_episode": played.worst,
        "steps": float(played.lengths.mean()),
    }


STUDIES = {
    "limits": Study(
        "limits",
        "What planning with the true equations reaches on each problem",
        _limit_of,
        {"quick": len(LIMITED), "paper": len(LIMITED)},
        seconds=25.0,
        kind="limits",
    )
}
