"""Transitions in files: ``.npz`` and ``.parquet``, written completely or not at all, and checked when they are read.

Both hold the arrays and one JSON text with the spaces. An ``.npz`` is a plain zip of ``.npy`` arrays without
compression, so that no file can claim more memory than it has bytes; pickled objects are never read. A
Parquet file has a seal, a digest of the file in the gap that the format allows before its footer, which detects damage.
Reading a damaged or malicious Parquet file can end the process that reads it, so a process of its own reads it.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.arguments import Array
from policyforest._support.extras import import_extra
from policyforest._support.files import replacing
from policyforest._support.spaces import box_from_json, box_to_json
from policyforest.data.parquet_process import ParquetProcess
from policyforest.data.plant import Plant
from policyforest.data.transitions import Transitions

TRANSITIONS_FORMAT = "policyforest transitions"
TRANSITIONS_VERSION = 1
# Name, kind of its numbers, dimensions.
ARRAYS = {
    "states": ("f", 2),
    "actions": ("f", 2),
    "rewards": ("f", 1),
    "next_states": ("f", 2),
    "terminals": ("b", 1),
    "episodes": ("i", 1),
}
# Columns of the Parquet file: one per dimension for the arrays of two dimensions, else one.
PARQUET_COLUMNS = {
    "states": "state",
    "actions": "action",
    "rewards": "reward",
    "next_states": "next_state",
    "terminals": "terminal",
    "episodes": "episode",
}
MAX_METADATA = 1 << 20
SEAL = b"policyforest sha256 "


def save_transitions(data: Transitions, path: str | os.PathLike[str]) -> None:
    arrays = {name: getattr(data, name) for name in ARRAYS}
    metadata = _metadata(data)
    if _suffix(path) == ".npz":
        with replacing(path) as beside, beside.open("wb") as file:
            np.savez(file, allow_pickle=False, metadata=np.array(metadata), **arrays)
    else:
        polars = import_extra("polars", "parquet")
        content = io.BytesIO()
        polars.DataFrame(_columns(arrays)).write_parquet(content, metadata={"policyforest": metadata})
        with replacing(path) as beside:
            beside.write_bytes(_sealed(content.getvalue()))


def load_transitions(path: str | os.PathLike[str]) -> Transitions:
    read = _read_npz if _suffix(path) == ".npz" else _read_parquet
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: is '{path}', must be a file")
    try:
        metadata, arrays = read(path)
        return _transitions(metadata, arrays)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not a file of transitions ({error})") from error


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix
    if suffix not in (".npz", ".parquet"):
        raise ValueError(f"path: is {os.fspath(path)!r}, must end in .npz or .parquet")
    return suffix


def _metadata(data: Transitions) -> str:
    return json.dumps(
        {
            "format": TRANSITIONS_FORMAT,
            "version": TRANSITIONS_VERSION,
            "observation_space": box_to_json(data.observation_space),
            "action_space": box_to_json(data.action_space),
            "state_limits": [[repr(side) for side in row] for row in data.state_limits.tolist()],
            "periodic": {str(d): [repr(side) for side in turn] for d, turn in data.periodic.items()},
            "plant": data.plant.settings(),
            "n_lost": data.n_lost,
        }
    )


def _transitions(metadata: str, arrays: Mapping[str, Array]) -> Transitions:
    content = json.loads(metadata)
    if not isinstance(content, dict) or content.get("format") != TRANSITIONS_FORMAT:
        raise ValueError("its metadata does not name the format")
    if content["version"] != TRANSITIONS_VERSION:
        raise ValueError(
            f"version {content['version']!r}, this version of policyforest reads version {TRANSITIONS_VERSION}"
        )
    columns: dict[str, Any] = dict(arrays)
    return Transitions(
        **columns,
        n_lost=content.get("n_lost", 0),
        observation_space=box_from_json("observation_space", content["observation_space"]),
        action_space=box_from_json("action_space", content["action_space"]),
        state_limits=[[float(side) for side in row] for row in content["state_limits"]],
        periodic={int(d): (float(low), float(high)) for d, (low, high) in dict(content["periodic"]).items()},
        plant=Plant.from_settings(content.get("plant", {})),
        outside="keep",  # the warning was given when the samples were made
    )


def _read_npz(path: Path) -> tuple[str, dict[str, Array]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            wanted = {f"{name}.npy" for name in (*ARRAYS, "metadata")}
            if len(members) != len(wanted) or {member.filename for member in members} != wanted:
                raise ValueError(f"it must hold {', '.join(sorted(wanted))} and nothing else")
            size = path.stat().st_size
            for member in members:
                # Checked before reading: the memory that a member takes is its file_size.
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > size:
                    raise ValueError(f"{member.filename} is compressed or larger than the file")
            arrays = {member.filename[:-4]: _read_npy(archive.read(member)) for member in members}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"it is damaged: {error}") from error
    metadata = arrays.pop("metadata")
    if metadata.dtype.kind != "U" or metadata.ndim != 0 or metadata.nbytes > MAX_METADATA:
        raise ValueError("its metadata is not text")
    for name, array in arrays.items():
        if (array.dtype.kind, array.ndim) != ARRAYS[name]:
            raise ValueError(f"{name} holds {array.dtype} of shape {array.shape}")
    return str(metadata), arrays


def _read_npy(content: bytes) -> Array:
    """An array in NumPy's format, whose header must agree with the number of bytes."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f".npy version {version}")
    shape, column_major, dtype = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    if dtype.hasobject or any(n < 0 for n in shape):
        raise ValueError(f"dtype {dtype}, shape {shape}")
    count = 1
    for n in shape:
        count *= n  # exact, where a product of int64 could wrap around
    if count * dtype.itemsize != len(content) - start:
        raise ValueError(f"{len(content) - start} bytes for shape {shape} of {dtype}")
    return np.frombuffer(content, dtype, count, start).reshape(shape, order="F" if column_major else "C")


