"""Policies of every kind that can be saved, small and made without learning."""

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf
from policyforest.baselines.bases import PolynomialBasis, RadialBasis
from policyforest.baselines.binary_action_search import BinarySearchPolicy
from policyforest.baselines.least_squares import LeastSquaresProgress
from policyforest.baselines.lspi import LSPIPolicy

PI = float(np.pi)
STATES = Box(np.array([-PI, -np.inf]), np.array([PI, np.inf]), dtype=np.float64)
STATE_BOX = np.array([[-PI, PI], [-2.0, 3.0]])
INFO = pf.PolicyInfo("fpf-pwl", {"discount": 0.1 + 0.2, "horizon": "auto", "seed": 2**64 - 1, "none": None}, 12)


def grown(seed, *, leaf_model="constant", box=STATE_BOX, n=60, trees=3, periodic=None):
    rng = np.random.default_rng(seed)
    X = box[:, 0] + rng.random((n, len(box))) * (box[:, 1] - box[:, 0])
    y = np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(n)
    return pf.grow_forest(
        X,
        y,
        n_estimators=trees,
        leaf_model=leaf_model,
        box=box,
        periodic=periodic,
        random_state=seed,
        min_samples_leaf=6,
    )


def actions_box(n, dtype=np.float64):
    return Box(-np.arange(1.0, n + 1).astype(dtype) / 3, np.arange(1.0, n + 1).astype(dtype) / 3, dtype=dtype)


def forest_policy(n_actions=1, leaf_model="linear", periodic=None, dtype=np.float64, **more):
    forests = tuple(grown(j, leaf_model=leaf_model, periodic=periodic) for j in range(n_actions))
    return pf.Policy(forests, STATES, actions_box(n_actions, dtype), periodic or {}, INFO, **more)


def greedy_policy(n_actions=1, search="exact", periodic=None, leaf_model="constant"):
    box = np.concatenate([STATE_BOX, np.stack([actions_box(n_actions).low, actions_box(n_actions).high], axis=1)])
    forest = grown(5, box=box, periodic=periodic, leaf_model=leaf_model)
    return pf.GreedyPolicy(forest, STATES, actions_box(n_actions), search, 10, INFO, periodic or {})


def linear_weights(seed, blocks, features):
    return np.random.default_rng(seed).standard_normal((blocks, features))


def search_policy(n_actions=1, basis=None):
    basis = basis or RadialBasis((3,) * (2 + n_actions))
    box = np.concatenate([STATE_BOX, np.stack([actions_box(n_actions).low, actions_box(n_actions).high], axis=1)])
    return BinarySearchPolicy(
        weights=linear_weights(1, 2 * n_actions, basis.over(box).n_features),
        resolution=5,
        basis=basis,
        input_box=box,
        observation_space=STATES,
        action_space=actions_box(n_actions),
        progress=LeastSquaresProgress(7, True),
        info=INFO,
    )


def lspi_policy(basis=None):
    basis = basis or PolynomialBasis(3)
    return LSPIPolicy(
        weights=linear_weights(2, 3, basis.over(STATE_BOX).n_features),
        actions=np.array([[-0.3], [0.0], [0.3]]),
        basis=basis,
        input_box=STATE_BOX,
        observation_space=STATES,
        action_space=actions_box(1),
        progress=LeastSquaresProgress(20, False),
        info=INFO,
    )


POLICIES = {
    "constant": lambda: forest_policy(leaf_model="constant"),
    "linear": lambda: forest_policy(),
    "three actions": lambda: forest_policy(3),
    "single precision": lambda: forest_policy(2, "constant", dtype=np.float32),
    "periodic": lambda: forest_policy(periodic={0: (-PI, PI)}),
    "raises outside": lambda: forest_policy(outside="raise"),
    "simplified": lambda: forest_policy(2).simplify(7, n_states=100),
    "greedy": lambda: greedy_policy(),
    "greedy, linear": lambda: greedy_policy(leaf_model="linear"),
    "greedy, two actions": lambda: greedy_policy(2),
    "greedy, merged": lambda: greedy_policy(search="merged"),
    "greedy, periodic": lambda: greedy_policy(periodic={0: (-PI, PI)}),
    "binary action search": lambda: search_policy(),
    "binary action search, two actions": lambda: search_policy(2, PolynomialBasis(2)),
    "lspi": lambda: lspi_policy(),
    "lspi, radial": lambda: lspi_policy(RadialBasis(4, 0.7, 1.5)),
}


def some_states(n=200, stretch=0.99):
    rng = np.random.default_rng(9)
    return STATE_BOX.mean(axis=1) + (rng.random((n, 2)) - 0.5) * np.diff(STATE_BOX, axis=1).T * stretch
