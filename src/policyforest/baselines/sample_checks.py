"""Which samples the baselines can learn from, and the part of the state space that these cover."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions


def check_transitions(transitions: Transitions) -> None:
    if not isinstance(transitions, Transitions):
        raise TypeError(f"transitions: is {type(transitions).__name__}, must be Transitions (see pf.collect)")


def visited_box(transitions: Transitions) -> Floats:
    """The extremes (dS, 2) of the sampled states, where a basis is laid.

    They need not fill the box of all states: on the pendulum of 6 kg random episodes reach half of it, and a grid over
    that half gives a return of -170, over the whole one of -340 (300 episodes, 10 seeds)."""
    if transitions.periodic:
        raise ValueError(
            f"transitions: dimensions {sorted(transitions.periodic)} are angles, at which a linear basis would have "
            "a seam; use a forest, or cosine and sine as states"
        )
    return np.stack([transitions.states.min(axis=0), transitions.states.max(axis=0)], axis=1)
