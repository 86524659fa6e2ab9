"""Checks that the baselines can learn from samples, and finds the part of the state space that the samples cover."""

from __future__ import annotations

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions


def check_transitions(transitions: Transitions) -> None:
    if not isinstance(transitions, Transitions):
        raise TypeError(f"transitions: is {type(transitions).__name__}, must be Transitions (see pf.collect)")


def visited_box(transitions: Transitions) -> Floats:
    """The extremes (dS, 2) of the sampled states, over which a basis is defined.

    The samples need not fill the box of all states. On the pendulum of 6 kg, random episodes reach half of it: a grid
    over that half gives a return of -170, and a grid over the whole box gives -340 (300 episodes, 10 seeds)."""
    if transitions.periodic:
        raise ValueError(
            f"transitions: dimensions {sorted(transitions.periodic)} are angles, but a linear basis does not wrap "
            "around; use a forest, or cosine and sine as states"
        )
    return np.stack([transitions.states.min(axis=0), transitions.states.max(axis=0)], axis=1)
