"""The same steps in another form: with a known reward or end, or stacked into the states that policies act on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from policyforest._support.arguments import one_of, whole_number
from policyforest.data.delay import DelaySearch, find_delay
from policyforest.data.known_functions import known_ends, known_rewards
from policyforest.data.plant import KnownFunction
from policyforest.data.signal_options import SignalOptions, make_signals, with_outside_columns
from policyforest.data.stacking import Before, stacked_box, stacked_rows, stacked_space
from policyforest.data.transitions import ROW_FIELDS, Transitions


def judged(data: Transitions, reward: KnownFunction | None, terminal: KnownFunction | None) -> Transitions:
    """See `Transitions.with_known`."""
    if reward is None and terminal is None:
        return data
    known = replace(
        data.plant,
        reward=data.plant.reward if reward is None else reward,
        terminal=data.plant.terminal if terminal is None else terminal,
    ).named(data.states.shape[1], data.actions.shape[1])
    rows: dict[str, Any] = {name: getattr(data, name) for name in ROW_FIELDS}
    steps = (data.states, data.actions, data.next_states)
    if (ends := known.function("terminal")) is not None and terminal is not None:
        unknown = data.terminals & (data.next_states == data.states).all(axis=1)
        rows["terminals"] = known_ends(ends, *steps) | unknown
    if (paid := known.function("reward")) is not None and reward is not None:
        rows["rewards"] = known_rewards(paid, *steps)
    return data._with_rows(rows, known)


def stacked(data: Transitions, options: SignalOptions, before: Before) -> Transitions:
    """See `Transitions.with_signals`."""
    one_of("before", before, ("unknown", "idle"))
    told = with_outside_columns(data.plant, options)
    if told != data.plant:
        data = data._with_rows({name: getattr(data, name) for name in ROW_FIELDS}, told)
    if data.plant.signals is not None:
        raise ValueError("signals: the samples already have signals, must be samples of measurements")
    search = _search(data, options, before)
    delay = _delay(data, options) if search is None else search.delay
    signals = make_signals(data, options, delay)
    if signals.plain:
        return with_search(data, search)
    rows, lost = stacked_rows(data, signals, before)
    limits, periodic = stacked_box(data, signals)
    states, actions = signals.state_names, signals.actions
    plant = replace(data.plant, state_names=states, action_names=actions, signals=signals, delay=delay)
    made = Transitions(
        **rows,
        action_space=data.action_space,
        observation_space=stacked_space(limits),
        state_limits=limits,
        periodic=periodic,
        outside="keep",
        plant=plant,
        n_lost=data.n_lost + lost,
    )
    return with_search(made, search)


def with_search(data: Transitions, search: DelaySearch | None) -> Transitions:
    """The same samples with the evidence for the delay that was found in them."""
    if search is None:
        return data
    same = object.__new__(Transitions)
    vars(same).update(vars(data) | {"delay_search": search})
    return same


def _search(data: Transitions, options: SignalOptions, before: Before) -> DelaySearch | None:
    if options.get("delay", 0) != "auto":
        return None
    return find_delay(data, history=options.get("history", 1), before=before)


def _delay(data: Transitions, options: SignalOptions) -> int:
    given = options.get("delay", 0)
    if isinstance(given, str):
        raise ValueError(f"delay: is {given!r}, must be a whole number or 'auto'")
    delay = whole_number("delay", given, at_least=0)
    longest = int(np.unique(data.episodes, return_counts=True)[1].max())
    if delay >= longest:
        raise ValueError(
            f"delay: is {delay}, must be below {longest}, the number of rows of the longest episode; otherwise no "
            "command acts"
        )
    return delay
