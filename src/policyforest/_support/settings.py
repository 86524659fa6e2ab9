"""Settings of learners as plain data, for a policy's info, a checkpoint and a run directory."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

# Metadata of fields that do not change the result: where learning runs, what it stores meanwhile, and where it reports.
HOW = {"how": True}


def plain_settings(learner: Any) -> dict[str, Any]:
    """The numbers and texts among the fields of a dataclass that change the result of learning."""
    values = {f.name: getattr(learner, f.name) for f in fields(learner) if f.metadata != HOW}
    values = {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}
    return {k: v for k, v in values.items() if v is None or isinstance(v, bool | int | float | str)}


def result_settings(learner: Any) -> dict[str, Any]:
    """The settings that the result depends on: neither the seed, which is kept apart, nor the threads."""
    if callable(getattr(learner, "score", None)):
        raise ValueError("score: is a function, must be a name or None for a run whose settings are stored")
    return {k: v for k, v in plain_settings(learner).items() if k not in ("random_state", "n_jobs")}
