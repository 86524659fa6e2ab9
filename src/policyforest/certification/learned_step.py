"""A learned model as plain numbers: what a certificate holds of it, what the search compiles and the checker reads.

The change of state dimension d is c · phi(x) + F(x), where x are the used state dimensions and the actions, phi are
products of the scaled inputs (sine and cosine of angles) and F is a forest over the inputs, clipped to the range of the
samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import policyforest._core as _core
from policyforest._support.arguments import Array, Floats
from policyforest.certification.step_compiler import StepCompiler
from policyforest.forest.forest import Forest
from policyforest.learning.dynamics.dynamics_model import DynamicsModel
from policyforest.learning.dynamics.regression import fit_output

FOREST_ARRAYS = ("feature", "split", "child", "node_offsets", "coefficients")


@dataclass(frozen=True, eq=False)
class LearnedStep:
    """One control step of a learned model."""

    n_states: int
    n_actions: int
    inputs: tuple[int, ...]
    """The state dimensions that it reads"""
    table: Floats
    """A row (centre, scale, turn, low, high) for each used state dimension and action"""
    coefficients: tuple[Floats, ...]
    """Of each state dimension; empty: no polynomial"""
    forests: tuple[Forest | None, ...]
    periodic: Mapping[int, tuple[float, float]]

    @classmethod
    def of(cls, model: DynamicsModel) -> LearnedStep:
        """The dynamics of a model; a ValueError for parts that no certificate covers."""
        structure = model.structure
        n_states, n_actions = model.transitions.states.shape[1], model.transitions.actions.shape[1]
        if structure.circles or structure.relations or structure.copies:
            raise ValueError(
                "model: has states that are functions of others or of the past (sine and cosine of an angle, history), "
                "must have states that change freely, and angles as numbers"
            )
        if model.transitions.plant.signals is not None:
            raise ValueError("model: its samples have signals (history or actuators), which no certificate covers")
        if any(choice.kind.base == "kernel" for choice in model.choices):
            raise ValueError("model: has Gaussian processes, must be learned without: DynamicsForest(kernels=False)")
        rows = np.arange(len(model.transitions))
        how: dict[str, Any] = {"n_estimators": model.n_estimators, "seed": model.seed, "n_jobs": model.n_jobs}
        fitted = [
            fit_output(choice.kind, model.inputs, model.targets[:, j], rows, **how)
            for j, choice in enumerate(model.choices)
        ]
        table = model.inputs.table
        forests = tuple(None if f.forest is None else _within(f.forest, table[:, 3:]) for f in fitted)
        coefficients = tuple(np.asarray(f.coefficients, dtype=np.float64) for f in fitted)
        periodic = dict(model.transitions.periodic)
        return cls(n_states, n_actions, tuple(structure.inputs), table, coefficients, forests, periodic)

    def arrays(self) -> dict[str, Array]:
        """All of it as arrays, for files and digests."""
        turns = [[d, *turn] for d, turn in sorted(self.periodic.items())]
        found: dict[str, Array] = {
            "model.shape": np.array([self.n_states, self.n_actions], dtype=np.int64),
            "model.inputs": np.array(self.inputs, dtype=np.int64),
            "model.table": np.ascontiguousarray(self.table),
            "model.periodic": np.array(turns, dtype=np.float64).reshape(-1, 3),
        }
        for j, (coefficients, forest) in enumerate(zip(self.coefficients, self.forests, strict=True)):
            found[f"model.coefficients{j}"] = coefficients
            if forest is not None:
                arrays = forest.arrays
                found |= {f"model.forest{j}.{name}": np.asarray(arrays[name]) for name in FOREST_ARRAYS}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> LearnedStep:
        """The inverse of `arrays`; what does not fit is a ValueError."""
        n_states, n_actions = (int(n) for n in arrays["model.shape"])
        table = np.asarray(arrays["model.table"], dtype=np.float64)
        inputs = tuple(int(d) for d in arrays["model.inputs"])
        if table.shape != (len(inputs) + n_actions, 5) or not all(0 <= d < n_states for d in inputs):
            raise ValueError("model: its inputs do not fit its table")
        forests = []
        for j in range(n_states):
            parts: dict[str, Any] = {name: arrays.get(f"model.forest{j}.{name}") for name in FOREST_ARRAYS}
            known = parts["feature"] is not None
            forests.append(Forest.from_arrays(**parts, box=table[:, 3:]) if known else None)
        coefficients = tuple(np.asarray(arrays[f"model.coefficients{j}"], dtype=np.float64) for j in range(n_states))
        periodic = {int(d): (float(low), float(high)) for d, low, high in arrays["model.periodic"]}
        return cls(n_states, n_actions, inputs, table, coefficients, tuple(forests), periodic)

    def program(self) -> _core.StepProgram:
        """The step as operations of the core."""
        compiler = StepCompiler(self.n_states + self.n_actions)
        rows = [compiler.input(d) for d in self.inputs]
        rows += [compiler.input(self.n_states + j) for j in range(self.n_actions)]
        linear = [compiler.number(1.0)]
        for row, (centre, scale, turn, _, _) in zip(rows, self.table.tolist(), strict=True):
            if turn == 0.0:
                moved = compiler.emit("add", row, compiler.number(-centre))
                linear.append(compiler.emit("divide", moved, compiler.number(scale)))
            else:
                turned = compiler.scaled(row, turn)
                linear += [compiler.emit("sin", turned), compiler.emit("cos", turned)]
        phi = _products(compiler, linear, max((len(c) for c in self.coefficients), default=0))
        outputs = []
        for d, (coefficients, forest) in enumerate(zip(self.coefficients, self.forests, strict=True)):
            change = compiler.number(0.0)
            for value, term in zip(coefficients.tolist(), phi, strict=False):
                change = compiler.added(change, term, value)
            if forest is not None:
                change = compiler.emit("add", change, compiler.forest(forest, rows))
            outputs.append(compiler.emit("add", compiler.input(d), change))
        return compiler.program(outputs)

    def step(self, states: Floats, actions: Floats) -> Floats:
        """The next states of rows; angles are not turned back into their period."""
        return np.asarray(self.program().run(np.ascontiguousarray(np.hstack([states, actions]))))


def _within(forest: Forest, box: Floats) -> Forest:
    arrays = forest.arrays
    return Forest.from_arrays(**{name: arrays[name] for name in FOREST_ARRAYS}, box=box)


def _products(compiler: StepCompiler, linear: list[int], count: int) -> list[int]:
    """The first `count` features: products of d factors are a factor times products of d - 1 that begin no earlier."""
    phi, firsts = list(linear), list(range(len(linear)))
    while len(phi) < count:
        end, starts = len(phi), [0]
        for i in range(1, len(linear)):
            starts.append(len(phi))
            phi += [compiler.emit("multiply", linear[i], phi[j]) for j in range(firsts[i], end)]
        firsts = starts
    return phi[:count]
