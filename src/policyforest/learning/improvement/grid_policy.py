"""From a plan on a grid of simulated states to a policy: for agents that plan while they learn.

The grid extends beyond the data, as the simulations do. It is coarse: the next plan is made with more samples, and the
last one by `GridPlanning`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.forest.growing import grow_forest
from policyforest.learning.improvement.grid_planning import COARSE, GridPlan, Step, solved
from policyforest.learning.improvement.simple_policies import make_policy
from policyforest.learning.improvement.simulation import Simulation
from policyforest.learning.improvement.trajectory_policy import TrajectoryPlan
from policyforest.policy.policy import Policy

# The part of the data's width by which the grid extends beyond the data.
BEYOND = 0.2
LEAF_SHARES, TREES = (0.01, 0.003), 16


def grid_policy(simulations: Sequence[Simulation], starts: Floats, n_steps: int, seed: int) -> TrajectoryPlan:
    """The policy of a plan in members of an ensemble, judged from rows of start states."""
    first = simulations[0]
    grid = COARSE.grid(first.model, BEYOND)
    assert grid is not None, "the caller checks GridPlanning.fits"
    plan = solved(grid, [_stepped(each) for each in simulations], COARSE, first.model, first.discount)
    tried = []
    for policy in _policies(first, plan, seed):
        played = first.play(policy, starts, 2 * n_steps, np.random.default_rng([seed, 52]))
        tried.append((float(played.worth.mean()), policy))
    worth, policy = max(tried, key=lambda row: row[0])
    where, shares = grid.corners(starts)
    promised = float((plan.values[where] * shares).sum(axis=1).mean())
    return TrajectoryPlan(policy, promised, worth, True, None)


def _stepped(simulation: Simulation) -> Step:
    def step(states: Floats, actions: Floats, residuals: NDArray[np.uint32]) -> tuple[Floats, Floats, Floats]:
        ahead, earned, chance = simulation.step(states, actions, residuals)
        return ahead, earned, 1.0 - chance

    return step


def _policies(simulation: Simulation, plan: GridPlan, seed: int) -> list[Policy]:
    """Policies of several leaf sizes, with and without weights."""
    data, box = simulation.model.transitions, simulation.model.transitions.state_box()
    inside = ((plan.states >= box[:, 0]) & (plan.states <= box[:, 1])).all(axis=1)
    states, targets, weights = (
        np.ascontiguousarray(part[inside]) for part in (plan.states, plan.targets, plan.weights)
    )
    made = []
    for share in LEAF_SHARES:
        for weight in (weights / weights.mean() if weights.mean() > 0 else None, None):
            forests = [
                grow_forest(
                    states, targets[:, j], n_estimators=TREES,
                    min_samples_leaf=max(2 * (states.shape[1] + 1), int(share * len(states))), leaf_model="linear",
                    sample_weight=weight, periodic=data.periodic or None, box=box, random_state=seed % 2**64,
                    n_jobs=simulation.model.n_jobs,
                )
                for j in range(targets.shape[1])
            ]  # fmt: skip
            made.append(make_policy(data, forests, "grid"))
    return made
