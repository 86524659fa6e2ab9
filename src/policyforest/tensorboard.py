"""Training curves for TensorBoard, under the names that Stable-Baselines3 uses where it has one."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any, Self

from policyforest.extras import import_extra
from policyforest.fitted_q import QIteration


class TensorBoard:
    """A callback that writes an event file; close it, or use it in a ``with`` statement.

    | scalar | what |
    |---|---|
    | ``time/iterations``, ``time/time_elapsed`` | iterations, and seconds since the first |
    | ``train/q_change`` | mean change of V since the iteration before |
    | ``train/q_drift`` | the same, relative and with its sign: what ``horizon="auto"`` watches |
    | ``train/q_mean`` | mean of V over the samples |
    | ``train/n_leaves`` | leaves of the Q forest |
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._writer: Any = import_extra("tensorboardX", "tensorboard").SummaryWriter(os.fspath(folder))
        self._elapsed = 0.0

    def __call__(self, iteration: QIteration) -> None:
        self._elapsed += iteration.seconds
        scalars = {
            "time/iterations": iteration.iteration,
            "time/time_elapsed": self._elapsed,
            "train/q_change": iteration.change,
            "train/q_drift": iteration.drift,
            "train/q_mean": iteration.value,
            "train/n_leaves": iteration.n_leaves,
        }
        for name, value in scalars.items():
            self.scalar(name, value, iteration.iteration)

    def scalar(self, name: str, value: float, step: int) -> None:
        """One point of one curve."""
        self._writer.add_scalar(name, value, step, walltime=time.time())

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
