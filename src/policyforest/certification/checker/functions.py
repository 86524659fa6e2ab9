"""Elementary functions of forms, and formulas over them."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest.certification.checker.forms import (
    LARGEST_ANGLE,
    AffineForm,
    Range,
    choose,
    clipped,
    either,
    monotone,
    outwards,
    unbounded,
)

Truths = NDArray[np.bool_]


def power(x: AffineForm, q: float) -> AffineForm:
    """x to a constant power; there is no bound if the range holds a number without a power."""
    if q == 1.0:
        return x
    lo, hi = x.range()
    allowed = lo > 0.0
    if q == math.floor(q):
        allowed = np.full_like(allowed, True) if q >= 0.0 else allowed | (hi < 0.0)
    with np.errstate(all="ignore"):
        low, high = (q * (q - 1.0) * side for side in _powers(lo, hi, q - 2.0))
        bend = outwards(np.minimum(low, high), np.maximum(low, high))
        found = x.smooth(np.power(x.c, q), q * np.power(x.c, q - 1.0), bend, _powers(lo, hi, q))
    return choose(allowed & x.bounded() & found.bounded(), found, unbounded(x))


def _powers(lo: Floats, hi: Floats, q: float) -> Range:
    if q == 0.0:
        return np.ones_like(lo), np.ones_like(lo)
    low, high = monotone(lambda v: np.power(v, q), lo, hi)
    across = (lo < 0.0) & (hi > 0.0)
    return np.where(across, np.minimum(low, 0.0), low), np.where(across, np.maximum(high, 0.0), high)


def sine_range(lo: Floats, hi: Floats) -> Range:
    """The range of the sine; a crest at pi/2 + 2 pi j that may be inside counts."""
    low, high = monotone(np.sin, lo, hi)
    turn, slip = 2 * math.pi, 1e-9

    def inside(crest: float) -> Truths:
        return np.asarray(np.floor((hi - crest + slip) / turn) >= np.ceil((lo - crest - slip) / turn))

    wide = (hi - lo >= turn) | (np.abs(lo) > LARGEST_ANGLE) | (np.abs(hi) > LARGEST_ANGLE)
    high = np.where(wide | inside(math.pi / 2), 1.0, np.minimum(high, 1.0))
    low = np.where(wide | inside(-math.pi / 2), -1.0, np.maximum(low, -1.0))
    return low, high


def sine(x: AffineForm) -> AffineForm:
    lo, hi = x.range()
    low, high = sine_range(lo, hi)
    return _wave(x, np.sin(x.c), np.cos(x.c), (low, high))


def cosine(x: AffineForm) -> AffineForm:
    lo, hi = x.range()
    low, high = sine_range(*outwards(lo + math.pi / 2, hi + math.pi / 2))
    return _wave(x, np.cos(x.c), -np.sin(x.c), (low, high))


def _wave(x: AffineForm, value: Floats, slope: Floats, values: Range) -> AffineForm:
    found = x.smooth(value, slope, (-values[1], -values[0]), values)
    one = np.ones_like(x.c)
    lo, hi = x.range()
    known = x.bounded() & (np.maximum(np.abs(lo), np.abs(hi)) <= LARGEST_ANGLE)
    return choose(known, found, AffineForm.within(-one, one, x.pairs))


def tangent(x: AffineForm) -> AffineForm:
    lo, hi = x.range()
    branch = np.floor(lo / math.pi + 0.5)
    known = x.bounded() & (lo > math.pi * (branch - 0.5) + 1e-9) & (hi < math.pi * (branch + 0.5) - 1e-9)
    known &= np.maximum(np.abs(lo), np.abs(hi)) <= LARGEST_ANGLE
    t = np.tan(x.c)
    low, high = monotone(np.tan, lo, hi)
    found = x.smooth(t, 1 + t * t, outwards(2 * low * (1 + low * low), 2 * high * (1 + high * high)), (low, high))
    return choose(known, found, unbounded(x))


def exponential(x: AffineForm) -> AffineForm:
    values = monotone(np.exp, *x.range())
    return choose(x.bounded(), x.smooth(np.exp(x.c), np.exp(x.c), values, values), unbounded(x))


def logarithm(x: AffineForm) -> AffineForm:
    lo, hi = x.range()
    known = x.bounded() & (lo > 0.0)
    bend = outwards(-1.0 / (lo * lo), -1.0 / (hi * hi))
    return choose(known, x.smooth(np.log(x.c), 1.0 / x.c, bend, monotone(np.log, lo, hi)), unbounded(x))


def hyperbolic_tangent(x: AffineForm) -> AffineForm:
    low, high = monotone(np.tanh, *x.range())
    t, near, far = np.tanh(x.c), _nearest(low, high), np.maximum(np.abs(low), np.abs(high))
    rest = outwards(np.maximum(0.0, 1 - far * far), 1 - near * near)
    one = np.ones_like(x.c)
    found = x.smooth(t, 1 - t * t, _product((-2 * high, -2 * low), rest), (low, high))
    return choose(x.bounded(), found, AffineForm.within(-one, one, x.pairs))


def arc_tangent(x: AffineForm) -> AffineForm:
    lo, hi = x.range()
    near, far = 1 + _nearest(lo, hi) ** 2, 1 + np.maximum(np.abs(lo), np.abs(hi)) ** 2
    bend = _product((-2 * hi, -2 * lo), outwards(1 / far**2, 1 / near**2))
    quarter = np.full_like(x.c, math.pi / 2)
    found = x.smooth(np.arctan(x.c), 1 / (1 + x.c**2), bend, monotone(np.arctan, lo, hi))
    return choose(x.bounded(), found, AffineForm.within(*outwards(-quarter, quarter), x.pairs))


def absolute(x: AffineForm) -> AffineForm:
    lo, hi = x.range()
    with np.errstate(all="ignore"):
        slope, gap = (hi + lo) / (hi - lo), -2 * lo * hi / (hi - lo)
        across = x.times(slope).plus(gap / 2).wider(gap / 2 + x.rounding * (np.abs(lo) + np.abs(hi)))
    across = choose(x.bounded(), across, unbounded(x))
    return choose(lo >= 0.0, x, choose(hi <= 0.0, x.times(-1.0), across))


def smaller(x: AffineForm, y: AffineForm) -> AffineForm:
    """min(x, y); a constant is a limit."""
    return _extreme(x, y, -1)


def larger(x: AffineForm, y: AffineForm) -> AffineForm:
    return _extreme(x, y, 1)


def _extreme(x: AffineForm, y: AffineForm, sign: int) -> AffineForm:
    (a, b), (c, d) = x.range(), y.range()
    x_wins, y_wins = (b <= c, d <= a) if sign < 0 else (a >= d, c >= b)
    for limit, other in ((y, x), (x, y)):
        if (limit.radius == 0.0).all() and len(set(limit.c.tolist())) == 1:
            number = float(limit.c[0])
            sides = (-np.inf, number) if sign < 0 else (number, np.inf)
            return clipped(other, *sides)
    return choose(x_wins, x, choose(y_wins, y, either(x, y)))


def _nearest(lo: Floats, hi: Floats) -> Floats:
    return np.where((lo <= 0.0) & (hi >= 0.0), 0.0, np.minimum(np.abs(lo), np.abs(hi)))


def _product(x: Range, y: Range) -> Range:
    corners = [a * b for a in x for b in y]
    return outwards(np.minimum.reduce(corners), np.maximum.reduce(corners))


def _truth(yes: Truths, no: Truths, like: AffineForm) -> AffineForm:
    """1 where the condition is true, 0 where it is false, and otherwise a number that may be either."""
    zero, one = np.zeros_like(like.c), np.ones_like(like.c)
    cells = len(like.c)
    unsure = AffineForm.within(zero, one, like.pairs)
    known = choose(yes, AffineForm.constant(1.0, cells, like.pairs), AffineForm.constant(0.0, cells, like.pairs))
    return choose(yes | no, known, unsure)


class FormulaBounds:
    """Formulas over named forms; parts that two formulas share are bounded once."""

    def __init__(self, names: Mapping[str, AffineForm], like: AffineForm) -> None:
        self._names, self._like = names, like
        self._known: dict[str, AffineForm] = {}

    def __call__(self, node: ast.expr) -> AffineForm:
        key = ast.unparse(node)
        if key not in self._known:
            self._known[key] = self._bound(node)
        return self._known[key]

    def _bound(self, node: ast.expr) -> AffineForm:
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._number(float(value))
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.Name(id="pi"):
                return self._number(math.pi)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return power(self(left), float(ast.literal_eval(right)))
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(op, self(left), self(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yes, no = self._decided(self(operand))
                return _truth(no, yes, self._like)
            case ast.UnaryOp(op=op, operand=operand):
                return self(operand).times(-1.0) if isinstance(op, ast.USub) else self(operand)
            case ast.BoolOp(op=op, values=values):
                sides = [self._decided(self(value)) for value in values]
                joins = (np.logical_and, np.logical_or) if isinstance(op, ast.And) else (np.logical_or, np.logical_and)
                yes = reduce(joins[0], [side[0] for side in sides])
                return _truth(yes, reduce(joins[1], [side[1] for side in sides]), self._like)
            case ast.Compare(left=left, ops=ops, comparators=others):
                parts = [self(part) for part in (left, *others)]
                held = [self._compared(op, x, y) for op, x, y in zip(ops, parts, parts[1:], strict=False)]
                yes = np.logical_and.reduce([side[0] for side in held])
                return _truth(yes, np.logical_or.reduce([side[1] for side in held]), self._like)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yes, no = self._decided(self(test))
                x, y = self(body), self(orelse)
                return choose(yes, x, choose(no, y, either(x, y)))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._called(name, [self(argument) for argument in args])
        raise ValueError(f"model: holds the formula {ast.unparse(node)!r}, which cannot be checked")

    def _number(self, value: float) -> AffineForm:
        return AffineForm.constant(value, len(self._like.c), self._like.pairs)

    @staticmethod
    def _arithmetic(op: ast.operator, x: AffineForm, y: AffineForm) -> AffineForm:
        match op:
            case ast.Add():
                return x + y
            case ast.Sub():
                return x - y
            case ast.Mult():
                return x * y
        return x * power(y, -1.0)

    @staticmethod
    def _decided(x: AffineForm) -> tuple[Truths, Truths]:
        """Where a condition is certainly true, and certainly false."""
        lo, hi = x.range()
        return (lo > 0.0) | (hi < 0.0), (lo == 0.0) & (hi == 0.0)

    @staticmethod
    def _compared(op: ast.cmpop, x: AffineForm, y: AffineForm) -> tuple[Truths, Truths]:
        (a, b), (c, d) = x.range(), y.range()
        match op:
            case ast.Lt():
                return b < c, a >= d
            case ast.LtE():
                return b <= c, a > d
            case ast.Gt():
                return a > d, b <= c
            case ast.GtE():
                return a >= d, b < c
        same, apart = (a == b) & (c == d) & (a == c), (b < c) | (d < a)
        return (same, apart) if isinstance(op, ast.Eq) else (apart, same)

    def _called(self, name: str, args: list[AffineForm]) -> AffineForm:
        simple = {"sin": sine, "cos": cosine, "tan": tangent, "exp": exponential, "log": logarithm, "abs": absolute}
        simple |= {"tanh": hyperbolic_tangent}
        match name:
            case "sqrt":
                return power(args[0], 0.5)
            case "hypot":
                return power(power(args[0], 2.0) + power(args[1], 2.0), 0.5)
            case "min":
                return smaller(*args)
            case "max":
                return larger(*args)
            case "clip":
                return smaller(larger(args[0], args[1]), args[2])
            case "sign":
                lo, hi = args[0].range()
                one = np.ones_like(lo)
                unsure = AffineForm.within(-one, one, args[0].pairs)
                return choose(lo > 0.0, self._number(1.0), choose(hi < 0.0, self._number(-1.0), unsure))
            case "wrap":
                return self._wrapped(args[0])
            case "atan2":
                return self._angle(*args)
        return simple[name](args[0])

    def _wrapped(self, x: AffineForm) -> AffineForm:
        lo, hi = x.range()
        turns = np.floor((lo + math.pi) / (2 * math.pi))
        low, high = 2 * math.pi * turns - math.pi, 2 * math.pi * turns + math.pi
        half = np.full_like(lo, math.pi)
        moved = x.plus(-2 * math.pi * turns)
        return choose((lo > low + 1e-9) & (hi < high - 1e-9), moved, AffineForm.within(*outwards(-half, half), x.pairs))

    def _angle(self, y: AffineForm, x: AffineForm) -> AffineForm:
        """atan2, by an arc tangent in each part of the plane; any angle if the point may lie in several parts."""
        (a, b), (c, d) = y.range(), x.range()
        beside, over = arc_tangent(y * power(x, -1.0)), arc_tangent(x * power(y, -1.0))
        half = np.full_like(a, math.pi)
        found = AffineForm.within(*outwards(-half, half), x.pairs)
        found = choose((d < 0.0) & (a > 0.0), beside.plus(math.pi), found)
        found = choose((d < 0.0) & (b < 0.0), beside.plus(-math.pi), found)
        found = choose(a > 0.0, over.times(-1.0).plus(math.pi / 2), found)
        found = choose(b < 0.0, over.times(-1.0).plus(-math.pi / 2), found)
        return choose(c > 0.0, beside, found)