def _columns(arrays: Mapping[str, Array]) -> dict[str, Array]:
    columns = {}
    for name, (_, ndim) in ARRAYS.items():
        if ndim == 1:
            columns[PARQUET_COLUMNS[name]] = arrays[name]
        else:
            columns |= {f"{PARQUET_COLUMNS[name]}_{d}": column for d, column in enumerate(arrays[name].T)}
    return columns


def _read_parquet(path: Path) -> tuple[str, dict[str, Array]]:
    polars = import_extra("polars", "parquet")
    _check_seal(path.read_bytes())
    with ParquetProcess() as process:
        present, metadata = process.contents(path)
        frame = process.table(path, [polars.col(name) for name in present])
    if metadata is None or len(metadata) > MAX_METADATA:
        raise ValueError("it has no metadata of policyforest")
    if any(column.null_count() for column in frame):
        raise ValueError("it has empty fields")
    names = {name: _column_names(name, frame.columns) for name in ARRAYS}
    if {column for columns in names.values() for column in columns} != set(frame.columns):
        raise ValueError(f"its columns are {', '.join(frame.columns)}")
    numbers = {column: frame[column].to_numpy() for column in frame.columns}
    return metadata, {
        name: numbers[columns[0]] if ndim == 1 else np.stack([numbers[c] for c in columns], axis=1)
        for (name, columns), (_, ndim) in zip(names.items(), ARRAYS.values(), strict=True)
    }


def _column_names(name: str, present: list[str]) -> list[str]:
    """The columns that an array must have been written to; its width follows from the names that are present."""
    if ARRAYS[name][1] == 1:
        return [PARQUET_COLUMNS[name]]
    width = sum(column.startswith(f"{PARQUET_COLUMNS[name]}_") for column in present)
    return [f"{PARQUET_COLUMNS[name]}_{d}" for d in range(max(width, 1))]


def _sealed(content: bytes) -> bytes:
    footer = _footer(content)
    return content[:footer] + SEAL + sha256(content).digest() + content[footer:]


def _check_seal(content: bytes) -> None:
    """Raises an error if a file is damaged. Polars can read the file with its seal."""
    footer = _footer(content)
    seal = max(0, footer - len(SEAL) - sha256().digest_size)
    if content[seal:footer] != SEAL + sha256(content[:seal] + content[footer:]).digest():
        raise ValueError("it is damaged or was written by another program: its checksum does not match")


def _footer(content: bytes) -> int:
    """Where the footer of a Parquet file begins: its length is in the four bytes before the final mark."""
    return max(0, len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
