"""Signals number by number: filters, history and actuators in plain Python, in the order of their definition."""

from __future__ import annotations

import math
from itertools import pairwise


def actuated(command: float, before: float, low: float, high: float, rate=math.inf, dead=0.0, quantum=0.0) -> float:
    """What an actuator makes of a command after the action before."""
    u = 0.0 if abs(command) < dead else command
    if quantum > 0:
        first, last = math.ceil(low / quantum), math.floor(high / quantum)
        count = min(max(math.floor(u / quantum + 0.5), first), last)
        if rate < math.inf:
            steps, was = math.floor(rate / quantum + 1e-9), math.floor(before / quantum + 0.5)
            count = min(max(min(max(count, was - steps), was + steps), first), last)
        u = count * quantum
    else:
        u = min(max(u, before - rate), before + rate)
    return min(max(u, low), high)


def differences(values, dt, turn=None):
    """diff(x, dt) of a run; None for the first."""
    out = [None]
    for a, b in pairwise(values):
        change = b - a
        if turn is not None:
            length = turn[1] - turn[0]
            change = change - length * math.floor(change / length + 0.5)
        out.append(change / dt)
    return out


def filtered(values, share):
    """ema(x, share) of a run."""
    out = [values[0]]
    for x in values[1:]:
        out.append(out[-1] + share * (x - out[-1]))
    return out


def stacked(rows, actions, history, past, idle):
    """The state at each row; None where rows are missing. Commands before the run are idle where that is given."""
    states = []
    for t in range(len(rows)):
        if t < history - 1 or (idle is None and t < past):
            states.append(None)
            continue
        state = [x for i in range(history) for x in rows[t - i]]
        for j in range(1, past + 1):
            state += list(actions[t - j] if t >= j else idle)
        states.append(state)
    return states
