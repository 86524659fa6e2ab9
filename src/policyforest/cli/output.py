"""What the commands print: tables or JSON on standard output, notes and progress on standard error.

Progress is shown only on a terminal; in a pipe a command prints nothing but its result. With ``--quiet`` there are no
notes, warnings and progress either; errors stay.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from policyforest._support.arguments import LARGEST_SEED, real_number, threads, whole_number
from policyforest._support.progress import TaskBar
from policyforest._support.time_left import EqualParts, Stages, stage_number

if TYPE_CHECKING:
    from rich.console import Console

    from policyforest.learning.fitted_q import FittedQIteration
    from policyforest.learning.q_history import QIteration
    from policyforest.learning.q_progress import QProgress

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def _checked_seed(seed: int) -> int:
    return whole_number("--seed", seed, at_least=0, at_most=LARGEST_SEED)


def _checked_jobs(jobs: int) -> int:
    threads(jobs, "--jobs")
    return jobs


def _checked_discount(discount: float | None) -> float | None:
    return None if discount is None else real_number("--discount", discount, at_least=0.0, below=1.0)


def count_option(help: str) -> Any:
    """An option for a number of things, of which there must be at least one."""
    return typer.Option(help=help, callback=_checked_count)


def _checked_count(param: typer.CallbackParam, number: int | None) -> int | None:
    return None if number is None else whole_number(param.opts[0], number, at_least=1)


Seed = Annotated[int, typer.Option(help="The same seed gives the same result.", callback=_checked_seed)]
Jobs = Annotated[
    int,
    typer.Option(
        help="Threads; -1 for all cores, -2 for all but one. The result does not depend on them.",
        callback=_checked_jobs,
    ),
]
Discount = Annotated[
    float | None,
    typer.Option(
        help="The discount per step, in [0, 1).  [default: the problem's own, or 0.98]", callback=_checked_discount
    ),
]
PolicyOutput = Annotated[Path, typer.Option("--output", "-o", help="Where to save the policy.")]

PIPE_WIDTH = 160
# Whether the command that runs was given --quiet.
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


def print_json(content: Mapping[str, Any]) -> None:
    """Prints JSON; numbers that are not finite become null, because JSON cannot represent them."""
    print(json.dumps(_finite(content), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def one_line(text: str, most: int = 2_000) -> str:
    """A text from a file, safe to print: line breaks and control characters are escaped, and its length is limited."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= most else shown[:most] + "…"


def print_pairs(title: str, pairs: Mapping[str, object]) -> None:
    """A title and a line for each name and its value; on a terminal, long values are wrapped under themselves."""
    if not sys.stdout.isatty():
        width = max(map(len, pairs))
        print(title, *(f"{name:<{width}}   {value}" for name, value in pairs.items()), sep="\n")
        return
    from rich.table import Table

    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="dim")
    for name, value in pairs.items():
        table.add_row(name, str(value))
    console = _console()
    console.print(title, style="bold")
    console.print(table)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], figures: Sequence[str] = ()) -> None:
    """A table; the columns named in `figures` are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right" if column in figures else "left")
    for row in rows:
        table.add_row(*row)
    _console().print(table)


def number_of(count: int, thing: str) -> str:
    """For example "1 episode" or "1,200 episodes"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def note(text: str) -> None:
    """A line for people on standard error, unless --quiet is given."""
    if not QUIET.get():
        print(f"note: {text}", file=sys.stderr)


def warn(text: str) -> None:
    """A warning on standard error, unless --quiet is given."""
    if not QUIET.get():
        print(f"warning: {text}", file=sys.stderr)


class ProgressDisplay:
    """Shows the progress of learning."""

    def stage(self, text: str) -> None:
        """A step whose length is not known."""

    def counted(self, text: str, total: float, done: float = 0.0) -> Callable[[float, float], None]:
        """A step of `total` parts, of which `done` were done before; the returned function is called with the number of
        parts done and their total."""
        return lambda done, total: None

    def iterations(self, learner: FittedQIteration) -> None:
        """Fitted Q Iteration begins."""

    def block(self, done: QProgress) -> None:
        """Part of an iteration is done."""

    def iteration(self, done: QIteration) -> None:
        """One of its iterations has ended."""


class _TerminalDisplay(ProgressDisplay):
    """A bar with the time left. `horizon="auto"` may end earlier, because the bar counts the largest possible number of
    iterations."""

    def __init__(self, bar: TaskBar) -> None:
        self._bar = bar
        self._parts = EqualParts()
        self._stages: Stages | None = None

    def stage(self, text: str) -> None:
        number = stage_number(text)
        if number is None:
            self._stages = None
            self._bar.begin(text, EqualParts())
            return
        if self._stages is None:
            self._stages = Stages()
            self._bar.begin(text, self._stages)
        self._stages.begin(number)
        self._bar.describe(text)

    def counted(self, text: str, total: float, done: float = 0.0) -> Callable[[float, float], None]:
        self._stages, parts = None, EqualParts(total, done)
        self._bar.begin(text, parts)
        return lambda done, total: parts.update(done)

    def iterations(self, learner: FittedQIteration) -> None:
        self._stages, self._parts = None, EqualParts(learner.most_iterations())
        self._bar.begin("learning Q", self._parts)

    def block(self, done: QProgress) -> None:
        self._parts.update(done.iteration - 1 + done.done)

    def iteration(self, done: QIteration) -> None:
        self._parts.update(done.iteration)
        self._bar.describe(f"learning Q {done.iteration}, mean value {done.value:.4g}")


@contextmanager
def progress(quiet: bool = False) -> Iterator[ProgressDisplay]:
    """A bar on standard error if that is a terminal, and nothing otherwise."""
    if quiet or QUIET.get() or not sys.stderr.isatty():
        yield ProgressDisplay()
        return
    with TaskBar() as bar:
        yield _TerminalDisplay(bar)


@contextmanager
def training_curves(folder: Path | None) -> Iterator[Callable[[QIteration], None]]:
    """A callback that writes the iterations to a folder for TensorBoard, or does nothing without a folder."""
    if folder is None:
        yield lambda iteration: None
        return
    from policyforest.report.tensorboard import TensorBoard

    with TensorBoard(folder) as written:
        yield written


def _console() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(highlight=False, markup=False, width=width)
