"""The container of certificates: a safetensors file whose digest covers all of its arrays and its JSON text.

The search writes it and the checker reads it; `certificate_files.py` describes its contents.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from policyforest._support.arguments import Array
from policyforest._support.files import array_digest
from policyforest._support.tensor_files import read_arrays, read_header

FORMAT, VERSION, SUFFIX = "policyforest certificate", 1, ".pfcert"
KEYS = (
    "format", "version", "policy_digest", "precision", "model", "model_digest", "clause", "horizon", "steps", "rest",
    "interrupted", "software", "created", "digest",
)  # fmt: skip


def content_digest(arrays: Mapping[str, Array], content: Mapping[str, Any]) -> str:
    """SHA-256 of all arrays and of the text without its digest."""
    text = json.dumps({name: value for name, value in content.items() if name != "digest"}, sort_keys=True)
    kinds = ",".join(f"{name}:{arrays[name].dtype.str}" for name in sorted(arrays))
    return sha256((array_digest(arrays) + kinds + text).encode()).hexdigest()


def read_certificate_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The text and the arrays of a file whose digest is right; a ValueError otherwise."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: is '{path}', must be a file")
    with path.open("rb") as file:
        try:
            content, entries = read_header(file)
            _require_format(content)
            arrays = read_arrays(file, entries)
            if content["digest"] != content_digest(arrays, content):
                raise ValueError("its digest does not match its contents: the file was changed or damaged")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{path}: is not a certificate that can be read ({error})") from error
    return content, arrays


def _require_format(content: Mapping[str, Any]) -> None:
    if content.get("format") != FORMAT:
        raise ValueError("it is not a PolicyForest certificate file")
    if type(content.get("version")) is not int or content["version"] != VERSION:
        from policyforest._support.version import __version__

        raise ValueError(
            f"it has format version {content.get('version')!r}; this policyforest, {__version__}, reads version "
            f"{VERSION}"
        )
    if content.keys() != set(KEYS):
        raise ValueError(f"its text has {', '.join(content)}, must have {', '.join(KEYS)}")
