"""Arrays and one JSON text in a safetensors file, written completely or not at all, and checked when they are read.

A safetensors file is eight bytes with the length of its header, the header (JSON: type, shape and place of each array
by name, and texts by name), and the numbers. It holds no code. The header is read here rather than by the library,
because reading an untrusted file must not take more than a few times its size in memory: its length is checked before
it is read, its values are counted before they are parsed, and each array must begin where the one before it ends, so
that no byte is claimed twice and none is left over.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from policyforest._support.arguments import Array
from policyforest._support.files import replacing

DTYPES: dict[str, np.dtype[Any]] = {"I32": np.dtype("<i4"), "I64": np.dtype("<i8"), "F64": np.dtype("<f8")}
# A parsed value takes up to 200 bytes however short its text is, so bounds on the text alone would not do.
MAX_HEADER = 1 << 20
MAX_VALUES = 20_000
MAX_DEPTH = 8
TEXT_NAME, DIGEST_NAME = "policyforest", "sha256"
CHUNK = 1 << 20


class Place(NamedTuple):
    """The place of an array in the file, counted from the end of the header, with its name, type and shape."""

    begin: int
    end: int
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def write_tensors(
    path: str | os.PathLike[str], arrays: Mapping[str, Array], content: Mapping[str, Any], *, digest: bool = False
) -> None:
    """Writes the arrays, and `content`, plain data that becomes the JSON text; with `digest` also the SHA-256 of all of
    it, next to the text, where readers that do not know it ignore it."""
    from safetensors.numpy import save

    require_plain(content)
    text = json.dumps(content, allow_nan=False)
    whole = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {TEXT_NAME: text})
    whole = _with_digest(whole) if digest else whole
    header = whole[8 : 8 + int.from_bytes(whole[:8], "little")]
    _require_size(len(header), MAX_HEADER)
    _parse(header.decode("ascii"))
    with replacing(path) as beside:
        beside.write_bytes(whole)


def read_header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content of the JSON text, and the header's entry of each array, which is not checked yet."""
    texts, entries = _header(file)
    content = _parse(texts[TEXT_NAME])
    if not isinstance(content, dict):
        raise ValueError("its text is not an object")
    require_plain(content)
    return content, entries


def require_digest(file: BinaryIO) -> None:
    """Refuses a file whose digest is not that of its content; one without a digest passes, as older files have none.

    Call it after `read_header`; the position in the file does not change."""
    begin = file.tell()
    file.seek(0)
    texts, entries = _header(file)
    if DIGEST_NAME in texts:
        chunks = iter(lambda: file.read(CHUNK), b"")
        if texts[DIGEST_NAME] != _digest(texts[TEXT_NAME], entries, chunks):
            raise ValueError("it is damaged: its SHA-256 is not the one that it was saved with")
    file.seek(begin)


def _with_digest(whole: bytes) -> bytes:
    """A file with the digest in its header, which is written here: the library gives several texts no fixed order."""
    length = int.from_bytes(whole[:8], "little")
    entries, numbers = json.loads(whole[8 : 8 + length]), whole[8 + length :]
    texts = entries.pop("__metadata__")
    texts[DIGEST_NAME] = _digest(texts[TEXT_NAME], entries, [numbers])
    header = json.dumps({"__metadata__": texts} | entries, separators=(",", ":")).encode("ascii")
    header += b" " * (-len(header) % 8)  # numbers begin at a multiple of eight bytes
    return len(header).to_bytes(8, "little") + header + numbers


def _digest(text: str, entries: Mapping[str, Any], numbers: Iterable[bytes]) -> str:
    found = sha256(text.encode() + json.dumps(entries, sort_keys=True).encode())
    for part in numbers:
        found.update(part)
    return found.hexdigest()


def _header(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """The texts of the header, and its entry of each array."""
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise ValueError(f"it has {size} bytes")
    length = int.from_bytes(file.read(8), "little")
    _require_size(length, min(MAX_HEADER, size - 8))
    entries = _parse(file.read(length).decode("ascii"))
    if not isinstance(entries, dict):
        raise ValueError("its header is not an object")
    texts = entries.pop("__metadata__", None)
    if not isinstance(texts, dict) or not isinstance(texts.get(TEXT_NAME), str):
        raise ValueError("its header has no metadata of policyforest")
    return texts, entries


def read_arrays(file: BinaryIO, entries: Mapping[str, Any]) -> dict[str, Array]:
    """The arrays, from the end of the header on, after a check that they fill the rest of the file exactly."""
    places = sorted(_place(name, entry) for name, entry in entries.items())
    end = 0
    for place in places:
        if place.begin != end:
            raise ValueError(f"{place.name} begins at {place.begin}, must begin at {end}")
        end = place.end
    left = os.fstat(file.fileno()).st_size - file.tell()
    if end != left:
        raise ValueError(f"its arrays take {end} bytes, but the file has {left}")
    return {place.name: _read(file, place) for place in places}


def require_plain(value: object, depth: int = 0) -> None:
    """Refuses values that JSON cannot hold, numbers that are not finite, and text that is not printable."""
    if depth > MAX_DEPTH:
        raise ValueError(f"content: is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        if not all(c.isprintable() or c in "\n\t" for c in value):
            raise ValueError(f"content: holds the text {value[:50]!r}, must be printable")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"content: has the key {key!r}, must be text")
            require_plain(key)
            require_plain(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            require_plain(item, depth + 1)
    elif not (value is None or isinstance(value, bool | int | float)):
        raise ValueError(f"content: holds a {type(value).__name__}, must hold numbers, texts, lists and objects")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"content: holds {value}, must be finite")


def _require_size(length: int, limit: int) -> None:
    if length > limit:
        raise ValueError(f"its header has {length} bytes, at most {limit} are possible")


def _parse(text: str) -> Any:
    if not text.isascii():
        raise ValueError("its header is not ASCII")
    values = text.count(",") + text.count("[") + text.count("{")
    if values > MAX_VALUES:
        raise ValueError(f"its header has {values} values, at most {MAX_VALUES} are possible")
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("its header has a name twice")
    return result


def _place(name: str, entry: object) -> Place:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{name} must have a dtype, a shape and data_offsets")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise ValueError(f"{name} holds {code!r}, must hold {', '.join(DTYPES)}")
    if not (_sizes(shape) and _sizes(offsets) and len(shape) <= 2 and len(offsets) == 2):
        raise ValueError(f"{name} has the shape {shape!r} and the offsets {offsets!r}")
    n_bytes = math.prod(shape) * DTYPES[code].itemsize  # whole numbers of Python do not wrap around
    begin, end = offsets
    if end - begin != n_bytes:
        raise ValueError(f"{name} takes {end - begin} bytes, must take {n_bytes}")
    return Place(begin, end, name, DTYPES[code], tuple(shape))


def _sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _read(file: BinaryIO, place: Place) -> Array:
    # A new array, because a place in the file need not be aligned as the core expects.
    array = np.fromfile(file, place.dtype, math.prod(place.shape))
    if array.nbytes != place.end - place.begin:
        raise ValueError(f"{place.name} is cut off")
    return array.reshape(place.shape)
