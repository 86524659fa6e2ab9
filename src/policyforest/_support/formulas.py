"""Formulas over named columns: arithmetic, comparisons, a few functions, and nothing else.

A formula is parsed by Python's own parser, every node of its tree must be on a short list, and the tree is then walked
by hand over whole columns; it is never compiled or evaluated as code. Its length, its depth and its exponents are
bounded, and all numbers are floating-point ones, so no formula can take more than a few passes over the columns.

    -(theta**2 + 0.1 * omega**2) - 0.01 * torque**2
    -1000 if abs(next_theta) > pi/2 else cos(next_theta) - 1
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from policyforest._support.angles import turned
from policyforest._support.arguments import Floats

CONSTANTS = {"pi": math.pi}
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "abs": (np.abs, 1),
    "sign": (np.sign, 1),
    "sqrt": (np.sqrt, 1),
    "exp": (np.exp, 1),
    "log": (np.log, 1),
    "sin": (np.sin, 1),
    "cos": (np.cos, 1),
    "tan": (np.tan, 1),
    "tanh": (np.tanh, 1),
    "hypot": (np.hypot, 2),
    "atan2": (np.arctan2, 2),
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
    "clip": (np.clip, 3),
    "wrap": (lambda x: turned(x, -np.pi, np.pi), 1),
}
"""Name → function and number of arguments; `wrap` turns an angle into [-pi, pi)"""
OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
LONGEST, DEEPEST, LARGEST_EXPONENT = 1_000, 40, 16.0


class Expression:
    """A checked formula; `names` are the columns that it needs."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"expression: is {text!r}, must be a formula")
        if len(text) > LONGEST:
            raise ValueError(f"expression: has {len(text)} characters, at most {LONGEST} are allowed")
        self.text = text.strip()
        try:
            tree = ast.parse(self.text, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"expression: is {self.text!r}, must be a formula ({_reason(error)})") from None
        names: set[str] = set()
        self._check(tree.body, 1, names)
        self._body = tree.body
        self.names = frozenset(names)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __call__(self, columns: Mapping[str, Floats]) -> Floats:
        """Its value for every row; a comparison is 1 or 0. Rows where it has no value are NaN or infinite, whatever
        operations follow: a division by zero never becomes a plain true or false, and `clip` does not hide it."""
        missing = self.names - columns.keys()
        if missing:
            known = ", ".join(sorted(columns))
            raise ValueError(
                f"expression {self.text!r}: names {', '.join(sorted(missing))}, the known names are {known}"
            )
        n = len(next(iter(columns.values()))) if columns else 1
        with np.errstate(all="ignore"):
            value = self._value(self._body, columns)
        return np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)))

    def _check(self, node: ast.expr, depth: int, names: set[str]) -> None:
        if depth > DEEPEST:
            raise ValueError(f"expression: is nested more than {DEEPEST} levels deep")
        for child in self._parts(node, names):
            self._check(child, depth + 1, names)

    def _parts(self, node: ast.expr, names: set[str]) -> list[ast.expr]:
        """The operands of a node that is allowed; a ValueError for any other."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                _floating(value)
                return []
            case ast.Name(id=name):
                if name not in CONSTANTS:
                    names.add(name)
                return []
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                if isinstance(op, ast.Pow):
                    _check_exponent(right)
                return [left, right]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
                return [operand]
            case ast.BoolOp(values=values):
                return values
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in COMPARISONS for op in ops):
                return [left, *others]
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return [test, body, orelse]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                if len(args) != FUNCTIONS[name][1]:
                    raise ValueError(f"expression: {name} takes {FUNCTIONS[name][1]} arguments, but has {len(args)}")
                return args
        allowed = "names, numbers, pi, + - * / **, < <= > >= == !=, and, or, not, if … else"
        raise ValueError(f"expression: has {_shown(node)!r}, only {allowed} and {', '.join(FUNCTIONS)} are allowed")

    def _value(self, node: ast.expr, columns: Mapping[str, Floats]) -> Any:
        match node:
            case ast.Constant(value=int() | float() as value):
                return np.float64(_floating(value))
            case ast.Name(id=name):
                return columns[name] if name in columns else np.float64(CONSTANTS[name])
            case ast.BinOp(left=left, op=op, right=right):
                operands = [self._value(left, columns), self._value(right, columns)]
                value = OPERATORS[type(op)](*operands)
                # Sums and products propagate values that are not finite; 1/inf and nan**0 would not.
                return _known(value, operands) if isinstance(op, ast.Div | ast.Pow) else value
            case ast.UnaryOp(op=op, operand=operand):
                value = self._value(operand, columns)
                if isinstance(op, ast.Not):
                    return 1.0 - _truth(value)
                return -value if isinstance(op, ast.USub) else value
            case ast.BoolOp(op=op, values=values):
                decided = 0.0 if isinstance(op, ast.And) else 1.0  # later operands do not matter then
                result = _truth(self._value(values[0], columns))
                for other in values[1:]:
                    result = np.where(
                        (result == decided) | np.isnan(result), result, _truth(self._value(other, columns))
                    )
                return result
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [self._value(part, columns) for part in (left, *others)]
                pairs = zip(ops, operands, operands[1:], strict=False)
                holds = [np.asarray(COMPARISONS[type(op)](a, b)) for op, a, b in pairs]
                known = [np.isfinite(part) for part in operands]
                together = np.logical_and.reduce(np.broadcast_arrays(*holds))
                return np.where(np.logical_and.reduce(np.broadcast_arrays(*known)), together, np.nan)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen = _truth(self._value(test, columns))
                value = np.where(chosen == 1.0, self._value(body, columns), self._value(orelse, columns))
                return np.where(np.isnan(chosen), np.nan, value)
            case ast.Call(func=ast.Name(id=name), args=args):
                operands = [self._value(argument, columns) for argument in args]
                return _known(FUNCTIONS[name][0](*operands), operands)
        raise AssertionError(f"{ast.dump(node)} was not refused")


class Formula:
    """An `Expression` of known names for one row at a time; a value that is not finite is an error."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        known = set(names)
        try:
            self._expression = Expression(text)
        except ValueError as error:
            raise ValueError(str(error).removeprefix("expression: ")) from None
        if unknown := self._expression.names - known:
            raise ValueError(
                f"has {', '.join(map(repr, sorted(unknown)))}, the known names are {', '.join(sorted(known))}"
            )

    @property
    def text(self) -> str:
        """The formula as it was written."""
        return self._expression.text

    def __call__(self, values: Mapping[str, float]) -> float:
        """Its value; a comparison is 1.0 or 0.0."""
        result = float(self._expression({name: np.array([value]) for name, value in values.items()})[0])
        if not math.isfinite(result):
            raise ValueError(f"formula {self._expression.text!r}: is {result} for {dict(values)}, must be finite")
        return result


def _known(value: Any, operands: Iterable[Any]) -> Any:
    """The value of an operation; NaN where an operand is not finite, which `clip` or `tanh` would hide."""
    for operand in operands:
        finite = np.isfinite(operand)
        if not finite.all():
            value = np.where(finite, value, np.nan)
    return value


def _truth(value: Any) -> Floats:
    """1 where a value is not 0, else 0; NaN where there is no value."""
    value = np.asarray(value, dtype=np.float64)
    return np.where(np.isfinite(value), (value != 0).astype(np.float64), np.nan)


def _floating(value: float) -> float:
    """Whole numbers of any size become floating-point ones: 9**9**9 overflows rather than fill the memory."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("expression: holds a number that is too large")
    return number


def _check_exponent(node: ast.expr) -> None:
    sign = 1.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1.0
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(sign * value) > LARGEST_EXPONENT:
        raise ValueError(
            f"expression: has the exponent {_shown(node)!r}, must be a number of at most {LARGEST_EXPONENT:g}"
        )


def _shown(node: ast.expr, most: int = 40) -> str:
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "an expression nested too deeply to be shown"
    return text if len(text) <= most else f"{text[:most]}…"


def _reason(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else type(error).__name__
