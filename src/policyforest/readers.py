"""Logs as samples (see `policyforest.data.readers`)."""

from policyforest.data.readers import (
    Columns,
    Description,
    EpisodeRecorder,
    Log,
    LogWarning,
    as_transitions,
    read_log,
    read_transitions,
)

__all__ = [
    "Columns",
    "Description",
    "EpisodeRecorder",
    "Log",
    "LogWarning",
    "as_transitions",
    "read_log",
    "read_transitions",
]
