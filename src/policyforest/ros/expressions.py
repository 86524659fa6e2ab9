"""Formulas in configuration files: arithmetic over named numbers, and nothing else.

A formula is parsed, every node of it must be on a short list, and only then is it compiled: a file of settings is never
code that could do anything but compute.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

FUNCTIONS: dict[str, Any] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "hypot")},
    "abs": abs,
    "min": min,
    "max": max,
}
CONSTANTS = {"pi": math.pi}
OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
SHAPES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Load)
LONGEST = 1_000


class Formula:
    """A function of named numbers, written as ``-(abs(theta)/pi + (tau/15)**2)`` or ``abs(omega) > 10``."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text
        self._code = _compiled(text, {*names})

    def __call__(self, values: Mapping[str, float]) -> float:
        """Its value; a comparison is 1.0 or 0.0."""
        try:
            # Every node of the code was checked: it can name nothing but numbers and the functions above.
            result = float(eval(self._code, {"__builtins__": {}}, {**FUNCTIONS, **CONSTANTS, **values}))
        except (ArithmeticError, ValueError, TypeError) as error:
            raise ValueError(f"formula {self.text!r}: cannot be computed for {dict(values)} ({error})") from error
        if not math.isfinite(result):
            raise ValueError(f"formula {self.text!r}: is {result} for {dict(values)}, must be finite")
        return result


def _compiled(text: str, names: set[str]) -> CodeType:
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters, at most {LONGEST} are allowed")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        for node in ast.walk(tree):
            _check(node, names)
        return compile(_Floats().visit(tree), "<formula>", "eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"is {text!r}, must be a formula ({error})") from error


def _check(node: ast.AST, names: set[str]) -> None:
    if isinstance(node, (*OPERATORS, *SHAPES)):
        return
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        if not node.keywords:
            return
    elif isinstance(node, ast.Name) and node.id in names | CONSTANTS.keys() | FUNCTIONS.keys():
        return
    what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
    allowed = f"{', '.join(sorted(names))}, pi, numbers, + - * / **, < <= > >=, and, or, not, if"
    raise ValueError(f"has {what!r}, must be a formula of {allowed} and {', '.join(sorted(FUNCTIONS))}")


class _Floats(ast.NodeTransformer):
    """Whole numbers become floating-point ones: 9**9**9 overflows rather than fill the memory."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:  # the name that ast looks for
        value = node.value
        assert isinstance(value, int | float)
        return ast.copy_location(ast.Constant(float(value) if abs(value) < 1e308 else math.inf), node)
