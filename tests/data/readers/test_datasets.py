"""Datasets of other libraries that are in memory: learners take them directly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import policyforest as pf


@dataclass
class Episode:
    """The fields of d3rlpy's episodes that are read; the real ones need PyTorch."""

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    terminated: bool


@dataclass
class Dataset:
    episodes: list[Episode]


@pytest.fixture(scope="module")
def collected() -> pf.Transitions:
    return pf.collect("policyforest/DoubleIntegrator-v0", episodes=8, seed=0)


def test_arrays_by_name_are_a_dataset(collected: pf.Transitions) -> None:
    arrays = {
        "observations": collected.states,
        "actions": collected.actions,
        "rewards": collected.rewards,
        "next_observations": collected.next_states,
        "terminals": collected.terminals,
    }
    data = pf.as_transitions(arrays, action_space=collected.action_space)
    assert np.array_equal(data.next_states, collected.next_states)
    assert data.n_episodes == collected.n_episodes
    assert pf.as_transitions(collected) is collected


def test_episodes_of_d3rlpy_s_form_are_a_dataset(collected: pf.Transitions) -> None:
    episodes = []
    for number in np.unique(collected.episodes):
        part = collected[collected.episodes == number]
        episodes.append(Episode(part.states, part.actions, part.rewards[:, None], bool(part.terminals[-1])))
    data = pf.as_transitions(Dataset(episodes))
    assert len(data) == len(collected)
    assert np.array_equal(data.terminals, collected.terminals)
    assert np.array_equal(data.next_states[~data.terminals], collected.next_states[~data.terminals])


def test_a_learner_fits_a_dataset(collected: pf.Transitions) -> None:
    learner = pf.FittedPolicyForest(n_states=200, q_learner=pf.FittedQIteration(horizon=2, resample=None))
    arrays = {"observations": collected.states, "actions": collected.actions, "rewards": collected.rewards}
    policy = learner.fit(arrays | {"next_observations": collected.next_states, "terminals": collected.terminals})
    assert policy.act(np.array([0.5, 0.0])).shape == (1,)


@pytest.mark.parametrize(
    ("dataset", "error", "message"),
    [
        ([1, 2], TypeError, "dataset: is a list"),
        ({}, ValueError, "must hold observations"),
        ({"observations": np.zeros((5, 2)), "actions": np.zeros((5, 1))}, ValueError, "has no rewards"),
        ({"observations": np.zeros((5, 2)), "actions": np.zeros(3), "rewards": np.zeros(5)}, ValueError, "different"),
        (Dataset([]), ValueError, "has no episodes"),
    ],
)
def test_what_is_no_dataset_is_refused(dataset: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pf.as_transitions(dataset)
