"""Derived signals: formulas with memory over measured columns, computed in the same way over logs, step by step, and in
C.

    omega = diff(theta, dt)          the change since the last step, divided by dt; the short way round for an angle
    v = ema(speed, 0.2)              an exponential filter: y += 0.2 * (x - y), y = x at first
    s = sin(theta)

A formula becomes a list of simple operations, each on the results of earlier ones. Every operation is defined by
additions, multiplications, divisions and comparisons alone, in a fixed order: Python and the exported C compute the
same bits, which the sine and cosine of two libraries do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SignalRows = NDArray[Any]
WITH_MEMORY = ("diff", "ema")
HIDING = ("/", "sign", "min", "max", "clip", "not", "and", "or", "select", "<", "<=", ">", ">=", "==", "!=")
"""Operations whose result can be finite although an operand is not"""
# pi/2 in three parts of few bits, so that products with small whole numbers are exact (Cody and Waite).
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
SINE = (-1.6666666666666632e-01, 8.333333333322489e-03, -1.984126982985795e-04, 2.755731370707007e-06,
        -2.5050760253406863e-08, 1.58969099521155e-10)  # fmt: skip
COSINE = (4.166666666666660e-02, -1.388888888887411e-03, 2.480158728947673e-05, -2.755731435139066e-07,
          2.087572321298175e-09, -1.1359647557788195e-11)  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One step of a formula: a word, the places of its operands, and numbers that belong to it."""

    word: str
    operands: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()


@dataclass
class Memory:
    """The memory of operations: whether they have seen a step before, and the number that they keep from it."""

    seen: dict[int, bool] = field(default_factory=dict)
    last: dict[int, Any] = field(default_factory=dict)

    def copy(self) -> Memory:
        return Memory(dict(self.seen), dict(self.last))


@dataclass(frozen=True)
class SignalProgram:
    """Several derived signals as one list of operations over the measured columns."""

    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]
    """The operation that gives each derived signal"""

    @property
    def warm_up(self) -> int:
        """Steps before all signals have a value."""
        waits: list[int] = []
        for op in self.operations:
            waits.append(max((waits[i] for i in op.operands), default=0) + (op.word == "diff"))
        return max((waits[i] for i in self.outputs), default=0)

    def run(self, rows: SignalRows, memory: Memory) -> tuple[SignalRows, NDArray[np.bool_]]:
        """Derived signals of rows that follow each other, and where they have a value; `memory` continues."""
        values: list[SignalRows] = []
        ready: list[NDArray[np.bool_]] = []
        real = rows.dtype.type
        with np.errstate(all="ignore"):
            for place, op in enumerate(self.operations):
                given = [values[i] for i in op.operands]
                there = np.logical_and.reduce([ready[i] for i in op.operands] or [np.ones(len(rows), dtype=np.bool_)])
                numbers = [real(x) for x in op.numbers]
                if op.word in WITH_MEMORY:
                    value, there = _remembered(op.word, given[0], there, numbers, memory, place)
                elif op.word == "measured":
                    value = rows[:, int(op.numbers[0])]
                elif op.word == "number":
                    value = np.full(len(rows), numbers[0], dtype=rows.dtype)
                else:
                    value = _plain(op.word, given, real)
                    if op.word in HIDING:
                        value = np.where(_known(op.word, given, real), value, real(np.nan))
                values.append(value)
                ready.append(there)
        chosen = [values[i] for i in self.outputs]
        given_by = [ready[i] for i in self.outputs]
        n = len(rows)
        return (
            np.stack(chosen, axis=1) if chosen else np.empty((n, 0), rows.dtype),
            np.logical_and.reduce(given_by) if given_by else np.ones(n, dtype=np.bool_),
        )


