"""Files that are either complete or absent, and folders that one process holds."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from filelock import BaseFileLock


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a path next to `path` to write to, and renames it when the block ends well.

    A reader sees the old file or the new one, never a part of it; a block that fails leaves nothing behind. An error of
    the operating system names `path`."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: cannot be written because {target.parent} is not a folder")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):  # the first error is the one to report
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and _is_of_writing(error, beside):
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(target)) from error
        raise


def _is_of_writing(error: OSError, file: Path) -> bool:
    """Whether the operating system refused to write a file. A full disk is an error without a name."""
    return error.errno is not None and (error.filename is None or os.fspath(error.filename) == str(file))


class FolderLock:
    """A folder's lock file, held until it is closed or the process ends in any way."""

    def __init__(self, file: Path, *, wait: bool) -> None:
        """Raises `BlockingIOError` at once if the lock is held elsewhere, unless it may `wait`."""
        import filelock  # imported here, because most programs that import the package lock nothing

        self._lock: BaseFileLock = filelock.FileLock(file, thread_local=False)
        try:
            self._lock.acquire(blocking=wait)
        except filelock.Timeout as error:
            raise BlockingIOError(f"{file} is locked") from error

    def close(self) -> None:
        """Releases the folder; closing twice does no harm."""
        self._lock.release()


def locked(folder: Path, argument: str) -> FolderLock:
    """The lock of a folder that only one process may use at a time."""
    try:
        return FolderLock(folder / "lock", wait=False)
    except BlockingIOError as error:
        raise BlockingIOError(f"{argument}: {folder} is in use by another process or agent") from error


def flush(folder: Path) -> None:
    """Makes renames within the folder durable. Windows cannot open folders, and has no need to."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def array_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of named arrays, their shapes and numbers."""
    digest = sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + repr(arrays[name].shape).encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def differences(theirs: Any, ours: Any, name: str = "") -> list[str]:
    """The differences between two settings, each with both values."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        keys = sorted({*theirs, *ours})
        inner = (differences(theirs.get(k), ours.get(k), f"{name}.{k}" if name else k) for k in keys)
        return [line for lines in inner for line in lines]
    return [] if theirs == ours else [f"{name} is {theirs!r} there and {ours!r} here"]
