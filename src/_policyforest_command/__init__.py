"""The entry point of the command: a separate package, so that Ctrl-C is quiet even while PolicyForest is imported."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Runs the command line; from the first import on, an interrupt gives the exit code 130 and no traceback."""
    start_quietly()
    try:
        from policyforest.cli import main as command

        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command()
    except KeyboardInterrupt:
        _end()


def start_quietly() -> None:
    """While modules are imported, an interrupt may be wrapped in another error, or lost: it ends the process at once.

    Where interrupts are ignored, as in the background of a script, they stay so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    # Threads of libraries that were being imported may not end by themselves.
    sys.stderr.flush()
    os._exit(130)
