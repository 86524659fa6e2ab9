"""From the text of derived signals to a list of operations; syntax that is not on a short list is refused."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from policyforest._support.formulas import CONSTANTS, DEEPEST, LONGEST, Expression
from policyforest._support.signal_formulas import Operation, SignalProgram

ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
PLAIN = {"abs": 1, "sign": 1, "sin": 1, "cos": 1, "wrap": 1, "min": 2, "max": 2, "clip": 3}
LARGEST_POWER = 8
MOST_OPERATIONS = 500


def compile_signals(
    texts: Sequence[tuple[str, str]], measured: Sequence[str], period: float | None,
    periodic: Mapping[str, tuple[float, float]],
) -> SignalProgram:  # fmt: skip
    """The program of (name, formula) pairs; a formula may use measured columns and the derived ones before it."""
    compiler = _Compiler(measured, period, periodic)
    for name, text in texts:
        if not isinstance(name, str) or not name.isidentifier() or name in compiler.known:
            raise ValueError(f"derive: {name!r} is the name of a column, must be a new name")
        compiler.known[name] = compiler.compiled(f"derive: {name}", text)
    outputs = tuple(compiler.known[name] for name, _ in texts)
    return SignalProgram(tuple(compiler.operations), outputs)


def derived_pair(text: str) -> tuple[str, str]:
    """The name and the formula of ``name = formula``."""
    name, equals, formula = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals or not name.strip().isidentifier():
        raise ValueError(f"derive: is {text!r}, must be 'name = formula', such as 'omega = diff(theta, dt)'")
    return name.strip(), formula.strip()


class _Compiler:
    def __init__(
        self, measured: Sequence[str], period: float | None, periodic: Mapping[str, tuple[float, float]]
    ) -> None:
        self.operations: list[Operation] = []
        self.period, self.periodic = period, periodic
        self.known = {name: self.add("measured", (), (float(d),)) for d, name in enumerate(measured)}

    def add(self, word: str, operands: tuple[int, ...] = (), numbers: tuple[float, ...] = ()) -> int:
        if len(self.operations) >= MOST_OPERATIONS:
            raise ValueError(f"derive: has more than {MOST_OPERATIONS} operations")
        self.operations.append(Operation(word, operands, numbers))
        return len(self.operations) - 1

    def compiled(self, where: str, text: str) -> int:
        if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST:
            raise ValueError(f"{where}: is {text!r}, must be a formula of at most {LONGEST} characters")
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"{where}: is {text!r}, must be a formula") from None
        return self.node(where, tree.body, 1)

    def node(self, where: str, node: ast.expr, depth: int) -> int:
        if depth > DEEPEST:
            raise ValueError(f"{where}: is nested more than {DEEPEST} levels deep")

        def part(child: ast.expr) -> int:
            return self.node(where, child, depth + 1)

        called = self.called(where, node, depth)
        if called is not None:
            return called
        match node:
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Name() | ast.Constant():
                return self.add("number", (), (self.number(where, node),))
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if (
                not isinstance(power, bool) and 1 <= power <= LARGEST_POWER
            ):
                base = result = part(left)
                for _ in range(power - 1):
                    result = self.add("*", (result, base))
                return result
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return self.add(ARITHMETIC[type(op)], (part(left), part(right)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.add("negative", (part(operand),))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.add("not", (part(operand),))
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                places = [part(value) for value in values]
                for other in places[1:]:
                    places[0] = self.add(word, (places[0], other))
                return places[0]
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                return self.add(COMPARED[type(op)], (part(left), part(right)))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.add("select", (part(test), part(body), part(orelse)))
        raise ValueError(f"{where}: has {_shown(node)!r}, {self.allowed()}")

    def called(self, where: str, node: ast.expr, depth: int) -> int | None:
        """The place of a call's value; None for any other node."""

        def part(child: ast.expr) -> int:
            return self.node(where, child, depth + 1)

        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if PLAIN.get(name) == len(args):
                return self.add(name, tuple(part(argument) for argument in args))
            case ast.Call(func=ast.Name(id="diff"), args=[argument, by], keywords=[]):
                turn: tuple[float, ...] = ()
                if isinstance(argument, ast.Name):
                    turn = self.periodic.get(argument.id, ())
                return self.add("diff", (part(argument),), (self.positive(where, "diff", by), *turn))
            case ast.Call(func=ast.Name(id="ema"), args=[argument, share], keywords=[]):
                alpha = self.positive(where, "ema", share)
                if alpha > 1.0:
                    raise ValueError(f"{where}: ema has the share {alpha:g}, must be above 0 and at most 1")
                return self.add("ema", (part(argument),), (alpha,))
        return None

    def number(self, where: str, node: ast.expr) -> float:
        if isinstance(node, ast.Name):
            if node.id == "dt":
                if self.period is None:
                    given = "give it as period (dt of a log, --dt)"
                    raise ValueError(f"{where}: names dt, but the control period is not known; {given}")
                return self.period
            if node.id in CONSTANTS:
                return CONSTANTS[node.id]
            raise ValueError(f"{where}: names {node.id}, the known names are {', '.join(self.known)}")
        value = Expression(ast.unparse(node))({})[0]
        if not math.isfinite(value):
            raise ValueError(f"{where}: holds the number {value}, must be finite")
        return float(value)

    def positive(self, where: str, word: str, node: ast.expr) -> float:
        if not isinstance(node, ast.Name | ast.Constant):
            raise ValueError(f"{where}: {word} has {_shown(node)!r} as its second argument, must be a number")
        value = self.number(where, node)
        if not value > 0.0:
            raise ValueError(f"{where}: {word} has {value:g} as its second argument, must be above 0")
        return value

    def allowed(self) -> str:
        return (
            f"only names, numbers, pi, dt, + - * / **, comparisons, and, or, not, if … else, {', '.join(PLAIN)}, "
            "diff(x, dt) and ema(x, share) are allowed"
        )


def _shown(node: ast.expr, most: int = 40) -> str:
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "an expression nested too deeply to be shown"
    return text if len(text) <= most else f"{text[:most]}…"
