"""JSON Lines files: complete at any time, whoever is killed and however many write."""

from __future__ import annotations

import multiprocessing
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from policyforest.paper.json_lines import put_objects, read_objects

REFUSAL = "is no number"


def number(stored: dict[str, int]) -> int:
    return stored["number"]


def put(file: Path, numbers: range, **more: object) -> None:
    for n in numbers:
        put_objects(file, [{"number": n, **more}], number, REFUSAL)


def read(file: Path) -> list[int]:
    return list(read_objects(file, number, REFUSAL))


def test_lines_are_sorted_whatever_the_order_in_which_they_come(tmp_path: Path) -> None:
    for n in (10, 2, 33, 1):
        put(tmp_path / "a.jsonl", range(n, n + 1))
    assert (tmp_path / "a.jsonl").read_text().splitlines() == [f'{{"number": {n}}}' for n in (1, 2, 10, 33)]


def test_an_object_with_a_stored_key_replaces_it(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", range(3))
    put(tmp_path / "a.jsonl", range(1, 2), new=True)
    assert read_objects(tmp_path / "a.jsonl", number, REFUSAL) == {
        0: {"number": 0},
        1: {"number": 1, "new": True},
        2: {"number": 2},
    }


def test_a_file_that_is_not_there_has_no_objects(tmp_path: Path) -> None:
    assert read(tmp_path / "a.jsonl") == []


def test_a_damaged_file_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"number": 1}\n{"num')
    with pytest.raises(ValueError, match=r"a\.jsonl, line 2: is no number"):
        put(file, range(2, 3))
    assert file.read_text() == '{"number": 1}\n{"num'


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ranges = [range(first, first + 20) for first in (0, 20, 40, 60)]
    writers = [context.Process(target=put, args=(tmp_path / "a.jsonl", part)) for part in ranges]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert read(tmp_path / "a.jsonl") == list(range(80))


WRITER = """
import sys
from pathlib import Path
from policyforest.paper.json_lines import put_objects

file = Path(sys.argv[1])
print("ready", flush=True)
for n in range(int(sys.argv[2]), 100_000):
    put_objects(file, [{"number": n, "filling": "x" * 10_000}], lambda stored: stored["number"], "is no number")
    print(n, flush=True)
"""


def test_a_writer_that_is_killed_leaves_whole_lines_and_all_that_it_reported(tmp_path: Path) -> None:
    file, generator, reported = tmp_path / "a.jsonl", random.Random(0), -1
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), str(reported + 1)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(generator.uniform(0.02, 0.3))
        writer.send_signal(signal.SIGKILL)
        told = writer.communicate(timeout=30)[0].split()
        reported = int(told[-1]) if told else reported
        stored = read(file)
        assert stored in (list(range(reported + 1)), list(range(reported + 2)))
        reported = len(stored) - 1
    assert reported > 0
    put(file, range(reported + 1, reported + 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "a.jsonl"]
