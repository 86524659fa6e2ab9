"""The benchmark of the core runs to its end and writes what it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_core.py"


def test_the_quick_run_writes_its_table_as_json_and_markdown(tmp_path: Path) -> None:
    for library in ("sklearn", "onnxruntime", "skl2onnx"):
        pytest.importorskip(library)
    command = [sys.executable, str(BENCHMARK), "--quick", "--output", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    result = json.loads((tmp_path / "core.json").read_text())
    assert len(result["rows"]) == 9
    assert all(row["measured"] > 0 for row in result["rows"])
    assert {"date", "machine", "versions"} <= result.keys()
    table = (tmp_path / "core.md").read_text().splitlines()
    assert sum(line.startswith("| ") for line in table) == 1 + len(result["rows"])
