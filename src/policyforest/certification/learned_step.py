"""A learned model as plain numbers: stored in a certificate, compiled by the search, and read by the checker.

The change of state dimension d is c · phi(x) + F(x), where x are the used state dimensions and the actions, phi are
products of the scaled inputs (sine and cosine of angles) and F is a forest over the inputs, clipped to the range of the
samples.

Two dimensions of the samples that are the cosine and the sine of an angle are one state here: the angle, whose change
the model predicts. The samples' dimensions are then functions of the states, which have no jump after a whole turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Array, Floats
from policyforest.certification.step_compiler import StepCompiler
from policyforest.forest.forest import Forest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.regression import fit_output

FOREST_ARRAYS = ("feature", "split", "child", "node_offsets", "coefficients")


class Circle(NamedTuple):
    """Two dimensions of the samples that are the cosine and the sine of an angle, times a radius."""

    cosine: int
    sine: int
    radius: float


@dataclass(frozen=True, eq=False)
class LearnedStep:
    """One control step of a learned model."""

    n_read: int
    """The number of dimensions of the samples, which the policy reads"""
    n_actions: int
    inputs: tuple[int, ...]
    """The dimensions of the samples that the model reads"""
    table: Floats
    """A row (centre, scale, turn, low, high) for each used state dimension and action"""
    coefficients: tuple[Floats, ...]
    """Coefficients of each output, the plain dimensions before the angles; empty: no polynomial"""
    forests: tuple[Forest | None, ...]
    turns: Mapping[int, tuple[float, float]]
    """Dimensions of the samples that are angles"""
    circles: tuple[Circle, ...] = ()

    @classmethod
    def of(cls, model: DynamicsModel) -> LearnedStep:
        """The dynamics of a model; parts that no certificate covers are a ValueError."""
        structure = model.structure
        n_read, n_actions = model.transitions.states.shape[1], model.transitions.actions.shape[1]
        if model.transitions.plant.signals is not None or structure.copies:
            raise ValueError(
                "model: its samples have history or actuators, which certificates do not support; must have states "
                "that hold all that the next state depends on"
            )
        names = model.transitions.plant.state_names
        if structure.relations:
            computed = ", ".join(names[relation.dimension] for relation in structure.relations)
            raise ValueError(f"model: {computed} is a function of other states, must be left out of the samples")
        if any(choice.kind.base == "kernel" for choice in model.choices):
            raise ValueError(
                "model: has Gaussian processes, must be learned without them: DynamicsForest(kernels=False)"
            )
        rows = np.arange(len(model.transitions))
        how: dict[str, Any] = {"n_estimators": model.n_estimators, "seed": model.seed, "n_jobs": model.n_jobs}
        fitted = [
            fit_output(choice.kind, model.inputs, model.targets[:, j], rows, **how)
            for j, choice in enumerate(model.choices)
        ]
        table = model.inputs.table
        forests = tuple(None if f.forest is None else _within(f.forest, table[:, 3:]) for f in fitted)
        coefficients = tuple(np.asarray(f.coefficients, dtype=np.float64) for f in fitted)
        turns = dict(model.transitions.periodic)
        circles = tuple(_circle(i, j, radius, names) for i, j, radius in structure.circles)
        return cls(n_read, n_actions, tuple(structure.inputs), table, coefficients, forests, turns, circles)

    @property
    def places(self) -> tuple[int, ...]:
        """The dimension of the samples of each state; for an angle of two dimensions the first of them."""
        second = {max(circle.cosine, circle.sine) for circle in self.circles}
        return tuple(d for d in range(self.n_read) if d not in second)

    @property
    def n_states(self) -> int:
        return len(self.places)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The number of each state's output."""
        angles = [min(circle.cosine, circle.sine) for circle in self.circles]
        order = [*(d for d in self.places if d not in angles), *angles]
        return tuple(order.index(d) for d in self.places)

    @property
    def periodic(self) -> dict[int, tuple[float, float]]:
        """State → turn of its angle."""
        angles = {min(circle.cosine, circle.sine): (-math.pi, math.pi) for circle in self.circles}
        return {self.places.index(d): turn for d, turn in sorted((dict(self.turns) | angles).items())}

    def state_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the states, from those of the samples."""
        angles = {min(c.cosine, c.sine): f"angle({names[c.cosine]}, {names[c.sine]})" for c in self.circles}
        return tuple(angles.get(d, names[d]) for d in self.places)

    def states(self, rows: Floats) -> Floats:
        """The states of rows of samples."""
        found: Floats = rows[:, list(self.places)].copy()
        for circle in self.circles:
            place = self.places.index(min(circle.cosine, circle.sine))
            found[:, place] = np.arctan2(rows[:, circle.sine], rows[:, circle.cosine])
        return found

    def arrays(self) -> dict[str, Array]:
        """All numbers of the step as arrays, for files and digests."""
        turns = [[d, *turn] for d, turn in sorted(self.turns.items())]
        found: dict[str, Array] = {
            "model.shape": np.array([self.n_read, self.n_actions], dtype=np.int64),
            "model.inputs": np.array(self.inputs, dtype=np.int64),
            "model.table": np.ascontiguousarray(self.table),
            "model.periodic": np.array(turns, dtype=np.float64).reshape(-1, 3),
        }
        if self.circles:
            found["model.circles"] = np.array(self.circles, dtype=np.float64)
        for j, (coefficients, forest) in enumerate(zip(self.coefficients, self.forests, strict=True)):
            found[f"model.coefficients{j}"] = coefficients
            if forest is not None:
                arrays = forest.arrays
                found |= {f"model.forest{j}.{name}": np.asarray(arrays[name]) for name in FOREST_ARRAYS}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> LearnedStep:
        """The inverse of `arrays`; arrays that do not fit are a ValueError."""
        n_read, n_actions = (int(n) for n in arrays["model.shape"])
        table = np.asarray(arrays["model.table"], dtype=np.float64)
        inputs = tuple(int(d) for d in arrays["model.inputs"])
        if table.shape != (len(inputs) + n_actions, 5) or not all(0 <= d < n_read for d in inputs):
            raise ValueError("model: its inputs do not match its table")
        circles = tuple(Circle(int(i), int(j), float(r)) for i, j, r in arrays.get("model.circles", np.empty((0, 3))))
        forests = []
        for j in range(n_read - len(circles)):
            parts: dict[str, Any] = {name: arrays.get(f"model.forest{j}.{name}") for name in FOREST_ARRAYS}
            known = parts["feature"] is not None
            forests.append(Forest.from_arrays(**parts, box=table[:, 3:]) if known else None)
        coefficients = tuple(
            np.asarray(arrays[f"model.coefficients{j}"], dtype=np.float64) for j in range(len(forests))
        )
        turns = {int(d): (float(low), float(high)) for d, low, high in arrays["model.periodic"]}
        return cls(n_read, n_actions, inputs, table, coefficients, tuple(forests), turns, circles)

    def sensors(self) -> _core.StepProgram | None:
        """The samples' dimensions as functions of the states; None if they are the states."""
        if not self.circles:
            return None
        compiler = StepCompiler(self.n_states)
        return compiler.program(self._read(compiler))

    def _read(self, compiler: StepCompiler) -> list[int]:
        place = {d: k for k, d in enumerate(self.places)}
        seen = {d: compiler.input(k) for d, k in place.items()}
        for circle in self.circles:
            angle = compiler.input(place[min(circle.cosine, circle.sine)])
            seen[circle.cosine] = compiler.scaled(compiler.emit("cos", angle), circle.radius)
            seen[circle.sine] = compiler.scaled(compiler.emit("sin", angle), circle.radius)
        return [seen[d] for d in range(self.n_read)]

    def program(self) -> _core.StepProgram:
        """The step as operations of the core."""
        compiler = StepCompiler(self.n_states + self.n_actions)
        seen = self._read(compiler)
        rows = [seen[d] for d in self.inputs]
        rows += [compiler.input(self.n_states + j) for j in range(self.n_actions)]
        angles = [bool(turn) for turn in self.table[:, 2]]
        linear = [compiler.number(1.0)]
        for row, (centre, scale, turn, _, _) in zip(rows, self.table.tolist(), strict=True):
            if turn == 0.0:
                moved = compiler.emit("add", row, compiler.number(-centre))
                linear.append(compiler.emit("divide", moved, compiler.number(scale)))
            else:
                turned = compiler.scaled(row, turn)
                linear += [compiler.emit("sin", turned), compiler.emit("cos", turned)]
        phi = _products(compiler, linear, max((len(c) for c in self.coefficients), default=0))
        changes = []
        for coefficients, forest in zip(self.coefficients, self.forests, strict=True):
            change = compiler.number(0.0)
            for value, term in zip(coefficients.tolist(), phi, strict=False):
                change = compiler.added(change, term, value)
            if forest is not None:
                change = compiler.emit("add", change, compiler.forest(forest, rows, angles))
            changes.append(change)
        # The model's own angle is that of (second, first) dimension: it runs the other way if the first is the cosine.
        for circle, k in zip(self.circles, range(len(changes) - len(self.circles), len(changes)), strict=True):
            if circle.cosine < circle.sine:
                changes[k] = compiler.emit("subtract", compiler.number(0.0), changes[k])
        return compiler.program(
            [compiler.emit("add", compiler.input(k), changes[j]) for k, j in enumerate(self.outputs)]
        )

    def step(self, states: Floats, actions: Floats) -> Floats:
        """The next states of rows; angles are not turned back into their period."""
        return np.asarray(self.program().run(np.ascontiguousarray(np.hstack([states, actions]))))


def _circle(first: int, second: int, radius: float, names: tuple[str, ...]) -> Circle:
    """Which of two dimensions is the cosine: the first, as in Gymnasium's observations, unless its name has a "sin"."""
    return Circle(second, first, radius) if "sin" in names[first].lower() else Circle(first, second, radius)


def _within(forest: Forest, box: Floats) -> Forest:
    arrays = forest.arrays
    return Forest.from_arrays(**{name: arrays[name] for name in FOREST_ARRAYS}, box=box)


def _products(compiler: StepCompiler, linear: list[int], count: int) -> list[int]:
    """The first `count` features. Products of d factors are one factor times those products of d - 1 factors that begin
    with the same or a later factor."""
    phi, firsts = list(linear), list(range(len(linear)))
    while len(phi) < count:
        end, starts = len(phi), [0]
        for i in range(1, len(linear)):
            starts.append(len(phi))
            phi += [compiler.emit("multiply", linear[i], phi[j]) for j in range(firsts[i], end)]
        firsts = starts
    return phi[:count]
