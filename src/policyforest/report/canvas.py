"""Shared parts of all pictures: colours, style, panels, and files. matplotlib is imported when a picture is made.

Figures share nothing: no global state, no window, no display.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from policyforest._support.extras import import_extra
from policyforest._support.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")

BLUE, ORANGE, GREEN, VIOLET, INK, FAINT = "#2a6f97", "#c8553d", "#5b8c5a", "#8a6fb0", "#33383f", "#d9dde2"
DPI = 110

RC_PARAMS = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    # SVG files keep text as text, and use the same ids each time.
    "svg.fonttype": "none",
    "svg.hashsalt": "policyforest",
}


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draws in this module's style, and leaves matplotlib's own settings unchanged."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with matplotlib().rc_context(RC_PARAMS):
            return draw(*args, **kwargs)

    return drawn


def panels(number: int, width: float = 4.6, height: float = 3.8, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """Panels in rows of at most `columns`, each of `width` by `height` inches."""
    columns = min(columns, number)
    rows = -(-number // columns)
    size = (columns * width, rows * height + 0.3)
    figure: Figure = matplotlib().figure.Figure(figsize=size, dpi=DPI, layout="constrained")
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(number)]


def matplotlib() -> Any:
    for module in ("matplotlib.figure", "matplotlib.ticker"):
        import_extra(module, "plot")
    return import_extra("matplotlib", "plot")


def whole_numbers(at_most: int = 9) -> Any:
    """Ticks at whole numbers, a few of them."""
    return matplotlib().ticker.MaxNLocator(nbins=at_most, integer=True)


def legend(axes: Axes, **place: Any) -> None:
    """A legend, if anything in the axes has a label."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**place)


def save_png(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes the picture as a PNG file; an error leaves no partial file."""
    with replacing(path) as beside:
        beside.write_bytes(png_bytes(figure))


def png_bytes(figure: Figure, dpi: float | None = None) -> bytes:
    """The picture as a PNG file, without the date and the software that made it."""
    content = io.BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None}, dpi=dpi or "figure")
    return content.getvalue()


def svg_text(figure: Figure) -> str:
    """The picture as an SVG file, without the date and the software that made it."""
    content = io.StringIO()
    with matplotlib().rc_context(RC_PARAMS):
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    return content.getvalue()
