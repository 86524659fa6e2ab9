"""Which column means what can be said as one object or name by name."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policyforest as pf
from policyforest.data.readers.columns import ColumnNames

COLUMNS = pf.Columns(
    state=["x", "speed=v"], action=["u"], reward="-(x**2)", terminal="end", truncated="cut", episode="run", time="t"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [
        f"{run},{0.1 * k:.1f},{rng.normal()},{rng.normal()},{rng.uniform(-1, 1)},{int(k == 4)},{int(k == 9)}"
        for run in range(3)
        for k in range(10)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["run,t,x,v,u,end,cut", *lines]))
    return path


def test_an_object_and_keywords_say_the_same(log: Path) -> None:
    names: dict[str, Any] = {field.name: getattr(COLUMNS, field.name) for field in fields(COLUMNS)}
    one, other = pf.read_log(log, COLUMNS), pf.read_log(log, **names)
    assert one.description == other.description
    assert one.transitions.states.tobytes() == other.transitions.states.tobytes()
    assert [column.name for column in one.description.columns] == ["x", "speed", "u"]
    assert one.description.n_terminal == 3
    with pytest.warns(pf.LogWarning):
        assert pf.read_transitions(log, columns=COLUMNS).rewards.tobytes() == one.transitions.rewards.tobytes()


def test_a_column_said_in_both_ways_is_refused(log: Path) -> None:
    message = r"reward: is 'x', must be set as a field of `columns`, which is also given"
    with pytest.raises(ValueError, match=message):
        pf.read_log(log, COLUMNS, reward="x")
    assert len(pf.read_log(log, COLUMNS, reward=None).transitions) > 0


def test_keywords_that_nothing_knows_are_refused(log: Path) -> None:
    unknown: dict[str, Any] = {"stat": ["x"]}
    with pytest.raises(TypeError, match=r"read_transitions\(\) got an unexpected keyword argument 'stat'"):
        pf.read_transitions(log, **unknown)
    with pytest.raises(TypeError, match=r"read_log\(\) got an unexpected keyword argument 'stat'"):
        pf.read_log(log, **unknown)
    other: Any = ["x", "v"]
    with pytest.raises(TypeError, match=r"columns: is \['x', 'v'\], must be Columns\("):
        pf.read_log(log, other)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"state": []}, ValueError, "state: is empty, must name at least one column"),
        ({"action": ","}, ValueError, "action: is empty, must name at least one column"),
        ({"state": ["x", 1]}, TypeError, "state: is 1, must be the name of a column"),
        ({"next_state": [None]}, TypeError, "next_state: is None, must be the name of a column"),
        ({"state": 3}, TypeError, "state: is 3, must be the name of a column"),
        ({"reward": ["r"]}, TypeError, r"reward: is \['r'\], must be the name of a column"),
        ({"time": 0}, TypeError, "time: is 0, must be the name of a column"),
        ({"terminal_marks": "end"}, ValueError, "terminal_marks: is 'end'"),
    ],
)
def test_columns_are_checked_when_they_are_made(
    given: dict[str, Any], error: type[Exception], message: str, log: Path
) -> None:
    with pytest.raises(error, match=message):
        pf.Columns(**given)
    with pytest.raises(error, match=message):
        pf.read_log(log, **given)


def test_several_columns_may_be_one_text_with_commas() -> None:
    assert pf.Columns(state="x, speed=v", action="u") == pf.Columns(state=["x", "speed=v"], action=("u",))


def test_the_keywords_are_the_fields_of_columns() -> None:
    # Read as the text of the annotations: both modules write them without evaluating them.
    assert inspect.get_annotations(ColumnNames).keys() == {field.name for field in fields(pf.Columns)}
    hints = {name: hint.__forward_arg__ for name, hint in inspect.get_annotations(ColumnNames).items()}
    assert hints == {field.name: field.type for field in fields(pf.Columns)}
