"""What all readers return: the rows of a log, with the place of each, and the rows that could not be understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.data.sample_checks import Bools, Ints

OnError = Literal["fail", "skip"]
SHOWN = 5


@dataclass(frozen=True)
class Rows:
    """Rows of one file in their order.

    | field | |
    |---|---|
    | `numbers` | the columns by their names; NaN where an action or a reward was left empty |
    | `lines` | where each row stands: its line, row or message number, from 1 |
    | `breaks` | True for a row that does not follow the row before it: a new episode, or a row between was omitted |
    | `time` | seconds |
    """

    source: str
    numbers: dict[str, Floats]
    lines: Ints
    breaks: Bools
    terminal: Bools | None = None
    truncated: Bools | None = None
    time: Floats | None = None
    unit: str = "line"
    interleaved: bool = False
    """Whether the label of an episode occurs again after the label of another one"""
    observation_space: Box | None = None
    action_space: Box | None = None
    periodic: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Angles that the log itself declares"""
    whole: bool = False
    """Whether the log itself marks where episodes end; if it does, a pause does not end an episode"""

    def __len__(self) -> int:
        return len(self.lines)

    def place(self, row: int) -> str:
        return f"{self.source}, {self.unit} {self.lines[row]}"

    def only(self, kept: Bools) -> Rows:
        """The rows that are kept; the first row after an omitted one is a break."""
        if kept.all():
            return replace(self, breaks=np.append(True, self.breaks[1:])[: len(self)])
        dropped = np.concatenate([[False], ~kept[:-1]])
        # A row is a break if it was one before, or if any row since the last kept one was dropped.
        runs = np.cumsum(self.breaks | dropped)[kept]
        breaks = np.diff(runs, prepend=-1) > 0

        def part(values: NDArray[np.generic] | None) -> NDArray[np.generic] | None:
            return None if values is None else values[kept]

        return Rows(
            self.source,
            {name: values[kept] for name, values in self.numbers.items()},
            self.lines[kept],
            breaks,
            part(self.terminal),  # type: ignore[arg-type]
            part(self.truncated),  # type: ignore[arg-type]
            part(self.time),  # type: ignore[arg-type]
            self.unit,
            self.interleaved,
            self.observation_space,
            self.action_space,
            self.periodic,
            self.whole,
        )


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Joins arrays; a single array is not copied, because logs may be nearly as large as the memory."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass
class Problems:
    """Rows that were not understood: how many, and the first of them with their places and reasons."""

    on_error: OnError = "fail"
    count: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, place: str, reason: str) -> None:
        self.count += 1
        if len(self.shown) < SHOWN:
            self.shown.append(f"{place}: {reason}")

    def settle(self) -> None:
        """With "fail", raises an error if there are any such rows."""
        if self.on_error == "fail" and self.count:
            raise ValueError(f"{self.text()}; correct them, or leave such rows out (on_error='skip', --on-error skip)")

    def text(self) -> str:
        more = f"; and {self.count - len(self.shown)} more" if self.count > len(self.shown) else ""
        rows = "1 row is" if self.count == 1 else f"{self.count:,} rows are"
        return f"{rows} malformed: {'; '.join(self.shown)}{more}"
