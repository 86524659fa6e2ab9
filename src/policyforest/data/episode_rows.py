"""Episodes as rows of samples: what an episode is, and how episodes are concatenated and numbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.data.sample_checks import Bools, Ints


class EpisodeSteps(Protocol):
    """T control steps from a start to an end; `states` has T + 1 rows. A time limit leaves `terminal` False."""

    @property
    def states(self) -> Floats: ...
    @property
    def actions(self) -> Floats: ...
    @property
    def rewards(self) -> Floats: ...
    @property
    def terminal(self) -> bool: ...


def rows_of_episodes(episodes: Sequence[EpisodeSteps]) -> dict[str, Any]:
    """The fields of the samples of episodes, which are numbered from 0 in their order."""
    if not episodes:
        raise ValueError("episodes: is empty, must hold at least one episode")
    lengths = [len(episode.rewards) for episode in episodes]
    # Only the last step of an episode can be terminal.
    ends = [n - 1 if episode.terminal else -1 for n, episode in zip(lengths, episodes, strict=True)]
    return {
        "states": np.concatenate([episode.states[:-1] for episode in episodes]),
        "actions": np.concatenate([episode.actions for episode in episodes]),
        "rewards": np.concatenate([episode.rewards for episode in episodes]),
        "next_states": np.concatenate([episode.states[1:] for episode in episodes]),
        "terminals": np.concatenate([np.arange(n) == end for n, end in zip(lengths, ends, strict=True)]),
        "episodes": np.repeat(np.arange(len(episodes)), lengths),
    }


def episodes_of_rows(states: Floats, next_states: Floats, terminals: Bools) -> Ints:
    """The episode of each sample if episodes are not given: a new one begins after a terminal sample, and wherever a
    state is not the next state of the sample before."""
    breaks = terminals[:-1] | (next_states[:-1] != states[1:]).any(axis=1)
    return np.concatenate([[0], np.cumsum(breaks)]).astype(np.int64)


def numbered_on(parts: Sequence[Ints]) -> Ints:
    """The episode numbers of all parts; those of each part continue those of the parts before."""
    numbers = [parts[0]]
    for part in parts[1:]:
        numbers.append(part + (numbers[-1].max() + 1))
    return np.concatenate(numbers)
