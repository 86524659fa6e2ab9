"""What was read of a log, and its samples with a history of rows; samples that this loses are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from policyforest.data.delay import find_delay
from policyforest.data.readers.columns import ColumnNames
from policyforest.data.readers.description import Description
from policyforest.data.signal_options import HistoryOptions
from policyforest.data.transitions import Transitions

# Rows whose time steps vary by more than this part of their median do not have a control period.
VARYING = 0.2


class LogKeywords(ColumnNames, HistoryOptions, total=False):
    """The keywords of `read_log`: the fields of `Columns`, and `HistoryOptions`."""


@dataclass(frozen=True)
class Log:
    """What was read: the samples, and a description of how they were understood."""

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
    """The log with the states that the options ask for."""
    if not signals:
        return log
    found, options = log.description, dict(signals)
    _require_period(found)
    period = found.resampled_to or found.period
    evidence = None
    if options.get("delay") == "auto":
        search = find_delay(log.transitions, history=options.get("history", 1))
        options["delay"], evidence = search.delay, str(search)
    if period is not None:
        options["period"] = period
    data = log.transitions.with_signals(**options)
    return Log(replace(found, n_lost=data.n_lost, n_samples=len(data), delay=evidence), data)


def _require_period(found: Description) -> None:
    """History and filters count rows: each must be a control step."""
    if found.resampled_to is not None or found.period is None or found.jitter is None:
        return
    if found.jitter > VARYING * found.period:
        raise ValueError(
            f"period: the time between rows varies by {found.jitter:.3g} s around {found.period:.3g} s, must be the "
            "same for history, delay and derived signals; give the control period (period=…, --period) to resample"
        )
