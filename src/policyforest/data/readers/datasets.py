"""Datasets of other libraries that are in memory already, as Transitions.

| dataset | how it is recognised |
|---|---|
| `Transitions` | |
| a Minari dataset | `iterate_episodes`, and spaces |
| a d3rlpy dataset (`MDPDataset`, `ReplayBuffer`) | `episodes` with `observations`, `actions`, `rewards`, `terminated` |
| arrays by name (D4RL, Gymnasium) | a mapping with `observations`, `actions`, `rewards`, `terminals`, `timeouts`, … |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from policyforest.data.readers.array_files import rows_of_arrays
from policyforest.data.readers.columns import Columns
from policyforest.data.readers.log import transitions_of
from policyforest.data.readers.minari_files import rows_of_minari
from policyforest.data.readers.resolved_columns import ResolvedColumns
from policyforest.data.readers.rows import Problems, Rows
from policyforest.data.transitions import Transitions


def as_transitions(dataset: Any, action_space: Box | None = None) -> Transitions:
    """The samples of a dataset of this or another library. If the dataset has no action space, `action_space` is used,
    or the extremes of its actions."""
    if isinstance(dataset, Transitions):
        return dataset
    problems = Problems("fail")
    rows, columns = _rows(dataset, problems)
    problems.settle()
    return transitions_of(rows, columns, problems, action_space)


def _rows(dataset: Any, problems: Problems) -> tuple[Rows, ResolvedColumns]:
    if isinstance(dataset, Mapping):
        return rows_of_arrays("dataset", {k: np.asarray(v) for k, v in dataset.items()}, Columns(), problems)
    if hasattr(dataset, "iterate_episodes") and hasattr(dataset, "action_space"):
        return rows_of_minari("dataset", dataset, Columns(), problems)
    if hasattr(dataset, "episodes"):
        return rows_of_arrays("dataset", _d3rlpy_arrays(dataset.episodes), Columns(), problems)
    known = "Transitions, a Minari or d3rlpy dataset, or a mapping of arrays"
    raise TypeError(f"dataset: is a {type(dataset).__name__}, must be {known}")


def _d3rlpy_arrays(episodes: Any) -> dict[str, np.ndarray[Any, Any]]:
    parts: dict[str, list[Any]] = {"observations": [], "actions": [], "rewards": [], "terminals": [], "episodes": []}
    for number, episode in enumerate(episodes):
        length = len(episode.rewards)
        parts["observations"].append(np.asarray(episode.observations))
        parts["actions"].append(np.asarray(episode.actions))
        parts["rewards"].append(np.asarray(episode.rewards).reshape(length))
        parts["terminals"].append(np.arange(length) == (length - 1 if episode.terminated else -1))
        parts["episodes"].append(np.full(length, number))
    if not parts["rewards"]:
        raise ValueError("dataset: has no episodes, must have at least one")
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}
