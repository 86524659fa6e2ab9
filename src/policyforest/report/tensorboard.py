"""Training curves for TensorBoard, under the names that Stable-Baselines3 uses, if it has them."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any, Self

from policyforest._support.extras import import_extra
from policyforest.exploration import EpisodeReport
from policyforest.learning.q_history import QIteration

# Scalars of an episode of `policyforest explore`, with the attribute of its report that holds each.
EPISODE_SCALARS = {
    "rollout/ep_rew_mean": "episode_return",
    "rollout/ep_len_mean": "steps",
    "rollout/coverage": "coverage",
    "time/plan_seconds": "plan_seconds",
}
# Scalars of a Q iteration; "time/time_elapsed" is added to them.
ITERATION_SCALARS = {
    "time/iterations": "iteration",
    "train/q_change": "change",
    "train/q_drift": "drift",
    "train/q_mean": "value",
    "train/n_leaves": "n_leaves",
}
ELAPSED = "time/time_elapsed"

__all__ = ["TensorBoard"]


class TensorBoard:
    """A callback that writes an event file; close it, or use it in a ``with`` statement.

    | scalar | what |
    |---|---|
    | ``time/iterations``, ``time/time_elapsed`` | iterations, and seconds since the first |
    | ``train/q_change`` | mean change of V since the previous iteration |
    | ``train/q_drift`` | how much differences between values still change; ``horizon="auto"`` ends by this number |
    | ``train/q_mean`` | mean of V over the samples |
    | ``train/n_leaves`` | leaves of the Q forest |
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._writer: Any = import_extra("tensorboardX", "tensorboard").SummaryWriter(os.fspath(folder))
        self._elapsed = 0.0

    def __call__(self, iteration: QIteration) -> None:
        self._elapsed += iteration.seconds
        self.scalar(ELAPSED, self._elapsed, iteration.iteration)
        self.scalars(ITERATION_SCALARS, iteration, iteration.iteration)

    def scalars(self, names: dict[str, str], report: object, step: int) -> None:
        """Adds a point to each curve, from the attributes of a report."""
        for name, attribute in names.items():
            self.scalar(name, float(getattr(report, attribute)), step)

    def episode(self, report: EpisodeReport) -> None:
        """Writes the scalars of an episode of an agent that explores."""
        self.scalars(EPISODE_SCALARS, report, report.total_steps)

    def scalar(self, name: str, value: float, step: int) -> None:
        """Adds one point to one curve."""
        self._writer.add_scalar(name, value, step, walltime=time.time())

    def close(self) -> None:
        """Writes the remaining data, and closes the event file."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
