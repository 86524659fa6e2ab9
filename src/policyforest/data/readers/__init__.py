"""Reads logs as samples: CSV, Parquet, NumPy, Minari, ROS bags and MCAP, and recorded Gymnasium episodes.

| module | what it is |
|---|---|
| `log` | `read_transitions`, `read_log`: from a path to samples and a description |
| `columns`, `resolved_columns` | which column means what: as the user states it, and as the log contains it |
| `csv_files`, `parquet_files`, `array_files`, `minari_files`, `ros_bags` | one per format: from a file to `Rows` |
| `resampling` | series at their own times, resampled to the steps of a controller |
| `assembly` | from rows to samples: episodes, next states, terminal flags |
| `log_contents`, `description`, `log_warnings` | what was understood, and what usually goes wrong |
| `datasets` | `as_transitions`: datasets of other libraries in memory |
| `episode_recorder` | `EpisodeRecorder`, a wrapper that records episodes |
"""

from policyforest.data.readers.columns import Columns
from policyforest.data.readers.datasets import as_transitions
from policyforest.data.readers.description import Description, LogWarning
from policyforest.data.readers.episode_recorder import EpisodeRecorder
from policyforest.data.readers.log import read_log, read_transitions
from policyforest.data.readers.log_history import Log

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