def _remembered(
    word: str, x: SignalRows, there: NDArray[np.bool_], numbers: list[Any], memory: Memory, place: int
) -> tuple[SignalRows, NDArray[np.bool_]]:
    out, ready = np.zeros_like(x), np.zeros(len(x), dtype=np.bool_)
    if word == "diff":
        seen = memory.seen.get(place, False)
        before = np.concatenate([[memory.last.get(place, x.dtype.type(0))], x[:-1]]).astype(x.dtype)
        was = np.concatenate([[seen], there[:-1]])
        change = x - before
        if len(numbers) == 3:
            length = numbers[2] - numbers[1]
            change = change - length * np.floor(change / length + x.dtype.type(0.5))
        out, ready = change / numbers[0], there & was
        if len(x):
            memory.seen[place], memory.last[place] = bool(there[-1]), x[-1]
        return out, ready
    share = numbers[0]
    seen, last = memory.seen.get(place, False), memory.last.get(place)
    for i in range(len(x)):
        if there[i]:
            last = x[i] if not seen else last + share * (x[i] - last)
            seen, out[i] = True, last
    memory.seen[place], memory.last[place] = seen, last
    return out, there


def _known(word: str, given: list[SignalRows], real: Any) -> NDArray[np.bool_]:
    """Where all operands that matter are finite: a division by zero has no value, whatever operations follow."""
    finite: list[NDArray[np.bool_]] = [np.isfinite(x) for x in given]
    known: NDArray[np.bool_] = np.logical_and.reduce(finite)
    match word:
        case "and":
            known = finite[0] & ((given[0] == real(0)) | finite[1])
        case "or":
            known = finite[0] & ((given[0] != real(0)) | finite[1])
        case "select":
            known = finite[0] & np.where(given[0] != real(0), finite[1], finite[2])
    return known


def _plain(word: str, given: list[SignalRows], real: Any) -> Any:
    one, zero = real(1), real(0)
    match word, given:
        case "+", [a, b]:
            return a + b
        case "-", [a, b]:
            return a - b
        case "*", [a, b]:
            return a * b
        case "/", [a, b]:
            return a / b
        case "negative", [a]:
            return -a
        case "abs", [a]:
            return np.where(a < zero, -a, a)
        case "sign", [a]:
            return np.where(a > zero, one, np.where(a < zero, -one, zero))
        case "min", [a, b]:
            return np.where(b < a, b, a)
        case "max", [a, b]:
            return np.where(b > a, b, a)
        case "clip", [a, low, high]:
            return np.where(a < low, low, np.where(a > high, high, a))
        case "not", [a]:
            return np.where(a != zero, zero, one)
        case "and", [a, b]:
            return np.where((a != zero) & (b != zero), one, zero)
        case "or", [a, b]:
            return np.where((a != zero) | (b != zero), one, zero)
        case "select", [test, a, b]:
            return np.where(test != zero, a, b)
        case "wrap", [a]:
            low, length = real(-np.pi), real(np.pi) - real(-np.pi)
            return np.asarray(a - length * np.floor((a - low) / length))
        case "sin" | "cos", [a]:
            return _circle(word, a, real)
        case _, [a, b]:
            compared = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
            return np.where(compared[word], one, zero)
    raise AssertionError(word)


def _circle(word: str, x: SignalRows, real: Any) -> Any:
    """Sine or cosine by reduction to a quarter turn and a polynomial: within 2 units in the last place up to 10^5."""
    quarters = np.floor(x * real(2 / np.pi) + real(0.5))
    y = ((x - quarters * real(HALF_PI[0])) - quarters * real(HALF_PI[1])) - quarters * real(HALF_PI[2])
    square = y * y
    sine = real(SINE[5])
    for c in SINE[4::-1]:
        sine = sine * square + real(c)
    sine = y + y * square * sine
    cosine = real(COSINE[5])
    for c in COSINE[4::-1]:
        cosine = cosine * square + real(c)
    cosine = (real(1) - real(0.5) * square) + square * square * cosine
    turn = quarters - real(4) * np.floor(quarters * real(0.25))
    if word == "cos":
        turn = turn + real(1)
        turn = np.where(turn >= real(4), turn - real(4), turn)
    even = (turn == real(0)) | (turn == real(2))
    value = np.where(even, sine, cosine)
    return np.where(turn >= real(2), -value, value)
