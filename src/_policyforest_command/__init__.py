"""Where the command begins: a package of its own, so that Ctrl-C is quiet even while PolicyForest is imported."""

import os
import sys


def main() -> None:
    """Runs the command line; an interrupt is the exit code 130 and no traceback, from the first import on."""
    try:
        from policyforest.cli import main as command

        command()
    except KeyboardInterrupt:
        # Threads of libraries that were being imported may not end by themselves.
        sys.stderr.flush()
        os._exit(130)
