"""Reads Minari datasets, given as a folder or as the id of a downloaded dataset (``minari:D4RL/pen/human-v2``).

Observations and actions of Dict and Tuple spaces are flattened as Gymnasium does it. The spaces are those of the
dataset; an environment spec is not needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from policyforest._support.arguments import Floats
from policyforest._support.extras import import_extra
from policyforest.data.readers.array_files import well_formed
from policyforest.data.readers.columns import NEXT, Columns
from policyforest.data.readers.resolved_columns import ResolvedColumns, resolve
from policyforest.data.readers.rows import Problems, Rows

MINARI_PREFIX = "minari:"


def is_minari_folder(path: Path) -> bool:
    return any((folder / "metadata.json").is_file() for folder in (path, path / "data"))


def read_minari(path: str, wanted: Columns, problems: Problems) -> tuple[Rows, ResolvedColumns]:
    return rows_of_minari(path, _open(path), wanted, problems)


def rows_of_minari(path: str, dataset: Any, wanted: Columns, problems: Problems) -> tuple[Rows, ResolvedColumns]:
    """Rows of a dataset that is open."""
    observations, actions = (_flat_space(path, dataset, name) for name in ("observation_space", "action_space"))
    try:
        episodes = list(dataset.iterate_episodes())
        states = [_flat_rows(dataset.observation_space, episode.observations) for episode in episodes]
        actions_taken = [_flat_rows(dataset.action_space, episode.actions) for episode in episodes]
    except Exception as error:  # Minari and HDF5 raise errors of many types
        raise ValueError(f"{path}: is damaged ({type(error).__name__}: {error})") from error
    if not episodes:
        raise ValueError(f"{path}: has no episodes, must have at least one")
    taken = np.concatenate(actions_taken)
    table = {f"state_{d}": column for d, column in enumerate(np.concatenate([s[:-1] for s in states]).T)}
    table |= {f"{NEXT}state_{d}": column for d, column in enumerate(np.concatenate([s[1:] for s in states]).T)}
    table |= {f"action_{d}": column for d, column in enumerate(taken.T)}
    table["reward"] = np.concatenate([episode.rewards for episode in episodes]).astype(np.float64)
    columns = resolve(wanted, [*table, "terminal", "truncated"])
    lengths = [len(episode.rewards) for episode in episodes]
    breaks = np.zeros(len(taken), dtype=np.bool_)
    breaks[np.cumsum([0, *lengths[:-1]])] = True
    whole = len(columns.state) == len(states[0].T) and len(columns.action) == len(taken.T)
    rows = Rows(
        source=str(dataset.spec.dataset_id),
        numbers={c.name: table[c.source] for c in columns.numbers},
        lines=np.arange(1, len(taken) + 1, dtype=np.int64),
        breaks=breaks,
        terminal=np.concatenate([e.terminations for e in episodes]).astype(np.bool_),
        truncated=np.concatenate([e.truncations for e in episodes]).astype(np.bool_),
        unit="step",
        observation_space=observations if whole else None,
        action_space=actions if whole else None,
    )
    return rows.only(well_formed(rows, columns, problems)), columns


def _open(path: str) -> Any:
    minari = import_extra("minari", "minari")
    try:
        if path.startswith(MINARI_PREFIX):
            return minari.load_dataset(path.removeprefix(MINARI_PREFIX))
        folder = Path(path)
        return minari.MinariDataset(folder / "data" if (folder / "data").is_dir() else folder)
    except FileNotFoundError as error:
        raise ValueError(f"{path}: {error}".replace("Use download=True", "Use `minari download`")) from error
    except Exception as error:  # Minari, HDF5 and Gymnasium raise errors of many types
        raise ValueError(f"{path}: is not a Minari dataset that can be read ({error})") from error


def _flat_space(path: str, dataset: Any, name: str) -> spaces.Box:
    space = getattr(dataset, name)
    flat = spaces.flatten_space(space) if _numeric(space) else None
    if not isinstance(flat, spaces.Box):
        raise ValueError(f"{path}: its {name} is {space}, must be a Box or made of Boxes")
    return flat


def _numeric(space: Any) -> bool:
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        return all(_numeric(part) for part in parts)
    return isinstance(space, spaces.Box)


def _flat_rows(space: Any, values: Any) -> Floats:
    """Rows of numbers, in the order of Gymnasium's `flatten`."""
    if isinstance(space, spaces.Dict):
        return np.concatenate([_flat_rows(part, values[key]) for key, part in space.spaces.items()], axis=1)
    if isinstance(space, spaces.Tuple):
        return np.concatenate([_flat_rows(part, v) for part, v in zip(space.spaces, values, strict=True)], axis=1)
    array = np.asarray(values, dtype=np.float64)
    return array.reshape(len(array), -1)
