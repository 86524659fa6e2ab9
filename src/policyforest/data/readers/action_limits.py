"""The box of a log's actions: the user's limits, the limits that the log declares, or the extremes of the actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from gymnasium.spaces import Box

from policyforest._support.arguments import Floats
from policyforest.data.readers.resolved_columns import ResolvedColumns

ActionBounds = Mapping[str, tuple[float, float]] | Sequence[tuple[float, float]]
"""Name → (low, high), or one pair for each action"""


def action_box(
    columns: ResolvedColumns, actions: Floats, given: ActionBounds | None, told: Box | None
) -> tuple[Box, bool]:
    """The box of the actions, and whether it holds the extremes of the log's actions."""
    if given is None and told is not None and told.is_bounded():
        return told, False
    names = [column.name for column in columns.action]
    low, high = (actions.min(axis=0), actions.max(axis=0)) if len(actions) else (np.zeros(len(names)),) * 2
    if given is None:
        return Box(low, high, dtype=np.float64), True
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"action_bounds: has {unknown[0]!r}, must have {', '.join(names)}")
        pairs = [given.get(name, (low[d], high[d])) for d, name in enumerate(names)]
    else:
        pairs = list(given) if isinstance(given, Sequence) else []
    try:
        box = np.array(pairs, dtype=np.float64)
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.shape != (len(names), 2) or not (np.isfinite(box).all() and (box[:, 0] < box[:, 1]).all()):
        raise ValueError(f"action_bounds: is {given!r}, must be a pair low < high for each of {', '.join(names)}")
    for d, name in enumerate(names):
        if len(actions) and (low[d] < box[d, 0] or high[d] > box[d, 1]):
            raise ValueError(f"action_bounds: {name} goes from {low[d]:g} to {high[d]:g}, must lie within {pairs[d]}")
    return Box(box[:, 0], box[:, 1], dtype=np.float64), False
