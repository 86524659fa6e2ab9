"""Formulas of derived signals and actuators: their values, and divisions by zero."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import policyforest as pf
from oracles import signals as oracle
from policyforest._support.signal_formulas import Memory
from policyforest._support.signals import Actuators, Signals
from signal_samples import ACTIONS, some_policy

numbers = st.floats(-5, 5, allow_subnormal=False).map(lambda x: round(x, 6))


@given(
    st.lists(st.tuples(numbers, numbers), min_size=2, max_size=12),
    st.floats(0.01, 2.0),
    st.floats(0.05, 1.0),
)
def test_filters_are_what_they_say(rows, dt, share):
    made = Signals(
        ("x", "y"), ("u",), derived=(("dx", "diff(x, dt)"), ("f", f"ema(y, {share!r})"), ("g", f"ema(dx, {share!r})")),
        period=dt,
    )  # fmt: skip
    values, ready = made.program.run(np.array(rows), Memory())
    xs, ys = zip(*rows, strict=True)
    change = oracle.differences(xs, dt)
    assert ready.tolist() == [False] + [True] * (len(rows) - 1)
    assert values[1:, 0].tolist() == change[1:]
    assert values[:, 1].tolist() == oracle.filtered(ys, share)
    assert values[1:, 2].tolist() == oracle.filtered(change[1:], share)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=50))
def test_sine_and_cosine_are_within_rounding(xs):
    made = Signals(("x",), ("u",), derived=(("s", "sin(x)"), ("c", "cos(x)")))
    values, _ = made.program.run(np.array(xs)[:, None], Memory())
    assert values[:, 0] == pytest.approx(np.sin(xs), rel=0, abs=3e-16)
    assert values[:, 1] == pytest.approx(np.cos(xs), rel=0, abs=3e-16)


def test_the_difference_of_an_angle_goes_the_short_way_round():
    made = Signals(
        ("x",), ("u",), derived=(("w", "diff(x, 0.5)"),), periodic=(("x", -math.pi, math.pi),)
    )  # fmt: skip
    rows = [3.1, -3.1, 3.0]
    values, _ = made.program.run(np.array(rows)[:, None], Memory())
    assert values[1:, 0].tolist() == oracle.differences(rows, 0.5, (-math.pi, math.pi))[1:]
    assert abs(values[1, 0]) < 0.2


@given(
    numbers, numbers, st.sampled_from([math.inf, 0.3, 1.0]), st.sampled_from([0.0, 0.4]), st.sampled_from([0.0, 0.25])
)
def test_actuators_are_what_they_say(command, before, rate, dead, quantum):
    command, before = np.clip([command, before], -2, 2)
    if quantum:
        before = quantum * math.floor(before / quantum)
    limits = Actuators((rate,), (dead,), (quantum,)).checked(np.array([[-2.0, 2.0]]))
    found = limits.applied(np.array([[command]]), np.array([[before]]), np.array([[-2.0, 2.0]]))[0, 0]
    assert found == oracle.actuated(command, before, -2.0, 2.0, rate, dead, quantum)
    assert abs(found - before) <= rate * (1 + 1e-12)


@pytest.mark.parametrize("formula", [
    "clip(x / y, -1, 1)", "min(x / y, 1)", "max(-x / y, 1)", "sign(x / y)", "x / (x / y)", "1 if x / y > 0 else 0",
    "not x / y", "x > 5 or x / y", "x < 5 and x / y", "ema(clip(x / y, -1, 1), 0.5)", "abs(sign(y / y))",
])  # fmt: skip
def test_a_division_by_zero_in_a_derived_signal_is_not_hidden(formula):
    signals = Signals(("x", "y"), ("u",), derived=(("q", formula),))
    controller = some_policy(signals).controller()
    controller.reset()
    assert controller.step([1.0, 2.0]).shape == (1,)
    with pytest.raises(ValueError, match=r"q = .* is not finite at"):
        controller.step([1.0, 0.0])
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 3.0], [1.0, 4.0]])
    data = pf.Transitions(
        rows[:-1], np.zeros((3, 1)), np.zeros(3), rows[1:], np.zeros(3, bool), np.zeros(3, int), action_space=ACTIONS,
        plant=pf.Plant(("x", "y"), ("u",)),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"derive: q = .* at .*1.0, 0.0.*is there a division by zero"):
        data.with_signals(derive=[f"q = {formula}"])


@pytest.mark.parametrize("formula", ["x / y if y > 0 else 0", "y > 0 and x / y", "y == 0 or x / y", "x / max(y, 1)"])
def test_a_division_that_does_not_matter_is_no_error(formula):
    signals = Signals(("x", "y"), ("u",), derived=(("q", formula),))
    controller = some_policy(signals).controller()
    controller.reset()
    controller.step([1.0, 0.0])
    assert np.isfinite(controller.state).all()


def test_a_dead_zone_needs_zero_among_the_actions():
    with pytest.raises(ValueError, match=r"dead_zone\[0\]: is 0.1, but 0 is not an action in \[1, 2\]"):
        Actuators(dead_zone=(0.1,)).checked(np.array([[1.0, 2.0]]))
