"""Draws exhibits into a folder: a figure as PNG and SVG, a table as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyforest._support.files import replacing
from policyforest.paper.finished_cells import Cells
from policyforest.paper.registry import EXHIBITS, Exhibit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINT_DPI = 200


def module_of(exhibit: Exhibit) -> Any:
    return import_module(f"policyforest.paper.exhibits.{exhibit.module}")


def figure(exhibit: Exhibit, cells: Cells) -> Figure:
    if exhibit.studies and not any(cells.results(name) for name in exhibit.studies if name != "limits"):
        return _empty(exhibit)
    drawn: Figure = module_of(exhibit).draw(cells, exhibit.name)
    return drawn


def _empty(exhibit: Exhibit) -> Figure:
    from policyforest.report.canvas import INK, panels

    made, (axes,) = panels(1, width=6.4, height=1.6)
    axes.axis("off")
    words = f"{exhibit.name}\nnot computed yet"
    axes.text(0.5, 0.5, words, ha="center", va="center", color=INK, transform=axes.transAxes)
    return made


def table(exhibit: Exhibit, cells: Cells) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The columns, and the rows."""
    columns, rows = module_of(exhibit).rows(cells)
    return columns, rows


def draw(names: Iterable[str], cells: Cells) -> list[Path]:
    """Writes the exhibits into the folder "figures" next to the cells, and returns the files."""
    from policyforest.report.canvas import png_bytes, svg_text

    folder = cells.out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for exhibit in (EXHIBITS[name] for name in names):
        if exhibit.kind == "table":
            contents = {".md": _markdown(exhibit, cells).encode()}
        else:
            drawn = figure(exhibit, cells)
            contents = {".png": png_bytes(drawn, PRINT_DPI), ".svg": svg_text(drawn).encode()}
        for suffix, content in contents.items():
            path = folder / f"{exhibit.name}{suffix}"
            with replacing(path) as beside:
                beside.write_bytes(content)
            written.append(path)
    return written


def _markdown(exhibit: Exhibit, cells: Cells) -> str:
    columns, rows = table(exhibit, cells)
    lines = [f"# {exhibit.title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])
