"""The entry point of the command: a separate package, so that Ctrl-C is quiet even while PolicyForest is imported."""

# Built in: while the module `signal` is imported, an interrupt would still print a traceback.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys


def main() -> None:
    """Runs the command line; before and after the command, an interrupt gives the exit code 130 and no traceback."""
    start_quietly()
    try:
        from policyforest.cli import main as command

        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            command()
        finally:
            # While the program ends, Python waits for threads and prints a traceback if the wait is interrupted.
            start_quietly()
    except KeyboardInterrupt:
        _end()


def start_quietly() -> None:
    """While modules are imported, an interrupt may be wrapped in another error, or lost: it ends the process at once.

    Where interrupts are ignored, as in the background of a script, they stay so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def _end(number: int = 0, frame: object = None) -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError, RuntimeError):
            continue  # missing, closed, or interrupted while it was written
    # Threads of libraries that were being imported may not end by themselves.
    os._exit(130)
