"""The standard streams of a command: closed ones take no output, and a full disk behind one is an error in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


class StandardOutputError(OSError):
    """Standard output could not be written, for example because its disk is full."""


class _CheckedOutput:
    """Standard output, whose errors can be distinguished from those of files. A closed pipe is no such error."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        with _errors_named():
            return self._stream.write(text)

    def flush(self) -> None:
        with _errors_named():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Opens closed streams, and ends the program with the code 2 if standard output cannot be written."""
    _open_closed()
    stream, checked = sys.stdout, _CheckedOutput(sys.stdout)
    sys.stdout = checked
    try:
        try:
            yield
        finally:
            # What is buffered is written now, because Python could not report an error in one line when it exits.
            checked.flush()
    except StandardOutputError as error:
        _give_up(stream)
        print(f"error: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from error
    except BrokenPipeError as error:
        _give_up(stream)
        raise SystemExit(1) from error
    finally:
        if sys.stdout is checked:  # otherwise it was replaced because its pipe was closed
            sys.stdout = stream


@contextmanager
def _errors_named() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StandardOutputError(error.errno, f"standard output: cannot be written ({error.strerror})") from error


def _open_closed() -> None:
    """Streams that are closed (``>&-``) are None in Python; `print` would take such a standard error for standard
    output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # until the program ends


def _give_up(stream: Any) -> None:
    """Closes standard output, because Python would otherwise try to write the rest again when it exits."""
    with suppress(OSError):
        stream.close()
