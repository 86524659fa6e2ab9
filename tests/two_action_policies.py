"""Policies of two actions on a box of angles and speeds, and states in it."""

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf

PI = float(np.pi)
BOX = np.array([[-PI, PI], [-2.0, 3.0]])
STATES = Box(np.array([-PI, -np.inf]), np.array([PI, np.inf]), dtype=np.float64)


def grown(seed, leaf_model="constant", box=BOX, periodic=None, n=150):
    rng = np.random.default_rng(seed)
    X = box[:, 0] + rng.random((n, len(box))) * (box[:, 1] - box[:, 0])
    y = np.sin(X + seed).sum(axis=1)
    return pf.grow_forest(
        X, y, n_estimators=5, leaf_model=leaf_model, min_samples_leaf=6, box=box, periodic=periodic, random_state=seed
    )


def make(leaf_model="constant", n_actions=2, dtype=np.float64, reach=0.5, periodic=None, **more):
    forests = tuple(grown(j, leaf_model, periodic=periodic) for j in range(n_actions))
    return pf.Policy(forests, STATES, Box(-reach, reach, (n_actions,), dtype), periodic or {}, **more)


def some_states(n=300):
    rng = np.random.default_rng(7)
    return BOX[:, 0] + rng.random((n, 2)) * (BOX[:, 1] - BOX[:, 0])
