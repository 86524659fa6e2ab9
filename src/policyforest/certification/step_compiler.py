"""Formulas compiled to the core's list of operations: each distinct operation once, in the order of its first use."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

import policyforest._core as _core
from policyforest.certification.equations import Equations
from policyforest.forest.forest import Forest

OPERATIONS = (
    "constant", "input", "add", "subtract", "multiply", "divide", "power", "sin", "cos", "tan", "exp", "log", "tanh",
    "atan", "abs", "min", "max", "sign", "less", "less_equal", "equal", "and", "or", "not", "select", "wrap", "forest",
)  # fmt: skip
"""The core's operations, in its order"""
CODE = {name: code for code, name in enumerate(OPERATIONS)}
ARITHMETIC: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}


class StepCompiler:
    """A growing list of operations; results are referred to by the number of their operation."""

    def __init__(self, n_inputs: int) -> None:
        self.n_inputs = n_inputs
        self._codes: list[tuple[int, int, int, int]] = []
        self._values: list[float] = []
        self._known: dict[tuple[tuple[int, int, int, int], float], int] = {}
        self._forests: list[tuple[Forest, list[int], list[bool]]] = []

    def __len__(self) -> int:
        return len(self._codes)

    def emit(self, name: str, *read: int, value: float = 0.0) -> int:
        """The result of an operation, which is added unless it is already in the list."""
        a, b, c = (*read, *(read[:1] * (3 - len(read))), 0, 0, 0)[:3]
        key = ((CODE[name], a, b, c), value)
        if key not in self._known:
            self._known[key] = len(self._codes)
            self._codes.append(key[0])
            self._values.append(value)
        return self._known[key]

    def number(self, value: float) -> int:
        return self.emit("constant", value=float(value))

    def input(self, i: int) -> int:
        return self.emit("input", i)

    def forest(self, forest: Forest, inputs: Sequence[int], angles: Sequence[bool]) -> int:
        """The prediction of a forest, with its inputs clipped to its box; angles are moved to it by whole turns."""
        self._forests.append((forest, list(inputs), list(angles)))
        return self.emit("forest", len(self._forests) - 1)

    def scaled(self, x: int, factor: float) -> int:
        return self.emit("multiply", self.number(factor), x)

    def added(self, x: int, y: int, factor: float = 1.0) -> int:
        """x + factor * y"""
        return self.emit("add", x, y if factor == 1.0 else self.scaled(y, factor))

    def program(self, outputs: Sequence[int]) -> _core.StepProgram:
        codes = np.array(self._codes, dtype=np.int32).reshape(-1, 4)
        forests = [(forest._native, inputs, angles) for forest, inputs, angles in self._forests]
        return _core.StepProgram(self.n_inputs, codes, np.array(self._values), forests, list(outputs))

    def formula(self, node: ast.expr, names: Mapping[str, int]) -> int:
        """The result of a checked formula over named results."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return self.number(value)
            case ast.Name(id=name):
                return names[name] if name in names else self.number(math.pi)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.emit("power", self.formula(left, names), value=_exponent(right))
            case ast.BinOp(left=left, op=op, right=right):
                return self.emit(ARITHMETIC[type(op)], self.formula(left, names), self.formula(right, names))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.emit("not", self.formula(operand, names))
            case ast.UnaryOp(op=op, operand=operand):
                value = self.formula(operand, names)
                return self.emit("subtract", self.number(0.0), value) if isinstance(op, ast.USub) else value
            case ast.BoolOp(op=op, values=values):
                join = "and" if isinstance(op, ast.And) else "or"
                return reduce(lambda x, y: self.emit(join, x, y), [self.formula(v, names) for v in values])
            case ast.Compare(left=left, ops=ops, comparators=others):
                parts = [self.formula(part, names) for part in (left, *others)]
                holds = [self._compared(op, a, b) for op, a, b in zip(ops, parts, parts[1:], strict=False)]
                return reduce(lambda x, y: self.emit("and", x, y), holds)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.emit("select", *(self.formula(part, names) for part in (test, body, orelse)))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._called(name, [self.formula(argument, names) for argument in args])
        raise AssertionError(f"{ast.dump(node)} was not refused")

    def _compared(self, op: ast.cmpop, a: int, b: int) -> int:
        match op:
            case ast.Lt():
                return self.emit("less", a, b)
            case ast.LtE():
                return self.emit("less_equal", a, b)
            case ast.Gt():
                return self.emit("less", b, a)
            case ast.GtE():
                return self.emit("less_equal", b, a)
            case ast.Eq():
                return self.emit("equal", a, b)
        return self.emit("not", self.emit("equal", a, b))

    def _called(self, name: str, args: list[int]) -> int:
        match name:
            case "sqrt":
                return self.emit("power", *args, value=0.5)
            case "hypot":
                squares = [self.emit("power", x, value=2.0) for x in args]
                return self.emit("power", self.emit("add", *squares), value=0.5)
            case "clip":
                return self.emit("min", self.emit("max", args[0], args[1]), args[2])
            case "atan2":
                return self._angle(*args)
        return self.emit(name, *args)

    def _angle(self, y: int, x: int) -> int:
        """atan2(y, x), by the form of the arc tangent that has no pole at the point."""
        quarter, turn, zero = self.number(math.pi / 2), self.number(math.pi), self.number(0.0)
        over = self.emit("atan", self.emit("divide", x, y))
        beside = self.emit("atan", self.emit("divide", y, x))
        above, below = self.emit("subtract", quarter, over), self.emit("subtract", self.scaled(quarter, -1.0), over)
        left_up, left_down = self.emit("add", beside, turn), self.emit("subtract", beside, turn)
        left = self.emit("select", self.emit("less", y, zero), left_down, left_up)
        flat = self.emit("less", self.emit("abs", y), self.emit("abs", x))
        sides = self.emit("select", self.emit("less", zero, x), beside, left)
        return self.emit("select", flat, sides, self.emit("select", self.emit("less", zero, y), above, below))


def _exponent(node: ast.expr) -> float:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_exponent(node.operand)
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    return float(node.value)


def compile_equations(equations: Equations) -> _core.StepProgram:
    """One control step of a system of equations."""
    n, m = len(equations.states), len(equations.actions)
    compiler = StepCompiler(n + m + len(equations.disturbances))
    held = {name: compiler.input(n + i) for i, name in enumerate((*equations.actions, *equations.disturbances))}
    held |= {name: compiler.number(value) for name, value in equations.parameters.items()}
    bodies = [ast.parse(text.strip(), mode="eval").body for text in equations.formulas.values()]

    def rates(at: list[int]) -> list[int]:
        names = held | dict(zip(equations.states, at, strict=True))
        return [compiler.formula(body, names) for body in bodies]

    def moved(at: list[int], slopes: list[int], by: float) -> list[int]:
        return [compiler.added(x, slope, by) for x, slope in zip(at, slopes, strict=True)]

    here, h = [compiler.input(d) for d in range(n)], equations.time_step
    for _ in range(equations.substeps):
        if equations.method == "map":
            here = rates(here)
        elif equations.method == "euler":
            here = moved(here, rates(here), h)
        else:
            a = rates(here)
            b = rates(moved(here, a, h / 2))
            c = rates(moved(here, b, h / 2))
            d = rates(moved(here, c, h))
            sums = [
                compiler.added(compiler.added(compiler.added(w, x, 2.0), y, 2.0), z)
                for w, x, y, z in zip(a, b, c, d, strict=True)
            ]
            here = moved(here, sums, h / 6)
    return compiler.program(here)


def compile_sensors(equations: Equations) -> _core.StepProgram | None:
    """The inputs of the policy as functions of a state; None if these are the state itself."""
    if not equations.sensors:
        return None
    compiler = StepCompiler(len(equations.states))
    names = {name: compiler.input(d) for d, name in enumerate(equations.states)}
    names |= {name: compiler.number(value) for name, value in equations.parameters.items()}
    bodies = [ast.parse(text.strip(), mode="eval").body for text in equations.sensors.values()]
    return compiler.program([compiler.formula(body, names) for body in bodies])
