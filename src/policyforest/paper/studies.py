"""Studies are sets of cells: one seed of one setting each, computed once and kept.

A finished cell is one line of its study's JSON Lines file (see `policyforest.paper.json_lines`), and is not computed
again. A study that was killed resumes with its missing cells. A cell depends on its study and seed alone, so the result
does not depend on the number of workers.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from policyforest._support.machine import processor
from policyforest.forest.executors import Executor, Processes, Threads
from policyforest.paper.cell_checks import CellResult, cell_seed, check_cell
from policyforest.paper.json_lines import StoredObject, put_objects, read_objects

EXTRAS = {"compare": ("torch", "stable_baselines3"), "mujoco": ("mujoco",)}
"""The libraries of an extra that studies need"""

CellKind = Literal["returns", "times", "limits", "portraits", "comparisons", "plans", "runs", "certificates"]


@dataclass(frozen=True)
class Short:
    """A shorter computation, by which the scale "quick" replaces a cell that takes minutes; stored in its own file."""

    run: Callable[[int], dict[str, Any]]
    seconds: float


@dataclass(frozen=True)
class Study:
    """A named set of cells: `run(seed)` returns the result of one cell, for each seed of the scale."""

    name: str
    title: str
    run: Callable[[int], dict[str, Any]]
    seeds: Mapping[str, int]
    """The number of seeds at the scales "quick" and "paper" """
    seconds: float
    """The approximate time of a cell on one core"""
    kind: CellKind = "returns"
    """The content of its cells; cells of times and comparisons are computed one after another"""
    methods: tuple[str, ...] = ()
    """The entries that each of its cells must have: methods (in online studies "mean", "worst" and "chosen", of several
    policies), or in comparisons the numbers other than the curve"""
    short: Short | None = None
    extra: str | None = None
    """The extra whose libraries are needed to compute its cells; stored cells can be shown without it"""
    on_request: bool = False
    """Whether it needs more than this package, and is left out of "all" """
    first_seed: int = 0
    """The first seed; settings may have been chosen on smaller seeds, and are judged on the seeds from here on"""

    def all_seeds(self, scale: str) -> range:
        """The seeds of its cells."""
        return range(self.first_seed, self.first_seed + self.seeds[scale])

    def file(self, out: Path, scale: str = "paper") -> Path:
        """Where its cells are stored under `out`, one per line."""
        return out / f"{self._stem(scale)}.jsonl"

    def old_folder(self, out: Path, scale: str = "paper") -> Path:
        """Where earlier versions stored its cells under `out`, one per file."""
        return out / self._stem(scale)

    def _stem(self, scale: str) -> str:
        return f"{self.name}-quick" if scale == "quick" and self.short else self.name

    def missing(self, out: Path, scale: str) -> list[int]:
        """The seeds whose cells are not computed yet."""
        stored = self._read(out, scale, self.seed_of)
        return [seed for seed in self.all_seeds(scale) if seed not in stored]

    def computable(self) -> bool:
        """Whether the libraries that its cells need are installed."""
        return self.extra is None or all(find_spec(name) is not None for name in EXTRAS[self.extra])

    def cost(self, scale: str) -> float:
        """The approximate seconds of a cell on one core."""
        return self.short.seconds if scale == "quick" and self.short else self.seconds

    def cell(self, seed: int, scale: str) -> dict[str, Any]:
        """Computes the cell of a seed."""
        return self.short.run(seed) if scale == "quick" and self.short else self.run(seed)

    def results(self, out: Path, scale: str = "paper") -> list[CellResult]:
        """The results of the finished cells, in the order of their seeds."""
        return list(self.by_seed(out, scale).values())

    def by_seed(self, out: Path, scale: str = "paper") -> dict[int, CellResult]:
        """A mapping from seeds to the results of the finished cells."""
        return {seed: content["result"] for seed, content in self.stored(out, scale).items()}

    def stored(self, out: Path, scale: str = "paper") -> dict[int, StoredObject]:
        """The stored cells by seed. Raises `ValueError`, naming the line, if a line is not a finished cell."""

        def checked_seed(content: Any) -> int:
            seed = self.seed_of(content)
            if seed in self.all_seeds(scale):
                check_cell(content, self.kind, self.methods)
            return seed

        found = self._read(out, scale, checked_seed)
        return {seed: found[seed] for seed in sorted(found) if seed in self.all_seeds(scale)}

    def seed_of(self, content: Any) -> int:
        """The seed of a stored cell. Raises `ValueError` if the cell does not belong to this study."""
        return cell_seed(content, self.name)

    def keep(self, content: StoredObject, out: Path, scale: str = "paper") -> None:
        """Stores a finished cell."""
        self._require_one_layout(out, scale)
        put_objects(self.file(out, scale), [content], self.seed_of, self.refusal)

    def _read(self, out: Path, scale: str, seed_of: Callable[[Any], int]) -> dict[int, StoredObject]:
        self._require_one_layout(out, scale)
        return read_objects(self.file(out, scale), seed_of, self.refusal)

    @property
    def refusal(self) -> str:
        """The text of the error for a line that is not a cell of this study."""
        return f"is not a finished cell of {self.name}"

    def _require_one_layout(self, out: Path, scale: str) -> None:
        if self.old_folder(out, scale).is_dir():
            raise ValueError(
                f"{self.old_folder(out, scale)}: holds cells in the old layout, one file per cell; "
                f"run `policyforest reproduce --list --out {out}` to convert them"
            )


# Kinds whose cells hold times on this machine; each of them is computed while no other cell runs.
ALONE = ("times", "comparisons")
Cell = tuple[Study, int, str]
"""A study, a seed and the scale"""


def run_cell(cell: Cell, n_jobs: int = 1) -> dict[str, Any]:
    """Computes one cell, in this process or in a worker. It ignores `n_jobs`: a study decides on its own threads."""
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


def run_studies(
    studies: Sequence[Study],
    out: Path,
    *,
    scale: str,
    workers: int = 1,
    executor: Executor | None = None,
    done: Callable[[int, int, float], None] = lambda finished, total, left: None,
) -> None:
    """Computes all missing cells, with `executor` or else in `workers` processes; calls
    `done(finished, total, seconds left)` after each."""
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
    """The seconds left, after each finished cell: the expected time of the other cells, at the pace so far."""
    started, whole, done = time.perf_counter(), _cost(cells), 0.0
    for study, _, scale in finished:
        done += study.cost(scale)
        yield (time.perf_counter() - started) / done * (whole - done)


def _run_all(cells: Sequence[Cell], out: Path, executor: Executor) -> Iterator[Cell]:
    for i, content in executor.map(run_cell, cells):
        study, _, scale = cells[i]
        study.keep(content, out, scale)
        yield cells[i]
