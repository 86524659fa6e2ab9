"""How inputs reach other processes: as a pickle without arrays, and the arrays, which are not copied there.

Pickle's protocol 5 separates the arrays (PEP 574). They lie in a mapped file or in an object store, and all workers of
a machine read the same memory. A worker puts an input together once and keeps it for the blocks that follow.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# The inputs that this process has put together, by name: (key, value). A worker does one task at a time.
_KEPT: dict[str, tuple[str, Any]] = {}


class Label(NamedTuple):
    """Identifies an input: workers keep one value per name, and the key distinguishes values."""

    name: str
    key: str


def taken_apart(
    name: str, value: Any, dumps: Callable[..., bytes] = pickle.dumps
) -> tuple[Label, bytes, list[memoryview]]:
    """A label, the text, and the arrays' memory."""
    arrays: list[pickle.PickleBuffer] = []
    text = dumps(value, protocol=5, buffer_callback=arrays.append)
    return Label(name, uuid.uuid4().hex), text, [array.raw() for array in arrays]


def put_together(label: Label, text: bytes, arrays: Callable[[], Sequence[Any]]) -> Any:
    """The value; `arrays` is called only where this process does not have it yet."""
    key, value = _KEPT.get(label.name, ("", None))
    if key != label.key:
        _KEPT.pop(label.name, None)  # frees the old value before the new one is made
        value = pickle.loads(text, buffers=arrays())
        _KEPT[label.name] = label.key, value
    return value
