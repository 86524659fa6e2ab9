"""Exported policies beside m2cgen, emlearn, tl2cgen and onnxruntime: the same forests for all, in one run.

    python benchmarks/bench_export.py [--quick] [--output bench-results]

Needs the cross compilers and emulators that `make test-embedded` installs. Prints the tables, writes export.json and
export.md, and fails where a requirement is not met (not with --quick, whose figures mean nothing). What peers generate
is kept in OUTPUT/peers: emlearn alone takes ten minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import report
from bench_core import one_thread

TITLE = "Exported policies"
HEADINGS = ("forest", "exporter", "flash", "bytes per leaf", "instructions", "at most", "cold", "warm", "largest error")


def main() -> int:
    options = arguments()
    one_thread()
    from export_rows import Bench  # after the environment is set: libraries read it when they are loaded

    cache = options.output / "peers"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(Path(work), cache, options.quick)
        rows = []
        for row in bench.rows():
            print(f"{row.what} ({row.peer}): {row.measured:.3g} {row.unit}", file=sys.stderr)
            rows.append(row)
    title = f"{TITLE} (quick: not a measurement)" if options.quick else TITLE
    report.show(title, rows)
    report.write(options.output, "export", title, rows, (*report.PACKAGES, "m2cgen", "emlearn", "tl2cgen"))
    lines = [[*map(_cell, asdict(figures).items())] for figures in bench.figures]
    table = "\n".join("| " + " | ".join(line) + " |" for line in [HEADINGS, ["---"] * len(HEADINGS), *lines])
    print(table)
    with (options.output / "export.md").open("a") as page:
        page.write(f"\n{table}\n")
    path = options.output / "export.json"
    content = json.loads(path.read_text()) | {"figures": [asdict(figures) for figures in bench.figures]}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return 0 if options.quick or all(row.passed for row in rows) else 1


def _cell(item: tuple[str, object]) -> str:
    name, value = item
    if name in ("cold", "warm"):
        assert isinstance(value, float)
        return f"{value * 1e6:.2f} µs"
    if isinstance(value, float):
        return f"{value:.2f}" if name == "bytes_a_leaf" else f"{value:.2g}" if name == "error" else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare exported policies with those of other exporters.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--output", type=Path, default=Path("bench-results"), help="where the results go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
