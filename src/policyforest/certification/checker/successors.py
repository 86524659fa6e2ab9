"""Bounds of the states to which one move of the closed loop can take each cell, for all cells at once."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Array, Floats
from policyforest._support.formulas import Expression
from policyforest._support.spaces import bounds
from policyforest.certification.checker.forms import UNIT, AffineForm, choose, clipped
from policyforest.certification.checker.functions import FormulaBounds, cosine, power, sine
from policyforest.certification.checker.trees import forest_bounds
from policyforest.policy.policy import Policy

if TYPE_CHECKING:
    from policyforest.export.int16 import QuantisedPolicy

SINGLE = 2.0**-24


@dataclass(frozen=True, eq=False)
class RunningPolicy:
    """The policy as it runs: its forests, their inputs, and how their mean becomes an action."""

    forests: tuple[Mapping[str, Any], ...]
    n_trees: tuple[int, ...]
    actions: Floats
    turns: Mapping[int, tuple[float, float]]
    precision: str
    whole: QuantisedPolicy | None = None

    @classmethod
    def of(cls, policy: Policy, precision: str) -> RunningPolicy:
        if precision == "int16":
            from policyforest.export.int16 import quantise

            whole = quantise(policy)
            sides = np.stack([whole.action_lo, whole.action_hi], axis=1).astype(np.float64)
            turns = {d: (float(lo), float(hi)) for d, (lo, hi) in whole.quantiser.turns.items()}
            forests = tuple(q.forest for q in whole.forests)
            return cls(tuple(f.arrays for f in forests), tuple(map(len, forests)), sides, turns, precision, whole)
        if precision == "float32":
            from policyforest.policy.float32_policy import float32_policy

            policy = float32_policy(policy).rounded
        elif precision != "float64":
            raise ValueError(f"precision: is {precision!r}, must be 'float64', 'float32' or 'int16'")
        arrays = tuple(forest.arrays for forest in policy.forests)
        return cls(arrays, tuple(map(len, policy.forests)), bounds(policy.action_space), policy.periodic, precision)

    def bound(self, states: list[AffineForm], lo: Floats, hi: Floats, own: int) -> list[AffineForm]:
        """The actions for states in closed boxes, rows of lo and hi; `own`: the first unknown of the actions."""
        inputs, low, high, known = self._compared(states, lo, hi)
        actions = []
        for j, arrays in enumerate(self.forests):
            cells, pairs = len(lo), states[0].pairs
            found = forest_bounds(arrays, low, high)
            action = AffineForm.constant(0.0, cells, pairs)
            for x, slope in zip(inputs, found.slopes, strict=True):
                action = action + x.times(slope)
            middle = found.low / 2 + found.high / 2
            rest = np.maximum(found.high - middle, middle - found.low) * (1 + 4 * UNIT)
            unit = {"float64": UNIT, "float32": SINGLE, "int16": 0.0}[self.precision]
            rest = rest + 2 * unit * (self.n_trees[j] + 2 * len(states) + 8) * found.size
            rest = rest + (1e-30 * (1 + found.size) if self.precision == "float32" else 1e-290)
            action = _with_own(action.plus(middle).wider(rest), own + j)
            if self.whole is not None:
                quantised = self.whole.forests[j]
                factor, offset = float(quantised.scale) * self.n_trees[j], float(quantised.offset)
                slip = 2.0**-21 * (abs(factor) * found.size + abs(offset))
                action = _with_own(action.times(factor).plus(offset).wider(slip), own + j)
            least, most = self.actions[j]
            action = _with_own(clipped(action, least, most), own + j)
            anything = AffineForm.within(np.full(cells, least), np.full(cells, most), pairs)
            actions.append(choose(known, action, anything))
        return actions

    def _compared(
        self, states: list[AffineForm], lo: Floats, hi: Floats
    ) -> tuple[list[AffineForm], Floats, Floats, NDArray[np.bool_]]:
        """The inputs of the forests: forms, boxes open below, and whether no angle crosses the end of its turn."""
        inputs, known = [], np.ones(len(lo), dtype=np.bool_)
        low, high = np.empty_like(lo), np.empty_like(hi)
        for d, state in enumerate(states):
            a, b, x = lo[:, d], hi[:, d], state
            if d in self.turns:
                a, b, x, fits = _turned(a, b, state, *self.turns[d], UNIT if self.precision == "float64" else SINGLE)
                known &= fits
            if self.whole is not None:
                q = self.whole.quantiser
                first, scale = float(q.lo[d]), float(q.scale[d])
                far = np.maximum(np.maximum(np.abs(a), np.abs(b)), abs(first))
                # Outside of the box the cell is the outermost one, and does not depend on the state.
                if scale > 0.0:
                    last, slip = first + 65536.0 / scale, 2.0**-22 * far
                    x = choose((a >= first - slip) & (b <= last + slip), x, clipped(x, first, last))
                x = x.plus(-first).times(scale).plus(-32768.5).wider(0.5 + 2.0**-21 * far * scale + 1e-30)
            low[:, d] = np.nextafter(self._number(d, a), -np.inf)
            high[:, d] = self._number(d, b)
            inputs.append(x)
        return inputs, low, high, known

    def _number(self, d: int, x: Floats) -> Floats:
        """The number that is compared, for one state dimension."""
        if self.precision == "float64":
            return x
        if self.whole is None:
            return x.astype(np.float32).astype(np.float64)
        q = self.whole.quantiser
        steps = (x.astype(np.float32) - q.lo[d]) * q.scale[d]
        cells: Floats = np.floor(np.clip(steps, np.float32(0), np.float32(65535))).astype(np.float64) - 32768.0
        return cells


def _turned(
    a: Floats, b: Floats, state: AffineForm, low: float, high: float, unit: float
) -> tuple[Floats, Floats, AffineForm, NDArray[np.bool_]]:
    """A range of angles moved by whole turns into [low, high], and whether it lies in one turn."""
    inside = (a >= low) & (b <= high)
    moved = np.where(inside, 0.0, (high - low) * np.floor((a / 2 + b / 2 - low) / (high - low)))
    slip = np.where(inside, 0.0, 16 * unit * (np.abs(a) + np.abs(b) + abs(low) + abs(high)))
    fits = (a >= low + moved - slip) & (b <= high + moved + slip)
    below, above = np.maximum(low, a - moved - slip), np.minimum(high, b - moved + slip)
    fits &= below <= above
    x = choose(inside, state, state.plus(-moved).wider(2 * slip))
    return np.where(fits, below, low), np.where(fits, above, high), x, fits


def _with_own(x: AffineForm, own: int) -> AffineForm:
    """The error of a form as an unknown of its own, the one with this number."""
    a = np.zeros((max(own + 1, len(x.a)), len(x.c)))
    a[: len(x.a)] = x.a
    a[own] = (np.abs(a[own]) + x.e) * (1 + 16 * UNIT) + 1e-300
    return AffineForm(x.c, np.zeros_like(x.c), a, x.pairs)


def step_of_equations(told: Mapping[str, Any], states: list[AffineForm], held: list[AffineForm]) -> list[AffineForm]:
    """The states after one control step of a system of equations."""
    names = [*told["actions"], *told["disturbances"]]
    like = states[0]
    known = dict(zip(names, held, strict=True))
    known |= {name: AffineForm.constant(float(v), len(like.c), like.pairs) for name, v in told["parameters"].items()}
    for text in told["formulas"].values():
        Expression(text)  # refuses what is no formula
    bodies = [ast.parse(text.strip(), mode="eval").body for text in told["formulas"].values()]

    def rates(at: list[AffineForm]) -> list[AffineForm]:
        bound = FormulaBounds(known | dict(zip(told["formulas"], at, strict=True)), like)
        return [bound(body) for body in bodies]

    def moved(at: list[AffineForm], slopes: list[AffineForm], by: float) -> list[AffineForm]:
        return [x + slope.times(by) for x, slope in zip(at, slopes, strict=True)]

    h = float(told["time_step"])
    for _ in range(int(told["substeps"])):
        if told["method"] == "map":
            states = rates(states)
        elif told["method"] == "euler":
            states = moved(states, rates(states), h)
        elif told["method"] == "runge-kutta":
            k1 = rates(states)
            k2 = rates(moved(states, k1, h / 2))
            k3 = rates(moved(states, k2, h / 2))
            k4 = rates(moved(states, k3, h))
            slopes = [a + b.times(2.0) + c.times(2.0) + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
            states = moved(states, slopes, h / 6)
        else:
            raise ValueError(f"model: its method is {told['method']!r}, which cannot be checked")
    return states


def read_of_equations(told: Mapping[str, Any], states: list[AffineForm]) -> list[AffineForm]:
    """The inputs of the policy as functions of the states of a system of equations."""
    if not told.get("sensors"):
        return states
    like = states[0]
    known = {name: AffineForm.constant(float(v), len(like.c), like.pairs) for name, v in told["parameters"].items()}
    bound = FormulaBounds(known | dict(zip(told["formulas"], states, strict=True)), like)
    for text in told["sensors"].values():
        Expression(text)  # refuses what is no formula
    return [bound(ast.parse(text.strip(), mode="eval").body) for text in told["sensors"].values()]


def sample_dimensions(arrays: Mapping[str, Array]) -> list[int]:
    """For each state, its dimension in a learned model's samples; for an angle of two dimensions, the first of them."""
    second = {int(max(row[:2])) for row in arrays.get("model.circles", ())}
    return [d for d in range(int(arrays["model.shape"][0])) if d not in second]


