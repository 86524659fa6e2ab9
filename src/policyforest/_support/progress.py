"""A bar that shows how far a computation is and about how much time is left, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TextIO

from policyforest._support.time_left import EqualParts, Estimate, Stages, stage_number

BAR_WIDTH = 16
UNKNOWN = "time left unknown"
# The columns besides the description, with a space between them: spinner, bar, elapsed time, time left.
OTHER_COLUMNS = 1 + BAR_WIDTH + len("0:00:00") + len(UNKNOWN) + 4


class TaskBar:
    """One line of a terminal: what is being done, a bar, the time so far and about how much is left.

    The environment variable NO_COLOR turns colours off. What a program prints meanwhile appears above the line if
    standard output is a terminal too."""

    def __init__(self) -> None:
        self._estimate: Estimate = EqualParts()
        self._bar = _rich_bar(lambda: self._estimate)
        self._task = self._bar.add_task("", total=None)

    def begin(self, text: str, estimate: Estimate) -> None:
        """Begins a computation."""
        self._estimate = estimate
        self._bar.reset(self._task, description=text)

    def describe(self, text: str) -> None:
        """Changes the text."""
        self._bar.update(self._task, description=text)

    def start(self) -> None:
        """Shows the line."""
        self._bar.start()

    def stop(self) -> None:
        """Removes the line."""
        self._bar.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def time_left_text(seconds: float | None) -> str:
    """The time left, for people."""
    if seconds is None:
        return UNKNOWN
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes}:{rest:02d} left"


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; a closed one is None."""
    return stream is not None and stream.isatty()


def _rich_bar(estimate: Callable[[], Estimate]) -> Any:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    console = Console(stderr=True)

    class Description(ProgressColumn):
        def render(self, task: Task) -> Text:
            text = Text(task.description)
            text.truncate(max(10, console.width - OTHER_COLUMNS), overflow="ellipsis")
            return text

    class Bar(ProgressColumn):
        def render(self, task: Task) -> ProgressBar:
            share = estimate().share()
            pulse, now = share is None, task.get_time()
            return ProgressBar(total=1.0, completed=share or 0.0, width=BAR_WIDTH, pulse=pulse, animation_time=now)

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(time_left_text(estimate().left()))

    columns = (SpinnerColumn(), Description(), Bar(), TimeElapsedColumn(), TimeLeft())
    return Progress(*columns, console=console, transient=True, redirect_stdout=_is_terminal(sys.stdout))


@contextmanager
def stages_shown(delay: float = 2.0) -> Iterator[Callable[[str], None]]:
    """A function that shows stages of planning, from `delay` seconds on: a bar on a terminal, else a line per stage."""
    if not _is_terminal(sys.stderr):
        started = time.monotonic()

        def tell(stage: str) -> None:
            seconds = time.monotonic() - started
            if seconds >= delay and sys.stderr is not None:  # print would take None for standard output
                print(f"{stage} (after {seconds:.0f} s)", file=sys.stderr)

        yield tell
        return
    bar, stages = TaskBar(), Stages()
    bar.begin("", stages)

    def show(stage: str) -> None:
        number = stage_number(stage)
        if number is not None:
            stages.begin(number)
        bar.describe(stage)

    begin = threading.Timer(delay, bar.start)
    begin.start()
    try:
        yield show
    finally:
        begin.cancel()
        begin.join()
        bar.stop()
