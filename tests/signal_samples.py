"""Samples of random walks, and policies on the states that signals make of them."""

import numpy as np
from gymnasium.spaces import Box

import policyforest as pf

PENDULUM = "policyforest/InvertedPendulum6kg-v0"
ACTIONS = Box(-2.0, 2.0, (1,), np.float64)


def run_of(n, seed=0, width=2, episodes=1):
    """Samples of random walks, as one or more episodes of n rows."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(episodes, n + 1, width)).cumsum(axis=1)
    parts = np.arange(episodes).repeat(n)
    rows = states[:, :-1].reshape(-1, width), states[:, 1:].reshape(-1, width)
    actions = rng.uniform(-2, 2, (episodes * n, 1))
    return pf.Transitions(
        rows[0], actions, rng.normal(size=n * episodes), rows[1], np.zeros(n * episodes, bool), parts,
        action_space=ACTIONS, plant=pf.Plant(("x", "y"), ("u",)),
    )  # fmt: skip


def some_policy(signals, seed=0):
    """A forest over the states that signals make."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(300, signals.n_states))
    forest = pf.grow_forest(
        rows, np.tanh(rows.sum(axis=1)) * 2, n_estimators=5, leaf_model="linear", min_samples_leaf=30
    )
    states = Box(-np.inf, np.inf, (signals.n_states,), np.float64)
    return pf.Policy((forest,), states, ACTIONS, signals=signals)
