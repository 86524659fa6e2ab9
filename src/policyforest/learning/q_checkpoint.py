"""Fitted Q Iteration on disk: each finished iteration is stored durably before the next one begins.

| file | what it holds |
|---|---|
| ``settings.json`` | what the result depends on: settings, seed, digest of the samples; and the version that wrote it |
| ``iteration-000012.safetensors`` | the forest Q_12, the values at the samples, some of those before, the history |
| ``lock`` | held by the process that learns |

Iteration h draws from random streams that depend only on its number and the seed, and needs the values of the
iteration before. Therefore the last file and the forests that Q averages are the whole state, and a resumed run ends
with the same bits. Older files are removed.

A later version of the package resumes the folder if the format version is its own. A setting that is missing in the
folder was added later, and has its default; if that would give other bits, it has the value in effect when the folder
was created.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np

from policyforest._support.arguments import Array
from policyforest._support.files import FolderLock, array_digest, differences, flush, locked, replacing
from policyforest._support.tensor_files import read_arrays, read_header, write_tensors
from policyforest.data.transitions import Transitions
from policyforest.forest.forest import Forest
from policyforest.learning.q_history import QIteration, QState, some

# The version also goes up when the same settings give other bits: the package's own version is not compared.
FORMAT, VERSION = "policyforest Q iterations", 1
SETTINGS = "settings.json"
NAME = re.compile(r"iteration-\d{6}\.safetensors")


@dataclass(frozen=True, eq=False)
class QCheckpoint:
    """A folder with the iterations of one fit, held by one process."""

    path: Path
    settings: Mapping[str, Any]
    """The settings in the folder"""
    lock: FolderLock

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any],
        earlier: Mapping[str, Any],
        any_seed: bool = False,
    ) -> QCheckpoint:
        """A new folder, or one whose settings are the same; with `any_seed` its seed may differ, and is used.

        `defaults` are those of ``settings["learner"]``, for settings that the folder does not have; for settings in
        `earlier`, the value there is used instead."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        lock = locked(folder, "checkpoint_dir")
        try:
            return cls(folder, _agreed(folder, settings, defaults, earlier, any_seed), lock)
        except BaseException:
            lock.close()
            raise

    def write(self, state: QState) -> None:
        """Stores the newest iteration; returns when it is on the disk."""
        h = len(state.history)
        forest = state.last[-1].arrays
        arrays: dict[str, Array] = {name: forest[name] for name in ("feature", "split", "child", "node_offsets", "box")}
        arrays |= {"values": state.values, "history": np.array([astuple(it) for it in state.history])}
        arrays["recent"] = state.recent
        content = {"format": FORMAT, "version": VERSION, "iteration": h, "digest": array_digest(arrays)}
        write_tensors(self._file(h), arrays, content)
        flush(self.path)
        for file in self._files():
            if not h - len(state.last) <= _number(file) <= h:  # one more than is needed, in case the newest is damaged
                file.unlink()

    def read(self, n_last: int) -> QState | None:
        """The newest state whose files are complete; None: start from the beginning."""
        for leftover in self.path.glob(".iteration-*"):  # left by a process that was killed while it wrote
            leftover.unlink()
        for file in reversed(self._files()):
            newest = _number(file)
            try:
                parts = [_read(self._file(h), h) for h in range(max(1, newest - n_last + 1), newest + 1)]
            except (ValueError, KeyError, OSError):
                continue  # with an older file, only one more iteration has to be computed
            rows = parts[-1]["history"]
            history = tuple(
                QIteration(int(h), change, drift, value, int(n), s) for h, change, drift, value, n, s in rows.tolist()
            )
            values = parts[-1]["values"]
            # The first files of this version do not have the values before.
            recent = parts[-1].get("recent", some(values)[np.newaxis])
            return QState(history, tuple(_forest(part) for part in parts), values, recent)
        return None

    def _file(self, h: int) -> Path:
        return self.path / f"iteration-{h:06}.safetensors"

    def _files(self) -> list[Path]:
        return _iterations(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lock.close()


def samples_digest(samples: Transitions) -> str:
    """A digest of all parts of the samples that learning uses."""
    names = ("states", "actions", "rewards", "next_states", "terminals", "episodes", "state_limits")
    digest = sha256(array_digest({name: getattr(samples, name) for name in names}).encode())
    digest.update(repr((samples.observation_space, samples.action_space, samples.periodic)).encode())
    return digest.hexdigest()


def forest_digest(forest: Forest | None) -> str | None:
    return None if forest is None else array_digest(forest.arrays)


def _agreed(
    folder: Path,
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
    earlier: Mapping[str, Any],
    any_seed: bool,
) -> Mapping[str, Any]:
    file = folder / SETTINGS
    if not file.is_file():
        if _iterations(folder):
            raise ValueError(
                f"checkpoint_dir: {folder} is incomplete ({SETTINGS} is missing), must be empty or complete"
            )
        _write_settings(file, settings)
        return settings
    try:
        theirs = json.loads(file.read_text(encoding="utf-8"))
        if theirs.pop("format") != FORMAT or theirs.pop("version") != VERSION:
            raise ValueError("its format or version is not supported")
        theirs.pop("policyforest", None)
        before = {name: value for name, value in earlier.items() if name not in theirs["learner"]}
        theirs["learner"] = {**defaults, **before, **theirs["learner"]}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"checkpoint_dir: {file} is not the settings of a checkpoint ({error})") from error
    ours = {**settings, "learner": {**settings["learner"], **before}}
    if any_seed:
        ours["seed"] = theirs.get("seed")
    different: Sequence[str] = differences(theirs, ours)
    if different:
        raise ValueError(
            f"checkpoint_dir: {folder} belongs to another fit, must belong to this one: {'; '.join(different)}"
        )
    return ours


def _write_settings(file: Path, settings: Mapping[str, Any]) -> None:
    from policyforest._support.version import __version__

    content = {"format": FORMAT, "version": VERSION, "policyforest": __version__, **settings}
    with replacing(file) as beside:
        beside.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    flush(file.parent)


def _iterations(folder: Path) -> list[Path]:
    """The files of iterations, by number."""
    return sorted(file for file in folder.iterdir() if NAME.fullmatch(file.name) and file.is_file())


def _number(file: Path) -> int:
    return int(file.stem.split("-")[1])


def _read(path: Path, h: int) -> dict[str, Array]:
    with path.open("rb") as file:
        content, entries = read_header(file)
        arrays = read_arrays(file, entries)
    if (content.get("format"), content.get("version"), content.get("iteration")) != (FORMAT, VERSION, h):
        raise ValueError("it is not this iteration")
    if content["digest"] != array_digest(arrays):
        raise ValueError("its numbers have changed")
    return arrays


def _forest(arrays: Mapping[str, Array]) -> Forest:
    return Forest.from_arrays(**{name: arrays[name] for name in ("feature", "split", "child", "node_offsets", "box")})
