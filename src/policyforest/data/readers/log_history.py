"""The content of a log, and its samples with a history of rows; samples whose history is not known are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from policyforest._support.arguments import real_number
from policyforest.data.readers.columns import ColumnNames
from policyforest.data.readers.description import VARYING, Description
from policyforest.data.readers.log_warnings import Advice
from policyforest.data.signal_options import HistoryOptions
from policyforest.data.transitions import Transitions


class LogKeywords(ColumnNames, HistoryOptions, total=False):
    """The keywords of `read_log`: the fields of `Columns`, `HistoryOptions`, and `dt`: seconds of a control step, for
    derived signals of a log without a time column."""

    dt: float


SIGNAL_KEYWORDS = (*HistoryOptions.__annotations__, "dt")


@dataclass(frozen=True)
class Log:
    """The content of a log: the samples, and a description of how they were understood."""

    description: Description
    _transitions: Transitions | None

    @property
    def transitions(self) -> Transitions:
        """The samples; an error if the log has no reward."""
        if self._transitions is None:
            raise ValueError(
                "reward: is not given and there is no column 'reward'; must be a column or a formula (--reward)"
            )
        return self._transitions


def with_history(log: Log, signals: Mapping[str, Any]) -> Log:
    """The log with the states that the options ask for; `dt` is the control period where rows have no times."""
    found, options = log.description, dict(signals)
    period = _period(found, options.pop("dt", None))
    if not options:
        return log
    _require_period(found)
    if period is not None:
        options["period"] = period
    data = log.transitions.with_signals(**options)
    evidence = None if data.delay_search is None else str(data.delay_search)
    told = (*found.warnings, *_irregular(found))
    return Log(replace(found, n_lost=data.n_lost, n_samples=len(data), delay=evidence, warnings=told), data)


def _period(found: Description, dt: float | None) -> float | None:
    """Seconds of a control step: those between the rows, or `dt` where rows have no times."""
    known = found.resampled_to or found.period
    if dt is None:
        return known
    if not real_number("dt", dt, at_least=0.0) > 0.0:
        raise ValueError(f"dt: is {dt:g}, must be above 0")
    if known is not None and abs(dt - known) > VARYING * known:
        raise ValueError(f"dt: is {dt:g}, must be left out or agree with the {known:.3g} s between rows")
    return float(dt)


def _irregular(found: Description) -> tuple[Advice, ...]:
    """A warning about a few rows that come too late or too early; `_require_period` refuses logs with many."""
    if not found.n_irregular or found.resampled_to is not None:
        return ()
    assert found.period is not None  # rows have times
    many = "1 row does" if found.n_irregular == 1 else f"{found.n_irregular:,} rows do"
    text = (
        f"{many} not come {found.period:.3g} s after the row before, but history, delay and derived signals count "
        "each row as one control step"
    )
    period = float(f"{found.period:.2g}")
    return (
        Advice(
            "irregular",
            text,
            f"resample (--period {period:g}), or end episodes at late rows (--max-gap {1.5 * period:g})",
        ),
    )


def _require_period(found: Description) -> None:
    """History and filters count rows, so each row must be one control step."""
    if found.resampled_to is not None or found.period is None or found.jitter is None:
        return
    if found.jitter > VARYING * found.period:
        raise ValueError(
            f"period: the time between rows varies by {found.jitter:.3g} s around {found.period:.3g} s "
            f"({found.n_irregular:,} of {found.n_rows:,} rows come early or late), must be the same for history, delay "
            "and derived signals; give the control period (period=…, --period) to resample"
        )
