"""Logs that people have, as samples: CSV, Parquet, NumPy, Minari, ROS bags and MCAP, recorded Gymnasium episodes.

| module | what it is |
|---|---|
| `log` | `read_transitions`, `read_log`: from a path to samples and a description |
| `columns` | which column means what |
| `table_files`, `array_files`, `minari_files`, `ros_bags` | one a family of formats: from a file to `Rows` |
| `resampling` | series at their own times, brought to the steps of a controller |
| `assembly` | from rows to samples: episodes, next states, terminal flags |
| `description`, `log_warnings` | what was understood, and what usually goes wrong |
| `datasets` | `as_transitions`: datasets of other libraries in memory |
| `recorder` | `EpisodeRecorder`, a wrapper that records episodes |
"""

from policyforest.data.readers.datasets import as_transitions
from policyforest.data.readers.description import Description, LogWarning
from policyforest.data.readers.log import Log, read_log, read_transitions
from policyforest.data.readers.recorder import EpisodeRecorder

__all__ = ["Description", "EpisodeRecorder", "Log", "LogWarning", "as_transitions", "read_log", "read_transitions"]
