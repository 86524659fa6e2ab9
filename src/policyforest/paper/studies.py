"""Studies are sets of cells: one seed of one setting each, computed once and kept.

A finished cell is a JSON file of its own, written beside and renamed, and is skipped when it is there; a study that
was killed goes on where it was. A cell depends on its study and seed alone, so any number of workers gives the same.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from policyforest._support.files import replacing
from policyforest._support.machine import processor
from policyforest.forest.executors import Executor, Processes, Threads
from policyforest.paper.cell_checks import CellResult, read_cell

EXTRAS = {"compare": ("torch", "stable_baselines3")}
"""What an extra brings, as far as studies need it"""

CellKind = Literal["returns", "times", "limits", "portraits", "comparisons"]


@dataclass(frozen=True)
class Short:
    """What the scale "quick" computes in place of a cell that takes minutes; kept in a folder of its own."""

    run: Callable[[int], dict[str, Any]]
    seconds: float


@dataclass(frozen=True)
class Study:
    """A named set of cells: `run(seed)` for seeds below the scale's number gives one result each."""

    name: str
    title: str
    run: Callable[[int], dict[str, Any]]
    seeds: Mapping[str, int]
    """How many at the scales "quick" and "paper" """
    seconds: float
    """What a cell costs, about, on one core"""
    kind: CellKind = "returns"
    """What its cells hold; times and comparisons are measured one cell after another"""
    methods: tuple[str, ...] = ()
    """What each of its cells must have: methods (online "mean", "worst" and "chosen", of so many policies), or in
    comparisons the numbers beside the curve"""
    short: Short | None = None
    extra: str | None = None
    """The extra whose libraries its cells need to be computed; they can be seen without"""
    on_request: bool = False
    """Whether it needs more than this package, and is left out of "all" """

    def folder(self, out: Path, scale: str = "paper") -> Path:
        """Where its cells lie under `out`."""
        return out / (f"{self.name}-quick" if scale == "quick" and self.short else self.name)

    def file(self, out: Path, seed: int, scale: str = "paper") -> Path:
        """Where the cell of a seed lies under `out`."""
        return self.folder(out, scale) / f"{seed:04}.json"

    def missing(self, out: Path, scale: str) -> list[int]:
        """The seeds that are still to be computed."""
        return [seed for seed in range(self.seeds[scale]) if not self.file(out, seed, scale).is_file()]

    def computable(self) -> bool:
        """Whether the libraries are installed that its cells need."""
        return self.extra is None or all(find_spec(name) is not None for name in EXTRAS[self.extra])

    def cost(self, scale: str) -> float:
        """The seconds of a cell, about, on one core."""
        return self.short.seconds if scale == "quick" and self.short else self.seconds

    def cell(self, seed: int, scale: str) -> dict[str, Any]:
        """Computes the cell of a seed."""
        return self.short.run(seed) if scale == "quick" and self.short else self.run(seed)

    def results(self, out: Path, scale: str = "paper") -> list[CellResult]:
        """The finished cells' results, by seed."""
        return list(self.by_seed(out, scale).values())

    def by_seed(self, out: Path, scale: str = "paper") -> dict[int, CellResult]:
        """The finished cells' results under their seeds."""
        files = {seed: self.file(out, seed, scale) for seed in range(self.seeds[scale])}
        return {
            seed: read_cell(file, self.name, seed, self.kind, self.methods)
            for seed, file in files.items()
            if file.is_file()
        }


# Their cells hold times: of this machine, and of a cell that runs alone.
ALONE = ("times", "comparisons")
Cell = tuple[Study, int, str]
"""A study, a seed and the scale"""


def run_cell(cell: Cell, n_jobs: int = 1) -> dict[str, Any]:
    """Computes one cell, wherever this runs; its seconds are those of one thread, so it takes no more."""
    from policyforest._support.version import __version__

    study, seed, scale = cell
    started = time.process_time()
    result = study.cell(seed, scale)
    return {
        "study": study.name,
        "seed": seed,
        "version": __version__,
        "machine": processor(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu_seconds": round(time.process_time() - started, 3),
        "result": result,
    }


def keep_cell(cell: Cell, content: Mapping[str, Any], out: Path) -> None:
    """Writes a finished cell to its file."""
    study, seed, scale = cell
    study.folder(out, scale).mkdir(parents=True, exist_ok=True)
    with replacing(study.file(out, seed, scale)) as beside:
        beside.write_text(json.dumps(content, allow_nan=False) + "\n")


def run_studies(
    studies: Sequence[Study],
    out: Path,
    *,
    scale: str,
    workers: int = 1,
    executor: Executor | None = None,
    done: Callable[[int, int, float], None] = lambda finished, total, left: None,
) -> None:
    """Computes all missing cells, by `executor` or else in `workers` processes; `done(finished, total, seconds left)`
    is called after each."""
    cells = [(study, seed, scale) for study in studies for seed in study.missing(out, scale)]
    timed = [cell for cell in cells if cell[0].kind in ALONE]
    others = [cell for cell in cells if cell[0].kind not in ALONE]
    runner = executor or (Threads(1) if workers == 1 else Processes(workers))
    finished = 0
    try:
        for group, by, then in ((others, runner, timed), (timed, Threads(1), [])):
            afterwards = _cost(then)
            for left in _time_left(group, _run_all(group, out, by)):
                finished += 1
                done(finished, len(cells), left + afterwards)
    finally:
        if executor is None:
            runner.close()


def _cost(cells: Sequence[Cell]) -> float:
    return sum(study.cost(scale) for study, _, scale in cells)


def _time_left(cells: Sequence[Cell], finished: Iterable[Cell]) -> Iterator[float]:
    """The seconds left, after each finished cell: at the pace so far, as cells are expected to cost."""
    started, whole, done = time.perf_counter(), _cost(cells), 0.0
    for study, _, scale in finished:
        done += study.cost(scale)
        yield (time.perf_counter() - started) / done * (whole - done)


def _run_all(cells: Sequence[Cell], out: Path, executor: Executor) -> Iterator[Cell]:
    for i, content in executor.map(run_cell, cells):
        keep_cell(cells[i], content, out)
        yield cells[i]
