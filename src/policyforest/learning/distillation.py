"""One tree in place of a forest, learned from the actions of the forest.

Merging trees and pruning the result (`Policy.simplify`, the paper's way) spends leaves all over the box of the states.
A tree that is grown on the forest's own actions, at the states that the forest itself was learned for, needs a tenth of
the leaves: on the 6 kg pendulum 76 leaves keep the return of -129 (merged: -1419 with 100), on Pendulum-v1 144 leaves
keep -180 (merged: -870 with 1,000).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from policyforest._support.arguments import Floats, seed_number, whole_number
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.forest.growing import grow_forest
from policyforest.learning.fitted_policy import FILLED_DIMENSIONS
from policyforest.learning.nearby_states import NearbyStates
from policyforest.policy.policy import Policy, Simplification, uniform_states

CANDIDATES = 16
"""Trees that are grown; the tree closest to the forest on other states is kept"""
HELD_OUT = 0.25


def distil(
    policy: Policy,
    max_leaves: int,
    samples: Transitions | None,
    n_states: int,
    random_state: int | np.random.Generator | None,
    n_jobs: int | None,
) -> Policy:
    """See `Policy.distil`."""
    dims = policy.observation_space.shape[0]
    _check_samples(policy, samples, dims)
    limit = whole_number("max_leaves", max_leaves, at_least=1)
    number = whole_number("n_states", n_states, at_least=dims + 2)
    seed = seed_number("random_state", random_state)
    rng = np.random.default_rng(seed)
    states = _draw(policy, samples, number, rng)
    others = _draw(policy, samples, max(1, int(HELD_OUT * number)), rng)
    actions, kept = policy.act_batch(states), policy.act_batch(others)
    trees = []
    for j, forest in enumerate(policy.forests):
        grown = _grow(forest, policy, states, actions[:, j], limit, (seed + j) % 2**64, n_jobs)
        errors = [float(np.mean((grown[k : k + 1].predict(others) - kept[:, j]) ** 2)) for k in range(len(grown))]
        trees.append(grown[int(np.argmin(errors))])
    simple = replace(policy, forests=tuple(trees))
    return replace(simple, simplification=Simplification.of(limit, simple, simple.act_batch(others) - kept))


def _check_samples(policy: Policy, samples: Transitions | None, dims: int) -> None:
    if samples is None:
        if not _fills_its_box(policy):
            raise ValueError(
                f"samples: are None, must be given for a policy of {dims} state dimensions or an unbounded box"
            )
        return
    if not isinstance(samples, Transitions):
        raise TypeError(f"samples: is {type(samples).__name__}, must be Transitions")
    if samples.states.shape[1] != dims:
        raise ValueError(
            f"samples: have {samples.states.shape[1]} state dimensions, must have {dims}, as the policy has"
        )


def _fills_its_box(policy: Policy) -> bool:
    return len(policy.state_box) <= FILLED_DIMENSIONS and bool(np.isfinite(policy.state_box).all())


def _draw(policy: Policy, samples: Transitions | None, number: int, rng: np.random.Generator) -> Floats:
    lo, hi = policy.state_box.T
    if samples is None or _fills_its_box(policy):
        return uniform_states(policy.state_box, number, rng)
    near: Floats = np.clip(NearbyStates(samples).draw(number, rng), lo, hi)
    return near


def _grow(
    forest: Forest, policy: Policy, states: Floats, actions: Floats, max_leaves: int, seed: int, n_jobs: int | None
) -> Forest:
    """A few random trees, with leaves so large that each tree has at most the allowed number of them."""
    smallest = states.shape[1] + 1 if forest.leaf_model == "linear" else 1
    return grow_forest(
        states,
        actions,
        n_estimators=CANDIDATES,
        leaf_model=forest.leaf_model,
        min_samples_leaf=max(smallest, -(-len(states) // max_leaves)),
        periodic=policy.periodic or None,
        box=forest.box,
        random_state=seed,
        n_jobs=n_jobs,
    )
