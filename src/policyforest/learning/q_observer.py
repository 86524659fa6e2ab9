"""Observes Fitted Q Iteration from outside: progress, checkpoints, callbacks, and memory that can be released."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from policyforest.learning.q_checkpoint import QCheckpoint
from policyforest.learning.q_history import QIteration, QState, Settling
from policyforest.learning.q_progress import QClock, QProgress


class QObserver:
    """Observes one fit; used in a ``with`` statement, so that its folder is released however the fit ends."""

    def __init__(
        self,
        progress: Callable[[QProgress], None] | None,
        callback: Callable[[QIteration], None] | None,
        checkpoint: QCheckpoint | None,
    ) -> None:
        self._progress, self._callback, self._checkpoint = progress, callback, checkpoint
        self._clock = QClock(None, 1, 1)
        self._begun = 0.0

    def seed(self, own: int) -> int:
        """The seed of the fit: that of its folder, if it has one."""
        return own if self._checkpoint is None else int(self._checkpoint.settings["seed"])

    def settling(self, own: Settling) -> Settling:
        """The rule that decides when values have settled: that of its folder, if it has one."""
        rule: Settling = own if self._checkpoint is None else self._checkpoint.settings["learner"]["settling"]
        return rule

    def resumed(self, n_last: int) -> QState | None:
        """The state from which the folder's fit continues; None: start from the beginning."""
        return None if self._checkpoint is None else self._checkpoint.read(n_last)

    def start(self, state: QState, most: int) -> None:
        """The fit runs from here to iteration `most` at the latest."""
        self._clock = QClock(self._progress, len(state.history) + 1, most)

    def begin(self, state: QState, keep_forests: bool) -> QState:
        """An iteration begins. Unless `keep_forests`, the last forests are dropped, because the next one needs the
        memory."""
        self._begun = time.perf_counter()
        self._clock.begin(len(state.history) + 1)
        return state if keep_forests else state._replace(last=())

    def trees(self, part: float) -> None:
        """This fraction of the trees is grown."""
        self._clock.trees(part)

    def values(self, part: float) -> None:
        """This fraction of the values is known."""
        self._clock.values(part)

    @property
    def seconds(self) -> float:
        """Seconds since the iteration began."""
        return time.perf_counter() - self._begun

    def finish(self, state: QState, keep_search: bool) -> None:
        """An iteration is done: it is on disk before it is reported. Memory that the search for maxima keeps is
        released if no new samples will need it."""
        if not keep_search:
            state.last[-1].release_search()
        if self._checkpoint is not None:
            self._checkpoint.write(state)
        if self._callback is not None:
            self._callback(state.history[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._checkpoint is not None:
            self._checkpoint.__exit__(kind, error, _)
