"""Studies: cells are computed once, kept, and made into tables."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from policyforest.paper import STUDIES, readme, result_tables, run_studies
from policyforest.paper.studies import Short
from policyforest.paper.time_studies import learn_and_time
from square_studies import small, square


def test_finished_cells_are_not_computed_again(tmp_path):
    run_studies([small()], tmp_path, scale="quick", workers=1)
    assert small().missing(tmp_path, "quick") == []
    assert small().missing(tmp_path, "paper") == [3, 4, 5]
    seen = []
    run_studies([small(base=100)], tmp_path, scale="paper", workers=1, done=lambda *told: seen.append(told[:2]))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [r["fqi"]["return"] for r in small().results(tmp_path)] == [0, 1, 4, 109, 116, 125]


def test_seeds_count_from_the_first_one(tmp_path):
    late = replace(small(), first_seed=10)
    run_studies([small(), late], tmp_path, scale="quick", workers=1)
    assert list(late.by_seed(tmp_path, "quick")) == [10, 11, 12]
    assert late.missing(tmp_path, "paper") == [13, 14, 15]
    assert list(small().by_seed(tmp_path, "quick")) == [0, 1, 2]


def test_any_number_of_workers_gives_the_same_cells(tmp_path):
    for workers in (1, 2):
        run_studies([small(), small("more", base=7)], tmp_path / str(workers), scale="quick", workers=workers)
    one, two = (
        {
            (file.name, number): json.loads(line)["result"]
            for file in (tmp_path / workers).glob("*.jsonl")
            for number, line in enumerate(file.read_text().splitlines())
        }
        for workers in ("1", "2")
    )
    assert one == two
    assert len(one) == 6


def test_times_are_in_a_table_of_their_own(tmp_path, monkeypatch):
    timed = replace(STUDIES["double-integrator-times"], run=partial(learn_and_time, samples={"steps": 300}))
    timed = replace(timed, seeds={"quick": 2, "paper": 2})
    monkeypatch.setattr(result_tables, "STUDIES", {s.name: s for s in (small(), timed)})
    run_studies([small(), timed], tmp_path, scale="quick", workers=1)
    result_tables.write_tables(tmp_path, "quick")
    made = json.loads((tmp_path / "results.json").read_text())
    assert [row["mean"] for row in made["returns"]] == ["1.67"]
    assert [row["method"] for row in made["times"]] == ["fqi", "fpf-pwc", "fpf-pwl"]
    for result in timed.results(tmp_path, "quick"):
        assert result["fpf-pwl"]["action_us"] < result["fqi"]["action_us"] / 10
    text = (tmp_path / "results.md").read_text()
    assert "| squares | fqi | 3 | 1.67 |" in text
    assert "one action" in text


PAGES = {
    "README.md": "| Pendulum 6 kg, Fitted Policy Forest |",
    "docs/exploring.md": "| `swing-up-ours` |",
    "docs/ros.md": "quote: swing-up-gazebo-ours chosen, in DART .4f",
    "docs/learning.md": "quote: compare-forest-pendulum-v1 tree_return",
    "docs/problems.md": "quote: cart-pole-swing-up limit .2f",
}


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_the_docs_are_made_from_the_results(page):
    root = Path(__file__).parents[2]
    text = (root / page).read_text()
    stale = re.sub(r"(<!-- quote:[^>]*-->)[^<]*", r"\1-1", text)
    for found in (text, stale):
        assert readme.renewed(found, root / "docs" / "results") == text
    assert PAGES[page] in text


def test_every_page_with_numbers_of_cells_is_compared_and_made_by_one_command():
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    marks = ("<!-- quote:", ": made by policyforest.paper.readme -->")
    assert {str(p.relative_to(root)) for p in pages if any(m in p.read_text() for m in marks)} == set(PAGES)
    assert f"paper.readme docs/results {' '.join(PAGES)}" in (root / "Makefile").read_text()


@pytest.mark.parametrize("text", ["# Title", "<!-- results: made by policyforest.paper.readme -->"])
def test_a_page_without_marks_is_refused(text, tmp_path):
    with pytest.raises(ValueError, match="mark"):
        readme.renewed(text, tmp_path)


def test_tables_say_when_cells_were_computed_and_read_no_other_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(result_tables, "STUDIES", {"squares": small()})
    run_studies([small()], tmp_path, scale="quick", workers=1)
    with small().file(tmp_path).open("a") as lines:
        lines.write('{"study": "squares", "seed": 9, "result": {}}\n')
    (tmp_path / "others.jsonl").write_text("[]")
    result_tables.write_tables(tmp_path, "quick")
    today = json.loads(small().file(tmp_path).read_text().splitlines()[0])["date"]
    assert f"The cells were computed from {today} to {today} on " in (tmp_path / "results.md").read_text()


def test_cells_that_run_alone_are_not_expected_at_the_pace_of_the_others(tmp_path):
    timed = replace(small("timed", number=2), kind="times", run=partial(timed_square), seconds=100.0)
    left = []
    run_studies([small(), timed], tmp_path, scale="quick", workers=1, done=lambda *told: left.append(told[2]))
    assert left[0] >= left[2] >= 200.0
    assert left[-1] == 0.0


def timed_square(seed):
    return {"fqi": {"action_us": 1.0, "q_seconds": 1.0, "policy_seconds": 1.0}}


def test_a_short_cell_has_a_file_of_its_own(tmp_path):
    short = replace(small(number=1), short=Short(partial(square, base=50), 0.5))
    run_studies([short], tmp_path, scale="quick", workers=1)
    assert short.results(tmp_path, "quick")[0]["fqi"]["return"] == 50
    assert short.results(tmp_path, "paper") == []
    assert (short.cost("quick"), short.cost("paper")) == (0.5, 1.0)


def slow(seed):
    time.sleep(30)
    return {}


def test_an_interrupt_stops_the_workers_too(tmp_path):
    study = replace(small(number=4), run=slow)

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(4.0, interrupt)
    # A shell's background jobs ignore interrupts, and so would this test.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_studies([study], tmp_path, scale="quick", workers=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 20
    assert list(tmp_path.rglob("*.jsonl")) == []


KILLED = """
import sys
from dataclasses import replace
from pathlib import Path
sys.path[:0] = {folders!r}
from test_studies import run_studies, slow, small

if __name__ == "__main__":
    run_studies([replace(small(number=4), run=slow)], Path({out!r}), scale="quick", workers=2)
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED.format(folders=[str(p) for p in Path(__file__).parents[:2]], out=str(tmp_path)))
    parent = subprocess.Popen([sys.executable, script])
    try:
        workers = _eventually(lambda: _children(parent.pid), lambda found: len(found) >= 3)
    finally:
        parent.kill()
        parent.wait()
    assert _eventually(lambda: [pid for pid in workers if _runs(pid)], lambda found: not found) == []


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def _eventually(look, enough):
    for _ in range(300):
        found = look()
        if enough(found):
            break
        time.sleep(0.1)
    return found
