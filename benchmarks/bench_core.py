"""The core beside scikit-learn and onnxruntime: one thread, both in the same run, in turns.

    python benchmarks/bench_core.py [--quick] [--output bench-results]

Prints the table, writes core.json and core.md, and fails where a requirement is not met (not with --quick,
whose figures mean nothing).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

TITLE = "Forest core, one thread"


def main() -> int:
    options = arguments()
    one_thread()
    from core_rows import rows  # after the environment is set: libraries read it when they are loaded
    from report import show, write

    results = []
    for row in rows(options.quick):
        print(f"{row.what}: {row.measured:.3g} {row.unit}", file=sys.stderr)
        results.append(row)
    title = f"{TITLE} (quick: not a measurement)" if options.quick else TITLE
    show(title, results)
    write(options.output, "core", title, results)
    return 0 if options.quick or all(row.passed for row in results) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the forest core with its peers.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--output", type=Path, default=Path("bench-results"), help="where core.json and core.md go")
    return parser.parse_args()


def one_thread() -> None:
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR"):
        os.environ[f"{library}_NUM_THREADS"] = "1"


if __name__ == "__main__":
    sys.exit(main())
