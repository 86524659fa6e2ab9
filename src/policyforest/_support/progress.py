"""A bar that shows how far a computation is and about how much time is left, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# The part of the work that is done when a stage of planning begins: processor time, measured on the 6 kg pendulum.
STAGES = {
    "collecting samples": 0.0,
    "learning the model": 0.0,
    "searching for a linear law": 0.01,
    "planning on a grid": 0.01,
    "Fitted Q Iteration": 0.10,
    "fitting the model for": 0.55,
    "by trajectories": 0.70,
    "improving the gains": 0.80,
    "by rollouts": 0.95,
}


def part_done(stage: str) -> float | None:
    """The part of planning that is done when a stage begins; None for a stage of anything else."""
    return next((part for text, part in STAGES.items() if text in stage), None)


def terminal_bar() -> Any:
    """A bar of rich, to be used in a `with` block. The environment variable NO_COLOR turns colours off."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """The time left at the pace so far. Rich's own column waits for several steps, but there are only a few
        stages."""

        def render(self, task: Task) -> Text:
            if not task.total or not task.completed or task.elapsed is None:
                return Text("time left: unknown")
            left = round(task.elapsed * (task.total / task.completed - 1.0))
            return Text(f"about {left // 60}:{left % 60:02d} left")

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeLeft())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def stages_shown(delay: float = 2.0) -> Iterator[Callable[[str], None]]:
    """A function that shows stages of planning, from `delay` seconds on: a bar on a terminal, else a line per stage."""
    if not sys.stderr.isatty():
        started = time.monotonic()

        def tell(stage: str) -> None:
            seconds = time.monotonic() - started
            if seconds >= delay:
                print(f"{stage} (after {seconds:.0f} s)", file=sys.stderr)

        yield tell
        return
    bar = terminal_bar()
    task = bar.add_task("", total=1.0)
    begin = threading.Timer(delay, bar.start)
    begin.start()
    try:
        yield lambda stage: bar.update(task, description=stage, completed=part_done(stage) or 0.0)
    finally:
        begin.cancel()
        begin.join()
        bar.stop()
