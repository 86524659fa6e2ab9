"""How the rows of a log become samples, whatever its columns mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policyforest._support.arguments import one_of, real_number
from policyforest.data.readers.columns import column_texts
from policyforest.data.readers.rows import OnError


@dataclass(frozen=True)
class ReadingSettings:
    """The checked parameters of `read_log` that are not about columns; `read_log` describes them."""

    period: float | None = None
    max_gap: float | None = None
    time_unit: float = 1.0
    degrees: Sequence[str] = ()
    angles: Sequence[str] = ()
    on_error: OnError = "fail"

    def __post_init__(self) -> None:
        one_of("on_error", self.on_error, ("fail", "skip"))
        if self.period is not None:
            real_number("period", self.period, at_least=1e-9)
        if self.max_gap is not None:
            real_number("max_gap", self.max_gap, at_least=0.0)
        object.__setattr__(self, "time_unit", real_number("time_unit", self.time_unit, at_least=1e-12))
        for name in ("degrees", "angles"):
            object.__setattr__(self, name, column_texts(name, getattr(self, name)) or ())
