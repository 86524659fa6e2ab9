"""How well a model predicts several steps ahead: open loop, with the actions that were logged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import policyforest._core as _core
from policyforest._support.angles import difference
from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.regression import r_squared

Refit = Callable[[NDArray[np.intp]], _core.LearnedModel]
"""Fits the model on some samples"""


def open_loop_scores(data: Transitions, fold: NDArray[np.int64], n_steps: int, refit: Refit) -> tuple[float, ...]:
    """R² of the change of each state dimension over `n_steps`, from every sample that is followed by enough samples in
    its fold, by a model that has not seen that fold."""
    starts = _starts(data, fold, n_steps)
    found = np.empty((len(starts), data.states.shape[1]))
    for f in np.unique(fold[starts]):
        model, held = refit(np.flatnonzero(fold != f)), fold[starts] == f
        found[held] = _predicted(model, data, starts[held], n_steps)
    last = data.next_states[starts + n_steps - 1]
    scores = []
    for d in range(found.shape[1]):
        true = difference(last[:, d], data.states[starts, d], data.periodic, d)
        missed = difference(last[:, d], found[:, d], data.periodic, d)
        scores.append(r_squared(missed, true))
    return tuple(scores)


def _starts(data: Transitions, fold: NDArray[np.int64], n_steps: int) -> NDArray[np.intp]:
    """The samples that begin `n_steps` samples of one episode and one fold, none of them terminal."""
    if len(np.unique(fold)) < 2:
        raise ValueError(f"transitions: holds {len(data)} sample, must hold at least 2 so that some can be held out")
    same = (data.episodes[1:] == data.episodes[:-1]) & (fold[1:] == fold[:-1])
    goes_on = same & (data.states[1:] == data.next_states[:-1]).all(axis=1) & ~data.terminals[:-1]
    run = np.concatenate([[0], np.cumsum(~goes_on)])
    _, first, length = np.unique(run, return_index=True, return_counts=True)
    length -= data.terminals[first + length - 1]
    place = np.arange(len(data)) - first[run]
    starts = np.flatnonzero(place + n_steps <= length[run])
    if len(starts) == 0:
        longest = f"the longest stretch that can be held out has {int(length.max(initial=0))}"
        raise ValueError(f"n_steps: is {n_steps}, must be at most the number of consecutive steps; {longest}")
    return starts


def _predicted(model: _core.LearnedModel, data: Transitions, starts: NDArray[np.intp], n_steps: int) -> Floats:
    """The states after `n_steps` logged actions without noise, kept in the box of the data as rollouts are."""
    here = np.ascontiguousarray(data.states[starts])
    for t in range(n_steps):
        here = model.step(here, np.ascontiguousarray(data.actions[starts + t]), None, True)[0]
    return here
