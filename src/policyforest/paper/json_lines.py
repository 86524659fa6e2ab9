"""JSON Lines files that are complete at any time: one object per line, sorted by key.

An object is added by writing a whole new file and renaming it, under a lock on the folder. A writer that is killed
leaves the old file unchanged, and several processes can add to the same file. The largest file has 3 MB and gains a
line every few seconds at most, so the copy takes less than 1% of the time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from policyforest._support.files import FolderLock, flush, replacing

LOCK_NAME = ".lock"
StoredObject = dict[str, Any]
K = TypeVar("K", bound=Any)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Waits until no other writer holds the lock of the folder, and then holds it.

    The lock ends with the process, however the process ends."""
    with closing(FolderLock(folder / LOCK_NAME, wait=True)):
        yield


def parsed(text: bytes) -> Any:
    """The value of a JSON text.

    A `ValueError` names a number that is not finite, because such a number could not be written again."""
    return json.loads(text.decode(), parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds the number {number}")
    return number


def read_objects(file: Path, key: Callable[[Any], K], what: str) -> dict[K, StoredObject]:
    """The objects of a file by their keys, in the order of the file; none if there is no file.

    `key` raises `ValueError` for an object that does not belong in the file. The error of this function then names the
    file and the line, with `what`, a description of the mistake."""
    found: dict[K, StoredObject] = {}
    lines = file.read_bytes().split(b"\n") if file.exists() else [b""]
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            stored = parsed(line)
            its_key = key(stored)
            if its_key in found:
                raise ValueError(f"it is the second line of {its_key}")
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{file}, line {number}: {what} ({error}), must be deleted to be computed again"
            ) from error
        found[its_key] = stored
    return found


def write_objects(file: Path, objects: dict[K, StoredObject]) -> None:
    """Replaces the file by one with these objects; call it under the folder's lock."""
    write_lines(file, as_lines(objects))


def as_lines(objects: dict[K, StoredObject]) -> str:
    """The text of a file with these objects."""
    return "".join(json.dumps(objects[key], allow_nan=False) + "\n" for key in sorted(objects))


def write_lines(file: Path, text: str) -> None:
    """Replaces the file by one with this text; call it under the folder's lock."""
    for left_behind in file.parent.glob(f".{file.name}.*"):
        left_behind.unlink()  # Left by a writer that was killed, because a running one would hold the lock.
    with replacing(file) as beside:
        beside.write_text(text, encoding="utf-8")
    flush(file.parent)


def put_objects(file: Path, added: Iterable[StoredObject], key: Callable[[Any], K], what: str) -> None:
    """Adds objects to a file; an object with the same key is replaced."""
    new = {key(stored): stored for stored in added}
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.parent):
        write_objects(file, read_objects(file, key, what) | new)
