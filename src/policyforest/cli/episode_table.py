"""What is shown of a run while it explores: one line per episode, and the part of its budget that is used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policyforest.cli.output import QUIET
from policyforest.exploration import EpisodeReport

RunBudget = tuple[int | None, int | None]
"""Episodes and steps of a run, of which at least one is given"""


def part_of_budget(budget: RunBudget, n_episodes: int, n_steps: int) -> float:
    """The part of the budget that is used; the limit that is reached first ends a run."""
    used = zip((n_episodes, n_steps), budget, strict=True)
    return min(1.0, max(done / limit for done, limit in used if limit is not None))


class EpisodeTable:
    """Prints one line per episode, unless --json or --quiet is given, and writes the scalars for TensorBoard."""

    HEAD = f"{'episode':>7} {'plan':>10} {'steps':>6} {'return':>10} {'best':>10} {'coverage':>8} {'planning':>9}"

    def __init__(self, quiet: bool, tensorboard: Path | None, earlier: Sequence[EpisodeReport] = ()) -> None:
        """`earlier`: the stored episodes of a resumed run."""
        self._quiet, self._begun = quiet or QUIET.get(), False
        self._best = max((report.episode_return for report in earlier), default=float("-inf"))
        self._board: Any = None
        if tensorboard is not None:
            from policyforest.report.tensorboard import TensorBoard

            self._board = TensorBoard(tensorboard)

    def __call__(self, report: EpisodeReport) -> None:
        self._best = max(self._best, report.episode_return)
        if not self._quiet:
            if not self._begun:
                print(self.HEAD)
            self._begun = True
            print(
                f"{report.episode + 1:7} {report.kind:>10} {report.steps:6} {report.episode_return:10.4g} "
                f"{self._best:10.4g} {report.coverage:8.3f} {report.plan_seconds:7.2f} s"
            )
            sys.stdout.flush()
        if self._board is not None:
            self._board.episode(report)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()
