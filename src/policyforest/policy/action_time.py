"""How long one action takes, measured where it is used: in a call from Python."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats, finite_array

# The clock is read around this many calls; around a single one, the cost of reading it would hide the time of the call.
CALLS = 200


def action_time(policy: Any, states: Floats, seconds: float = 0.2) -> float:
    """The median time of ``policy.act(state)`` in seconds, over blocks of calls that cycle through `states`."""
    rows = [np.ascontiguousarray(row) for row in finite_array("states", states, 2)]
    round_trip = (rows * (CALLS // len(rows) + 1))[:CALLS]
    act, clock = policy.act, time.perf_counter
    first = clock()
    act(round_trip[0])
    # A slow policy (an arg max of 100 µs and more) is timed in shorter blocks.
    block = round_trip[: max(1, min(CALLS, int(seconds / 10 / max(clock() - first, 1e-9))))]
    blocks: list[float] = []
    end = clock() + seconds
    while clock() < end or len(blocks) < 3:
        started = clock()
        for state in block:
            act(state)
        blocks.append((clock() - started) / len(block))
    return statistics.median(blocks)
