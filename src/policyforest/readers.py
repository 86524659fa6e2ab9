"""Logs as samples (see `policyforest.data.readers`)."""

from policyforest.data.readers import (
    Description,
    EpisodeRecorder,
    Log,
    LogWarning,
    as_transitions,
    read_log,
    read_transitions,
)

__all__ = ["Description", "EpisodeRecorder", "Log", "LogWarning", "as_transitions", "read_log", "read_transitions"]
