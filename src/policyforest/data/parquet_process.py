"""Parquet files, read by polars in a process of its own.

A damaged file can make polars end the process that it runs in (1 of 3,400 damaged files did: some panics
cannot be caught), and others make it print tracebacks of its own. Therefore another process reads: it receives a plan,
and writes the requested columns to a file that this process reads. One process serves all files of a log; it starts in
0.2 s. Files of transitions are read in the same way: their seal detects damage, but anyone can write one.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from policyforest._support.extras import import_extra

# The program of the process: it answers each line of JSON with a line of JSON, until its input ends.
PROGRAM = """
import base64, io, json, sys
import polars
for line in sys.stdin:
    path, plan, result = json.loads(line)
    answer = {}
    try:
        if plan is None:
            answer["names"] = list(polars.read_parquet_schema(path))
            answer["text"] = polars.read_parquet_metadata(path).get("policyforest")
        else:
            frame = polars.LazyFrame.deserialize(io.BytesIO(base64.b64decode(plan)))
            frame.collect(engine="streaming").write_ipc(result)
    except BaseException as error:
        answer["error"] = str(error) or type(error).__name__
    print(json.dumps(answer), flush=True)
"""


class ParquetProcess:
    """Reads Parquet files in another process, which starts with the first file and ends with the ``with`` block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> ParquetProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._folder is not None:
            self._folder.cleanup()

    def names(self, path: Path) -> list[str]:
        """The columns of a file."""
        return self.contents(path)[0]

    def contents(self, path: Path) -> tuple[list[str], str | None]:
        """The columns of a file, and the text that `Transitions.save` stores with them."""
        answer = self._ask(path, None, None)
        return answer["names"], answer["text"]

    def table(self, path: Path, expressions: list[Any]) -> Any:
        """A DataFrame with the values of polars expressions over the file's columns."""
        polars = import_extra("polars", "parquet")
        plan = polars.scan_parquet(os.path.abspath(path), glob=False).select(expressions).serialize(format="binary")
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="policyforest")
        result = Path(self._folder.name) / "columns.arrow"
        self._ask(path, base64.b64encode(plan).decode(), str(result))
        table = polars.read_ipc(result)
        result.unlink()
        return table

    def _ask(self, path: Path, plan: str | None, result: str | None) -> dict[str, Any]:
        process = self._process = self._process or _started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps([os.path.abspath(path), plan, result]), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process = None  # the next file gets a new process
        answer: dict[str, Any] = json.loads(line) if line else {"error": _how_it_ended(process.wait())}
        if "error" in answer:
            raise ValueError(f"{path}: is not a Parquet file that can be read ({answer['error']})")
        return answer


def _started() -> subprocess.Popen[str]:
    import_extra("polars", "parquet")
    # The same modules as here, and none from the current folder (-P).
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-c", PROGRAM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=env, text=True, encoding="utf-8", **pipes)  # type: ignore[call-overload,no-any-return]


def _how_it_ended(code: int) -> str:
    why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"polars crashed ({why}): the file is damaged, or needs more memory than is available"
