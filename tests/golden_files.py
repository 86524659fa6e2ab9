"""The files of format version 1, unpacked once for a run of the tests and removed with it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

_TEMPORARY = tempfile.TemporaryDirectory(prefix="policyforest-format-1-")
FORMAT_1 = Path(_TEMPORARY.name)
shutil.unpack_archive(Path(__file__).parent / "golden" / "format_1.zip", FORMAT_1)
