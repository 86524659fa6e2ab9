"""Formulas compute what Python computes, and can do nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyforest._support.formulas import DEEPEST, FUNCTIONS, LONGEST, Expression

NAMES = {"x": np.array([-2.0, 0.5, 3.0]), "y": np.array([1.0, 0.0, -1.5])}
PLAIN = {
    **{name: getattr(math, name) for name in ("exp", "sin", "cos", "tan", "tanh", "hypot", "atan2")},
    "abs": abs,
    "min": min,
    "max": max,
    "pi": math.pi,
}


def formulas() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["x", "y", "1", "0.25", "pi", "2"])

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        two = st.tuples(inner, inner)
        return st.one_of(
            two.flatmap(lambda ab: st.sampled_from([f"({ab[0]} {op} {ab[1]})" for op in ("+", "-", "*")])),
            two.flatmap(lambda ab: st.sampled_from([f"float({ab[0]} {op} {ab[1]})" for op in ("<", "<=", "==", "!=")])),
            two.map(lambda ab: f"max({ab[0]}, {ab[1]})"),
            two.map(lambda ab: f"({ab[0]} if {ab[1]} > 0 else -{ab[1]})"),
            inner.map(lambda a: f"tanh({a})"),
            inner.map(lambda a: f"({a})**2"),
            inner.map(lambda a: f"abs({a})"),
        )

    return st.recursive(leaf, grow, max_leaves=8)


@given(formulas())
def test_a_formula_has_python_s_own_value_in_every_row(text: str) -> None:
    values = Expression(text.replace("float", ""))(NAMES)
    for i in range(3):
        row = {name: float(column[i]) for name, column in NAMES.items()}
        expected = eval(text, {"__builtins__": {}, "float": float}, {**PLAIN, **row})  # the oracle
        assert values[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)


HIDDEN = ["clip(x / y, -1, 1)", "min(x / y, 1)", "max(-x / y, 1)", "sign(x / y)", "tanh(x / y)", "x / (x / y)",
          "(x / y)**0", "atan2(x / y, 1)", "exp(-abs(x / y))", "clip(log(y), -5, 5)", "abs(clip(sqrt(-1 - y), 0, 1))",
          "min(exp(1000 * (1 - y)), 1)"]  # fmt: skip


@pytest.mark.parametrize("text", HIDDEN)
def test_no_function_hides_a_division_by_zero_or_another_value_that_is_not_finite(text: str) -> None:
    values = Expression(text)({"x": np.array([0.5, 1.0]), "y": np.array([0.0, 2.0])})
    assert not np.isfinite(values[0])
    assert math.isfinite(values[1]) or "sqrt" in text


def test_a_division_by_zero_that_is_not_chosen_does_not_matter() -> None:
    values = Expression("clip(x / y, -1, 1) if y != 0 else 0")({"x": np.ones(2), "y": np.array([0.0, 4.0])})
    assert values.tolist() == [0.0, 0.25]


def test_the_names_it_needs_are_known_before_it_is_computed() -> None:
    assert Expression("-(x**2) + sin(pi * z)").names == {"x", "z"}
    with pytest.raises(ValueError, match="names z, the known names are x, y"):
        Expression("x + z")(NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "x[0]",
        "(lambda: 1)()",
        "[x for x in y]",
        "f'{x}'",
        "'text'",
        "b'x'",
        "True",
        "None",
        "1j",
        "x := 3",
        "x; y",
        "x @ y",
        "x % 2",
        "x // 2",
        "x << 99",
        "~x",
        "x in y",
        "x is y",
        "open(x)",
        "abs(x, y)",
        "abs(*y)",
        "max(a=x)",
        "clip(x)",
        "2**17",
        "x**y",
        "x**2**2",
        "9**9**9",
        "1" * 400,
        "",
        "   ",
        "x +",
        "x" * (LONGEST + 1),
        "(" * 150 + "x" + ")" * 150 + "+",
        "-" * 900 + "x",
        "+".join(["x"] * (DEEPEST + 5)),
        "x\x00",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expression"):
        Expression(text)


def test_no_value_is_not_a_number_rather_than_an_error() -> None:
    assert not np.isfinite(Expression("log(x)")(NAMES)[0])
    assert not np.isfinite(Expression("1 / (y * 0)")(NAMES)).any()


def test_angles_are_wrapped() -> None:
    turned = Expression("wrap(x)")({"x": np.array([0.0, np.pi, 7.0, -7.0, 1e6])})
    assert ((turned >= -np.pi) & (turned < np.pi)).all()
    assert "wrap" in FUNCTIONS


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1/x > 3", [np.nan, 0.0, 1.0]),  # a comparison with what has no value has none
        ("not 1/x > 3", [np.nan, 1.0, 0.0]),
        ("x != 0 and 1/x > 3", [0.0, 0.0, 1.0]),  # what is decided already does not need the rest
        ("x == 0 or 1/x > 3", [1.0, 0.0, 1.0]),
        ("1/x > 3 or x == 0", [np.nan, 0.0, 1.0]),
        ("1/x if x != 0 else 7", [7.0, 1.0, 10.0]),
        ("5 if 1/x > 3 else 6", [np.nan, 6.0, 5.0]),
    ],
)
def test_a_division_by_zero_is_not_hidden_by_a_comparison(text: str, values: list[float]) -> None:
    assert np.array_equal(Expression(text)({"x": np.array([0.0, 1.0, 0.1])}), values, equal_nan=True)
