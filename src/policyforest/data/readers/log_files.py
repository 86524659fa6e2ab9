"""The files that a path stands for, and the format of each: patterns and folders are expanded, no file counts twice."""

from __future__ import annotations

import glob
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

from policyforest._support.arguments import one_of
from policyforest.data.readers.minari_files import MINARI_PREFIX, is_minari_folder
from policyforest.data.readers.ros_bags import is_bag
from policyforest.data.transition_files import SEAL

FORMATS = ("csv", "parquet", "numpy", "minari", "rosbag", "transitions")
SUFFIX_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".npz", ".npy"), "numpy"),
}
PathLike = str | os.PathLike[str]


def log_files(path: PathLike | Iterable[PathLike], format: str | None) -> list[tuple[str, str]]:
    """Each file with its format, with patterns and folders expanded, in the order of their names."""
    paths = [path] if isinstance(path, str | os.PathLike) else list(path) if isinstance(path, Iterable) else [path]
    if not all(isinstance(one, str | os.PathLike) for one in paths):
        raise TypeError(f"path: is {path!r}, must be a file, a folder or a pattern, or several of them")
    if format is not None:
        one_of("format", format, FORMATS)
    files: list[tuple[str, str]] = []
    for one in [os.fspath(p) for p in paths]:
        if one.startswith(MINARI_PREFIX):
            files.append((one, "minari"))
            continue
        found = [one] if os.path.exists(one) else sorted(glob.glob(one, recursive=True))
        if not found:
            raise FileNotFoundError(f"path: is {one!r}, must be a file, a folder or a pattern that matches files")
        for name in found:
            files += [(file, format or _format(file)) for file in _opened(name)]
    if not files:
        raise ValueError(f"path: {shown_path(path)} holds no logs")
    # Two patterns may match the same file, whose samples must not count twice.
    return list({os.path.realpath(name): (name, kind) for name, kind in reversed(files)}.values())[::-1]


def _opened(name: str) -> list[str]:
    """The paths that a name stands for: a folder that is not a log itself stands for the recorded episodes in it."""
    folder = Path(name)
    if not folder.is_dir() or is_bag(folder) or is_minari_folder(folder):
        return [name]
    inside = sorted(str(file) for file in folder.iterdir() if file.suffix.lower() in SUFFIX_FORMATS or is_bag(file))
    if not inside:
        raise ValueError(
            f"{name}: is a folder without logs; must hold {', '.join(SUFFIX_FORMATS)}, a bag or a Minari dataset"
        )
    return inside


def _format(name: str) -> str:
    path = Path(name)
    if path.is_dir():
        return "rosbag" if is_bag(path) else "minari"
    if is_bag(path):
        return "rosbag"
    kind = SUFFIX_FORMATS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"path: is {name!r}, must end in {', '.join([*SUFFIX_FORMATS, '.bag', '.mcap', '.db3'])}, or give format="
        )
    return "transitions" if kind in ("numpy", "parquet") and _is_ours(path) else kind


def _is_ours(path: Path) -> bool:
    """Whether `Transitions.save` has written a file; only its directory or its last megabyte is read."""
    if path.suffix.lower() == ".npz":
        try:
            with zipfile.ZipFile(path) as archive:
                names = set(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError):  # the reader of the file raises the error
            return False
        return {"metadata.npy", "next_states.npy", "episodes.npy"} <= names
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 20)))
        return SEAL in file.read()


def shown_path(path: object) -> str:
    return str(path) if isinstance(path, str | os.PathLike) else ", ".join(map(str, path))  # type: ignore[call-overload]