def read_of_model(arrays: Mapping[str, Array], states: list[AffineForm]) -> list[AffineForm]:
    """The dimensions of a learned model's samples, which the policy reads: states, or cosines and sines of a state."""
    seen = dict(zip(sample_dimensions(arrays), states, strict=True))
    for cosine_at, sine_at, radius in np.asarray(arrays.get("model.circles", np.empty((0, 3)))).tolist():
        angle = seen[int(min(cosine_at, sine_at))]
        seen[int(cosine_at)], seen[int(sine_at)] = cosine(angle).times(radius), sine(angle).times(radius)
    return [seen[d] for d in range(int(arrays["model.shape"][0]))]


def step_of_model(arrays: Mapping[str, Array], states: list[AffineForm], actions: list[AffineForm]) -> list[AffineForm]:
    """The states after one control step of a learned model."""
    seen = read_of_model(arrays, states)
    rows = [seen[int(d)] for d in arrays["model.inputs"]] + actions
    table = np.asarray(arrays["model.table"])
    linear = [AffineForm.constant(1.0, len(states[0].c), states[0].pairs)]
    for x, (centre, scale, turn, _, _) in zip(rows, table.tolist(), strict=True):
        if turn == 0.0:
            reciprocal = power(AffineForm.constant(scale, len(x.c), x.pairs), -1.0)
            linear.append(x.plus(-centre) * reciprocal)
        else:
            linear += [sine(x.times(turn)), cosine(x.times(turn))]
    return [
        state + _output(arrays, number, linear, rows).times(sign)
        for state, (number, sign) in zip(states, _outputs(arrays), strict=True)
    ]


