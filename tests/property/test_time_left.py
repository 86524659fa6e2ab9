"""The estimate of the time left, with a clock that the tests set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyforest._support.progress import time_left_text
from policyforest._support.time_left import STAGES, EqualParts, Stages, stage_number

PAUSES = st.lists(st.floats(0.0, 500.0), min_size=1, max_size=4)
RUNS = st.lists(st.tuples(st.integers(0, len(STAGES) - 1), PAUSES), min_size=1, max_size=8)


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(RUNS)
def test_between_two_stages_the_time_left_only_falls_and_stays_above_zero(run: list[tuple[int, list[float]]]) -> None:
    clock = Clock()
    stages = Stages(clock)
    for stage, pauses in sorted(run):
        stages.begin(stage)
        before = stages.left()
        for pause in pauses:
            clock.now += pause
            after = stages.left()
            assert before is not None
            assert after is not None
            assert 0.0 < after <= before
            before = after


@given(RUNS)
def test_the_share_of_planning_never_falls(run: list[tuple[int, list[float]]]) -> None:
    clock = Clock()
    stages, shown = Stages(clock), 0.0
    for stage, pauses in sorted(run):
        stages.begin(stage)
        for pause in (0.0, *pauses):
            clock.now += pause
            share = stages.share()
            assert share is not None
            assert shown <= share < 1.0
            shown = share


@given(st.lists(st.tuples(st.floats(0.0, 100.0), PAUSES), min_size=1, max_size=8), st.floats(0.0, 99.0))
def test_between_two_reports_of_parts_the_time_left_only_falls(
    reports: list[tuple[float, list[float]]], begun: float
) -> None:
    clock = Clock()
    parts, shown = EqualParts(100.0, begun, clock), 0.0
    for done, pauses in reports:
        parts.update(done)
        before = parts.left()
        for pause in pauses:
            clock.now += pause
            after, share = parts.left(), parts.share()
            assert (before is None) == (after is None)
            assert before is None or after is None or 0.0 <= after <= before
            assert share is not None
            assert shown <= share <= 1.0
            before, shown = after, share


def expected_after(number: int) -> float:
    return sum(stage.seconds * stage.share for stage in list(STAGES.values())[number + 1 :])


def test_later_stages_count_in_proportion_to_the_plans_that_have_them() -> None:
    clock = Clock()
    stages = Stages(clock)
    for number, stage in enumerate(STAGES.values()):
        stages.begin(number)
        assert stages.left() == pytest.approx(stage.seconds + expected_after(number))
        clock.now += stage.seconds


def test_slow_stages_raise_the_estimate_of_later_ones() -> None:
    """Here each stage takes ten times as long as usual."""
    clock = Clock()
    stages, ratios = Stages(clock), []
    for number, stage in enumerate(STAGES.values()):
        stages.begin(number)
        left = stages.left()
        assert left is not None
        ratios.append(left / (stage.seconds + expected_after(number)))
        clock.now += 10.0 * stage.seconds
    assert ratios[0] == pytest.approx(1.0)
    assert ratios == sorted(ratios)
    assert 8.0 < ratios[-1] < 10.0


def test_a_stage_that_was_left_out_counts_no_longer_once_a_later_one_begins() -> None:
    clock = Clock()
    stages, usual = Stages(clock), list(STAGES.values())
    stages.begin(0)
    clock.now += usual[0].seconds
    stages.begin(len(usual) - 1)
    assert stages.left() == pytest.approx(usual[-1].seconds)


def test_parts_that_were_done_before_say_nothing_about_the_pace() -> None:
    """A run of 100 episodes that is resumed after 60: 10 more in 5 s leave 30 for 15 s."""
    clock = Clock()
    parts = EqualParts(100.0, 60.0, clock)
    assert (parts.share(), parts.left()) == (0.6, None)
    clock.now = 5.0
    parts.update(70.0)
    assert (parts.share(), parts.left()) == (0.7, 15.0)
    clock.now = 9.0
    assert parts.left() == 11.0


def test_work_of_unknown_length_has_neither_share_nor_time_left() -> None:
    parts, stages = EqualParts(), Stages()
    parts.update(1.0)
    assert (parts.share(), parts.left()) == (None, None)
    assert (stages.share(), stages.left()) == (None, None)


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("learning the model", 0),
        ("planning on a grid of states", 1),
        ("improving fpf-pwl by rollouts", len(STAGES) - 1),
        ("collecting samples", None),
        ("planning from 1,000 samples", None),
    ],
)
def test_stages_of_planning_are_known_by_their_text(stage: str, number: int | None) -> None:
    assert stage_number(stage) == number


def test_the_time_left_is_shown_in_minutes_and_seconds() -> None:
    assert [time_left_text(s) for s in (None, 0.2, 59.6, 3661.0)] == [
        "time left unknown",
        "about 0:00 left",
        "about 1:00 left",
        "about 61:01 left",
    ]
