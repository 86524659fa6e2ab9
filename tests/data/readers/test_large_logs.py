"""Logs that are larger than the memory they are read in: only the columns that were named stay there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by /proc")

# Reads a log in a process of its own and prints the peak of its own memory (pages of files are the
# system's to take back, so they do not count), its child's included.
PROGRAM = """
import json, os, sys, threading, time, warnings
import polars
import policyforest as pf

def own(process):
    try:
        status = open(f"/proc/{process}/status").read()
        children = open(f"/proc/{process}/task/{process}/children").read().split()
    except OSError:
        return 0
    kilobytes = int(status.split("RssAnon:")[1].split()[0]) if "RssAnon:" in status else 0
    return 1024 * kilobytes + sum(own(int(child)) for child in children)

def watch():
    while not done.wait(0.002):
        most.append(own(os.getpid()))

warnings.simplefilter("ignore")
most, done = [own(os.getpid())], threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
log = pf.read_log(sys.argv[1], state=["x", "v"], action=["u"], reward="-(x**2)")
done.set()
watcher.join()
print(json.dumps({"rows": log.description.n_rows, "bytes": max(most) - most[0]}))
"""


def write_csv(path: Path, rows: int, letters: int) -> Path:
    """x, v, u and a note that is not read."""
    rng, part = np.random.default_rng(0), 5_000
    numbers, notes = rng.normal(size=(part, 3)).tolist(), [rng.bytes(letters // 2).hex() for _ in range(part)]
    block = "".join(f"{x:.6f},{v:.6f},{u:.6f},{note}\n" for (x, v, u), note in zip(numbers, notes, strict=True))
    with path.open("w") as file:
        file.write("x,v,u,note\n")
        for _ in range(rows // part):
            file.write(block)
    return path


def memory_of_reading(path: Path, rows: int) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"] == rows
    return int(told["bytes"])


def test_a_csv_is_read_in_less_memory_than_it_is_large(tmp_path: Path) -> None:
    """polars takes up to 350 MB for the batches that it works on; each number of the named columns takes 50 bytes."""
    path = write_csv(tmp_path / "log.csv", 600_000, letters=1_500)
    taken = memory_of_reading(path, 600_000)
    assert taken < 0.7 * path.stat().st_size
    path.unlink()


def test_what_a_longer_parquet_file_adds_to_the_memory_is_its_named_columns(tmp_path: Path) -> None:
    """95 bytes for each number were measured: the columns pass through two processes."""
    taken = {}
    for rows in (200_000, 400_000):
        table = write_csv(tmp_path / "log.csv", rows, letters=100)
        polars.scan_csv(table).sink_parquet(tmp_path / "log.parquet", row_group_size=50_000)
        taken[rows] = memory_of_reading(tmp_path / "log.parquet", rows)
    assert taken[400_000] - taken[200_000] < 140 * 3 * 200_000
