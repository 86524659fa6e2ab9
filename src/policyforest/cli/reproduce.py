"""``policyforest reproduce``: the studies behind the tables, cell by cell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from policyforest.arguments import one_of, threads
from policyforest.cli.output import Json, print_json, print_table


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Studies by name, or 'all'.", metavar="NAME…")] = None,
    scale: Annotated[str, typer.Option(help="'quick': a few seeds; 'paper': as many as the paper has.")] = "quick",
    workers: Annotated[int, typer.Option(help="Processes; -1 for all cores. The result does not depend on them.")] = -1,
    out: Annotated[Path, typer.Option(help="Where finished cells are kept.")] = Path("results"),
    listed: Annotated[bool, typer.Option("--list", help="Say what each study is, costs and how far it is.")] = False,
    json: Json = False,
) -> None:
    """Compute the studies behind the tables; what is there already is not computed again."""
    from policyforest.paper import STUDIES, run_studies
    from policyforest.paper.table import LIMITS, RETURNS, TIMES, summary, write_tables

    one_of("scale", scale, ("quick", "paper"))
    for name in names or []:
        one_of("NAME", name, (*STUDIES, "all"))
    if listed or not names:
        rows = [
            [
                s.name,
                s.title,
                f"{s.seconds * s.seeds[scale] / 60:.0f} min",
                f"{len(s.results(out, scale))}/{s.seeds[scale]}",
            ]
            for s in STUDIES.values()
        ]
        if json:
            keys = ("name", "what", "one_core", "done")
            print_json({"scale": scale, "studies": [dict(zip(keys, row, strict=True)) for row in rows]})
            return
        print_table(f"Studies at the scale '{scale}'", ["name", "what", "one core", "done"], rows, ["one core", "done"])
        return
    chosen = list(STUDIES.values()) if "all" in names else [STUDIES[name] for name in names]

    def tell(finished: int, total: int, left: float) -> None:
        if sys.stderr.isatty() and not json:
            print(f"\r{finished}/{total} cells, about {left / 60:.1f} min left ", end="", file=sys.stderr, flush=True)

    run_studies(chosen, out, scale=scale, workers=threads(workers), done=tell)
    write_tables(out, scale)
    tables = summary(out, scale)
    if json:
        print_json(tables)
        return
    for name, columns in (("returns", RETURNS), ("times", TIMES), ("limits", LIMITS)):
        if tables[name]:
            rows = [[str(row[c]) for c in columns] for row in tables[name]]
            print_table(name.capitalize(), list(columns), rows, list(columns[2:]))