def _outputs(arrays: Mapping[str, Array]) -> list[tuple[int, float]]:
    """The model's output for each state, and its sign. Outputs of angles come last. Such an angle is that of the second
    dimension of a pair to the first, and has the opposite sign if the first is the cosine."""
    pairs = [(int(a), int(b)) for a, b, _ in np.asarray(arrays.get("model.circles", np.empty((0, 3)))).tolist()]
    places = sample_dimensions(arrays)
    signs = {min(pair): -1.0 if pair[0] < pair[1] else 1.0 for pair in pairs}
    order = [d for d in places if d not in signs] + [min(pair) for pair in pairs]
    return [(order.index(d), signs.get(d, 1.0)) for d in places]


def _output(arrays: Mapping[str, Array], number: int, linear: list[AffineForm], rows: list[AffineForm]) -> AffineForm:
    """One predicted change: a polynomial, and a forest."""
    change = AffineForm.constant(0.0, len(linear[0].c), linear[0].pairs)
    coefficients = np.asarray(arrays[f"model.coefficients{number}"]).tolist()
    for value, term in zip(coefficients, _products(linear, len(coefficients)), strict=True):
        change = change + term.times(value)
    if f"model.forest{number}.feature" in arrays:
        table = np.asarray(arrays["model.table"])
        turned = [_within_turn(x, *side) if turn else x for x, (_, _, turn, *side) in zip(rows, table, strict=True)]
        change = change + _forest_form(_forest_arrays(arrays, number), turned, table[:, 3:])
    return change


def _within_turn(x: AffineForm, low: float, high: float) -> AffineForm:
    """An angle moved by whole turns into [low, high]; any angle of the turn if the end of the turn is in its range."""
    below, above, moved, fits = _turned(*x.range(), x, float(low), float(high), UNIT)
    sides = AffineForm.within(np.full_like(below, low), np.full_like(above, high), x.pairs)
    return choose(fits, moved, sides)


def _products(linear: list[AffineForm], count: int) -> list[AffineForm]:
    """1, all z, all products of two z, of three, …: the first `count` of them."""
    terms: list[tuple[AffineForm, int]] = [(z, i) for i, z in enumerate(linear)]
    last = terms[1:]
    while len(terms) < count:
        last = [(linear[i] * x, i) for i in range(1, len(linear)) for x, first in last if first >= i]
        terms += last
    return [x for x, _ in terms[:count]]


def _forest_arrays(arrays: Mapping[str, Array], d: int) -> dict[str, Array]:
    names = ("feature", "split", "child", "node_offsets", "coefficients")
    found = {name: np.asarray(arrays[f"model.forest{d}.{name}"]) for name in names}
    leaves = [int((found["feature"][:end] < 0).sum()) for end in found["node_offsets"].tolist()]
    return found | {"leaf_offsets": np.array(leaves)}


def _forest_form(arrays: Mapping[str, Array], rows: list[AffineForm], box: Floats) -> AffineForm:
    """A forest of forms that are clipped to a box first."""
    kept = [clipped(x, low, high) for x, (low, high) in zip(rows, box.tolist(), strict=True)]
    ranges = [x.range() for x in kept]
    lo = np.stack([np.nextafter(np.maximum(a, low), -np.inf) for (a, _), low in zip(ranges, box[:, 0], strict=True)], 1)
    hi = np.stack([np.minimum(b, high) for (_, b), high in zip(ranges, box[:, 1], strict=True)], 1)
    found = forest_bounds(arrays, lo, hi)
    total = AffineForm.within(found.low, found.high, rows[0].pairs)
    for x, slope in zip(kept, found.slopes, strict=True):
        total = total + x.times(slope)
    return total
