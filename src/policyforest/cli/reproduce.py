"""``policyforest reproduce``: the paper's figures and tables, from cells that are computed once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policyforest._support.arguments import one_of, threads
from policyforest._support.extras import import_extra
from policyforest.cli.output import Json, note, print_json, print_table
from policyforest.forest.executors import Executor, Processes, Ray, Threads

if TYPE_CHECKING:
    from policyforest.paper.studies import Study

EXECUTORS = ("threads", "processes", "ray")


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Figures, tables or single studies by name, or 'all'.", metavar="NAME…")
    ] = None,
    scale: Annotated[str, typer.Option(help="'quick': a few seeds; 'paper': as many as in the paper.")] = "quick",
    workers: Annotated[int, typer.Option(help="Processes; -1 for all cores. The result does not depend on them.")] = -1,
    executor: Annotated[
        str,
        typer.Option(help=f"Where the cells are computed: {', '.join(EXECUTORS)}. The result does not depend on it."),
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(help="With --executor ray: host:port of the cluster's head.  [default: a local cluster]"),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of finished cells and figures.")] = Path("results"),
    listed: Annotated[bool, typer.Option("--list", help="List each item with its cost and progress.")] = False,
    json: Json = False,
) -> None:
    """Regenerate the figures and tables of the paper.

    Compares them with the paper's numbers and with the limits. Computes the cells that are missing (a cell is one seed
    of one study), then draws the named figures and tables. Run the same command again to resume."""
    from policyforest.paper import run_studies
    from policyforest.paper.registry import EXHIBITS

    _check(names or [], scale, executor, address, out)
    _convert(out)
    if listed or not names:
        _list(out, scale, json)
        return
    import_extra("scipy", "paper")  # The tables need it; its absence is reported before hours of work.
    chosen = _chosen(names, out, scale)
    with _executor(executor, workers, address) as runner, _progress(quiet=json) as tell:
        run_studies(chosen, out, scale=scale, executor=runner, done=tell)
    _write(out, scale, list(EXHIBITS) if "all" in names else [name for name in names if name in EXHIBITS], json)


def _check(names: Sequence[str], scale: str, executor: str, address: str | None, out: Path) -> None:
    """Refuses wrong or contradictory arguments before anything is written."""
    from policyforest.paper import STUDIES
    from policyforest.paper.registry import EXHIBITS

    one_of("--scale", scale, ("quick", "paper"))
    one_of("--executor", executor, EXECUTORS)
    if address is not None and executor != "ray":
        raise ValueError(f"--address: is '{address}', must be left out without --executor ray")
    for name in names:
        one_of("NAME", name, (*EXHIBITS, *STUDIES, "all"), "policyforest reproduce --list")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: is '{out}', must be a folder")


def _convert(out: Path) -> None:
    """Converts cells that an earlier version stored, one per file."""
    from policyforest.paper import STUDIES
    from policyforest.paper.cell_conversion import convert_old_layout

    if converted := convert_old_layout(out, STUDIES.values()):
        note(f"converted {converted:,} cells in {out}/ from one file per cell to one file per study")


def _chosen(names: Sequence[str], out: Path, scale: str) -> list[Study]:
    """The studies to compute. A damaged cell of any study is refused before that."""
    from policyforest.paper import STUDIES

    for study in STUDIES.values():
        study.results(out, scale)
    chosen = [s for s in STUDIES.values() if not s.on_request] if "all" in names else _studies(names)
    return _computable(chosen, [STUDIES[name] for name in names if name in STUDIES], out, scale)


def _executor(name: str, workers: int, address: str | None) -> Executor:
    """The executor of the cells, which take one processor each; on a cluster, all processors are used."""
    if name == "ray":
        if address is not None and workers != -1:
            raise ValueError(f"--workers: is {workers}, must be left out with --address: a cluster has its own workers")
        return Ray(address) if workers == -1 else Ray(num_cpus=threads(workers, "--workers"))
    if name == "threads" and workers not in (-1, 1):
        raise ValueError(f"--workers: is {workers}, must be 1 or left out with --executor threads: it has one worker")
    return Threads(1) if name == "threads" or threads(workers, "--workers") == 1 else Processes(workers)


def _studies(names: Sequence[str]) -> list[Study]:
    """Those named, and those of the exhibits named, each once."""
    from policyforest.paper import STUDIES
    from policyforest.paper.registry import EXHIBITS

    behind = [study for name in names for study in (EXHIBITS[name].studies if name in EXHIBITS else (name,))]
    return [STUDIES[name] for name in dict.fromkeys(behind)]


def _computable(studies: list[Study], named: Sequence[Study], out: Path, scale: str) -> list[Study]:
    """The studies without those that need a missing extra, whose stored cells are still drawn. Studies requested by
    name are kept, so that their missing extra is reported as an error."""
    missing = [study for study in studies if study.missing(out, scale) and study not in named]
    left_out = [study for study in missing if not study.computable()]
    for study in left_out:
        note(f"{study.name} is skipped: it needs `pip install 'policyforest[{study.extra}]'`")
    return [study for study in studies if study not in left_out]


def _write(out: Path, scale: str, exhibits: Sequence[str], json: bool) -> None:
    from policyforest.paper.result_tables import LIMITS, RETURNS, TIMES, VERDICTS, summary, write_tables

    files = _draw(out, scale, exhibits)
    write_tables(out, scale)
    tables = summary(out, scale)
    if json:
        print_json(tables | {"files": [str(file) for file in files]})
        return
    for name, columns in (("returns", RETURNS), ("times", TIMES), ("limits", LIMITS), ("verdicts", VERDICTS[:2])):
        if tables[name]:
            rows = [[str(row[c]) for c in columns] for row in tables[name]]
            print_table(name.capitalize(), list(columns), rows, list(columns[2:]))
    print(f"Wrote results.md, results.json and {len(files)} other files to {out}/.")


def _draw(out: Path, scale: str, exhibits: Sequence[str]) -> list[Path]:
    """Figures, tables and the report, as far as the libraries for them are installed."""
    from policyforest.paper import paper_report
    from policyforest.paper.exhibit_drawing import draw
    from policyforest.paper.finished_cells import Cells
    from policyforest.paper.result_tables import made_by

    cells, files = Cells(out, scale), []
    try:
        files += draw(exhibits, cells)
        files.append(paper_report.write(cells, out / "report.html", made_by(scale)))
    except ImportError as error:
        note(f"not everything was drawn: {error}")
    return files


def _list(out: Path, scale: str, json: bool) -> None:
    from policyforest.paper import STUDIES
    from policyforest.paper.registry import EXHIBITS

    exhibits, studies = [], []
    for exhibit in EXHIBITS.values():
        done, total, _ = exhibit.progress(out, scale)
        cost = sum(study.cost(scale) * study.seeds[scale] for study in exhibit.cells())
        where = f" ({exhibit.where})" if exhibit.where else ""
        exhibits.append([exhibit.name, exhibit.title + where, _duration(cost), f"{done}/{total}"])
    left = 0.0
    for s in STUDIES.values():
        missing = len(s.missing(out, scale))
        left += 0.0 if s.on_request else missing * s.cost(scale)
        done = s.seeds[scale] - missing
        studies.append([s.name, s.title, _duration(s.cost(scale) * s.seeds[scale]), f"{done}/{s.seeds[scale]}"])
    if json:
        keys = ("name", "what", "one_core", "done")
        lists = {"exhibits": exhibits, "studies": studies}
        made = {kind: [dict(zip(keys, row, strict=True)) for row in rows] for kind, rows in lists.items()}
        print_json({"scale": scale, **made, "missing_seconds": left})
        return
    columns, figures = ["name", "what", "one core", "done"], ["one core", "done"]
    print_table(f"Figures and tables at the scale '{scale}'", columns, exhibits, figures)
    print_table("Studies behind them, and others", columns, studies, figures)
    print(f"The missing cells take about {_duration(left)} on one core.")


def _duration(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int, float], None]]:
    """A bar on standard error with the time left over all cells, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda finished, total, left: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cells"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def tell(finished: int, total: int, left: float) -> None:
            bar.update(task, completed=finished, total=total, left=f"about {_duration(left)} left")

        yield tell
