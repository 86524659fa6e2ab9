"""The limit of the cart-pole swing-up: the best forces from the hanging pole, by a trajectory optimiser.

Four states are too many for a fine grid. Instead, many bang-bang guesses of the first 1.5 s are improved by
differential dynamic programming; the best are then lengthened and improved again, five steps at a time, so that a path
on which the pole would fall over later is corrected at once. Most guesses end at the same return. The forces are played
in the environment from the hanging pole at rest, so the return is reached: a lower bound on the optimum.

The bound is close to the optimum if it is close for the first 1.5 s. No step is worth more than 1, so the optimum of
any longer episode is at most the optimum of the first 30 steps, plus 1 for each further step. The path that was found
loses less than 1e-3 of this value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import gymnasium as gym
import numpy as np

from policyforest._support.arguments import Floats, whole_number
from policyforest.environments.evaluation import Evaluation, evaluate
from policyforest.environments.named_problems import environment_id
from policyforest.environments.problems.cart_pole import CartPoleSwingUp
from policyforest.environments.problems.cart_pole_task import ANGLE_SCALE, MAX_FORCE, POSITION_SCALE
from policyforest.paper.trajectory_optimiser import Task, optimised

PROBLEM = "cart-pole-swing-up"
FIRST_STEPS, LONGER = 30, 5
FIRST_ITERATIONS, ITERATIONS = 60, 40
KEPT = 8
"""The number of paths that are lengthened"""
WEIGHTS = np.array([POSITION_SCALE**-2, 0.0, ANGLE_SCALE**-2, 0.0])


def cart_pole_task(steps: int) -> Task:
    """The optimiser's task: `steps` control steps from the hanging pole at rest."""
    problem = CartPoleSwingUp(start_spread=0.0)
    return Task(problem.system, problem.start, steps, WEIGHTS, MAX_FORCE, tuple(problem.periodic))


def bang_bang(guesses: int, steps: int, generator: np.random.Generator) -> Floats:
    """Forces that push two to five times in alternating directions, for 0.1 to 0.4 s each, and are then zero."""
    forces = np.zeros((guesses, steps))
    for row in forces:
        ends = np.cumsum(generator.integers(2, 9, size=generator.integers(2, 6)))
        for i, (first, last) in enumerate(zip((0, *ends), ends, strict=False)):
            row[first:last] = (-1) ** i * generator.uniform(0.4, 1.0) * MAX_FORCE
    return forces


def best_forces(steps: int, *, guesses: int = 64, seed: int = 0) -> Floats:
    """The forces of the highest return that was found for an episode of this many steps."""
    steps, first = whole_number("steps", steps, at_least=1), min(steps, FIRST_STEPS)
    task = cart_pole_task(first)
    paths = optimised(task, bang_bang(guesses, first, np.random.default_rng(seed)), FIRST_ITERATIONS)
    while task.steps < steps:
        task = replace(task, steps=min(task.steps + LONGER, steps))
        best = paths.actions[np.argsort(-paths.returns, kind="stable")[:KEPT]]
        more = np.zeros((len(best), task.steps - best.shape[1]))
        paths = optimised(task, np.concatenate([best, more], axis=1), ITERATIONS)
    return cast(Floats, paths.actions[paths.returns.argmax()])


def cart_pole_limit(steps: int = 60, *, guesses: int = 64, seed: int = 0) -> Evaluation:
    """The best forces, played in the environment from the hanging pole at rest."""
    forces = iter(best_forces(steps, guesses=guesses, seed=seed))
    env = gym.make(environment_id(PROBLEM), start_spread=0.0, max_episode_steps=steps)
    return evaluate(lambda state: np.array([next(forces)]), env, episodes=1)
