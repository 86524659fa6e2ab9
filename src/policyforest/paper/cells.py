"""Studies are sets of cells: one seed of one setting each, computed once and kept.

A finished cell is a JSON file of its own, written beside and renamed, and is skipped when it is there; a study that
was killed goes on where it was. A cell depends on its study and seed alone, so any number of workers gives the same.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

from policyforest.files import replacing

Result = Mapping[str, Any]


EXTRAS = {"compare": ("torch", "stable_baselines3")}
"""What an extra brings, as far as studies need it"""

Kind = Literal["returns", "times", "limits", "portraits", "comparisons"]


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
    kind: Kind = "returns"
    """What its cells hold; times and comparisons are measured one cell after another"""
    short: Short | None = None
    extra: str | None = None
    """The extra whose libraries its cells need to be computed; they can be seen without"""
    on_request: bool = False
    """Whether it needs more than this package, and is left out of "all" """

    def folder(self, out: Path, scale: str = "paper") -> Path:
        return out / (f"{self.name}-quick" if scale == "quick" and self.short else self.name)

    def file(self, out: Path, seed: int, scale: str = "paper") -> Path:
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
        return self.short.run(seed) if scale == "quick" and self.short else self.run(seed)

    def results(self, out: Path, scale: str = "paper") -> list[Result]:
        """The finished cells' results, by seed."""
        return list(self.by_seed(out, scale).values())

    def by_seed(self, out: Path, scale: str = "paper") -> dict[int, Result]:
        files = {seed: self.file(out, seed, scale) for seed in range(self.seeds[scale])}
        return {seed: _read(file) for seed, file in files.items() if file.is_file()}


def _read(file: Path) -> Result:
    try:
        result: Result = json.loads(file.read_text())["result"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file}: is no finished cell ({error}), must be deleted to be computed again") from error
    return result


def run_cell(study: Study, seed: int, out: Path, scale: str = "paper") -> None:
    """Computes one cell and keeps it."""
    from policyforest import __version__

    started = time.process_time()
    result = study.cell(seed, scale)
    content = {
        "study": study.name,
        "seed": seed,
        "version": __version__,
        "cpu_seconds": round(time.process_time() - started, 3),
        "result": result,
    }
    study.folder(out, scale).mkdir(parents=True, exist_ok=True)
    with replacing(study.file(out, seed, scale)) as beside:
        beside.write_text(json.dumps(content, allow_nan=False) + "\n")


def run_studies(
    studies: Sequence[Study],
    out: Path,
    *,
    scale: str,
    workers: int,
    done: Callable[[int, int, float], None] = lambda finished, total, left: None,
) -> None:
    """Computes all missing cells; `done(finished, total, seconds left)` is called after each."""
    cells = [(study, seed) for study in studies for seed in study.missing(out, scale)]
    costs = [study.cost(scale) for study, _ in cells]
    started, finished_cost = time.perf_counter(), 0.0
    timed = [i for i, (study, _) in enumerate(cells) if study.kind in ("times", "comparisons")]
    others = [i for i in range(len(cells)) if i not in set(timed)]
    parts = [([cells[i] for i in part], [costs[i] for i in part]) for part in (others, timed)]
    done_costs = chain(_run_all(*parts[0], out, scale, workers), _run_all(*parts[1], out, scale, workers=1))
    for finished, cost in enumerate(done_costs, start=1):
        finished_cost += cost
        pace = (time.perf_counter() - started) / finished_cost
        done(finished, len(cells), pace * (sum(costs) - finished_cost))


def _run_all(
    cells: Sequence[tuple[Study, int]], costs: Sequence[float], out: Path, scale: str, workers: int
) -> Iterable[float]:
    if workers == 1:
        for (study, seed), cost in zip(cells, costs, strict=True):
            run_cell(study, seed, out, scale)
            yield cost
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_follow_the_parent)
    futures = {pool.submit(run_cell, s, seed, out, scale): cost for (s, seed), cost in zip(cells, costs, strict=True)}
    try:
        for future in as_completed(futures):
            future.result()
            yield futures[future]
    except BaseException:
        # Cells that are half done are computed again some other day: nobody waits for them.
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_the_parent() -> None:
    """A worker leaves interrupts to its parent, and ends with it: also with one that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with(parent: BaseProcess) -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with, args=(parent,), daemon=True).start()
