"""Random learned models, twice: for the core, and as the plain model of `oracles.learned_model`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import policyforest._core as _core
from oracles.forest import predict, read_trees
from oracles.learned_model import Edge, Group, Input, Model, Policy, Row, clip, wrap
from policyforest import Forest
from strategies import joined, mixed, random_box, random_tree, with_leaves

Rng = np.random.Generator
ENDS = ("never", "thresholds", "logistic", "forest")


class Pair(NamedTuple):
    """The same model twice."""

    native: _core.LearnedModel
    plain: Model

    @property
    def n_states(self) -> int:
        return len(self.plain.periods)


class PolicyPair(NamedTuple):
    """The same policy twice."""

    native: _core.Controller
    plain: Policy
    box: np.ndarray


def random_forest(rng: Rng, n_inputs: int) -> dict:
    parts = [random_tree(rng, n_inputs, mixed, int(rng.integers(0, 5))) for _ in range(rng.integers(1, 4))]
    arrays = joined(parts, random_box(rng, n_inputs, mixed, False))
    return with_leaves(rng, arrays, str(rng.choice(["constant", "linear"])), mixed)


def random_group(rng: Rng, n_inputs: int, n_outputs: int) -> tuple[_core.RegressorGroup, Group]:
    """Numbers and angles; each output with or without a parametric part and a forest."""
    rows = []
    for _ in range(n_inputs):
        low, high = np.sort(rng.uniform(-3, 3, 2))
        turn = rng.choice([0.0, 0.0, rng.uniform(0.5, 7.0)])
        rows.append(Input(*map(float, (rng.uniform(-1, 1), rng.uniform(0.2, 3.0), turn, low, high))))
    table = np.array(rows, dtype=np.float64).reshape(n_inputs, 5)
    group, outputs = _core.RegressorGroup(table), []
    width = 1 + sum(1 if row.turn == 0 else 2 for row in rows)
    for _ in range(n_outputs):
        terms = int(rng.choice([0, *(math.comb(width - 1 + degree, degree) for degree in range(1, 6))]))
        coefficients = rng.uniform(-0.3, 0.3, terms)
        arrays = random_forest(rng, n_inputs) if n_inputs > 0 and rng.random() < 0.6 else None
        group.add(coefficients, None if arrays is None else Forest.from_arrays(**arrays)._native)
        outputs.append((coefficients.tolist(), [] if arrays is None else read_trees(arrays)))
    return group, Group(rows, outputs)


def random_model(seed: int) -> Pair:
    """Every part of a model in some of them: circles, relations, angles, ends, spread of the noise."""
    rng = np.random.default_rng(seed)
    n_states, n_actions = int(rng.integers(1, 6)), int(rng.integers(1, 3))
    dims = rng.permutation(n_states).tolist()
    n_circles = int(rng.integers(0, n_states // 2 + 1))
    circles = [(dims.pop(), dims.pop(), float(rng.uniform(0.5, 2.0))) for _ in range(n_circles)]
    computed = [dims.pop() for _ in range(int(rng.integers(0, max(len(dims), 1))))]
    plain = dims[: int(rng.integers(0, len(dims) + 1))]  # others never change
    periods = np.zeros((n_states, 2))
    for d in plain:
        periods[d] = rng.choice([0.0, 1.0]) * np.array([-1.0, rng.uniform(0.5, 2.0)])
    native = _core.LearnedModel(n_states, n_actions, periods if periods.any() else np.empty((0, 2)))
    inputs = _some(rng, n_states + n_actions)
    n_outputs = len(plain) + len(circles)
    dynamics, plain_dynamics = random_group(rng, len(inputs), n_outputs)
    native.set_dynamics(inputs, dynamics, plain, circles)
    relations = []
    for d in computed:
        sources = [k for k in range(n_states) if k != d and rng.random() < 0.7]
        formula, plain_formula = random_group(rng, len(sources), 1)
        native.add_relation(d, sources, formula)
        relations.append((d, sources, plain_formula))
    parts = {"inputs": inputs, "dynamics": plain_dynamics, "plain": plain, "circles": circles,
             "relations": relations, "periods": [tuple(side) for side in periods.tolist()]}  # fmt: skip
    n_step = 2 * n_states + n_actions
    parts |= _reward(rng, native, _some(rng, n_step), n_step) | {"n_actions": n_actions}
    parts |= _end(rng, native, n_states, len(inputs))
    parts |= _noise(rng, native, len(inputs), n_outputs)
    parts |= _edge(rng, native, periods)
    native.check()
    return Pair(native, Model(**parts))


def _some(rng: Rng, n: int) -> list[int]:
    """Some of n dimensions, in their order."""
    return np.sort(rng.permutation(n)[: rng.integers(0, n + 1)]).tolist()


def _reward(rng: Rng, native: _core.LearnedModel, inputs: list[int], n_step: int) -> dict:
    shapes = []
    for _ in range(int(rng.integers(3))):  # numbers and angles, with and without their signs
        sine, cosine = (int(d) for d in rng.integers(n_step, size=2))
        shapes.append((sine, sine if rng.random() < 0.3 else cosine, bool(rng.integers(2))))
    group, plain = random_group(rng, len(inputs) + len(shapes), 1)
    low, high = ((-0.5, 0.5), (-np.inf, np.inf))[int(rng.integers(2))]
    native.set_reward(inputs, shapes, group, low, high)
    return {"reward": plain, "reward_inputs": inputs, "reward_shapes": shapes, "reward_range": (low, high)}


def _end(rng: Rng, native: _core.LearnedModel, n_states: int, width: int) -> dict:
    end = str(rng.choice(ENDS))
    parts: dict = {"end": end, "thresholds": [], "end_chance": None, "end_reward": None}
    if end == "never":
        return parts
    paid, parts["end_reward"] = random_group(rng, width, 1)
    chance = None
    if end == "thresholds":
        count = int(rng.integers(0, 3))
        parts["thresholds"] = [
            (int(rng.integers(n_states)), float(rng.choice([-1.0, 1.0])), float(rng.uniform(0.5, 2.0)))
            for _ in range(count)
        ]
    else:
        chance, parts["end_chance"] = random_group(rng, n_states, 1)
    native.set_end(end, parts["thresholds"], chance, paid)
    return parts


def _noise(rng: Rng, native: _core.LearnedModel, width: int, n_outputs: int) -> dict:
    residuals = rng.uniform(-0.2, 0.2, (int(rng.integers(0, 6)), n_outputs + 1))
    spread, plain = random_group(rng, width, 1) if rng.random() < 0.5 else (None, None)
    native.set_noise(residuals, spread)
    return {"residuals": residuals.tolist(), "spread": plain}


def _edge(rng: Rng, native: _core.LearnedModel, periods: np.ndarray) -> dict:
    box = np.sort(rng.uniform(-2, 2, periods.shape), axis=1)
    is_angle = periods[:, 0] < periods[:, 1]
    box[is_angle] = periods[is_angle]
    margin = rng.choice([0.1, 1.0, np.inf], len(box))
    ends, value, reward = bool(rng.random() < 0.5), float(rng.uniform(-5, 0)), float(rng.uniform(-1, 0))
    native.set_edge(box, margin, ends, value, reward)
    return {"edge": Edge([tuple(side) for side in box.tolist()], margin.tolist(), ends, value, reward)}


def random_policy(seed: int, model: Pair) -> PolicyPair:
    """Forests with angles where the model has them, clipped to a box of actions."""
    rng = np.random.default_rng(seed)
    periods = np.array(model.plain.periods)
    n_actions = model.plain.n_actions
    arrays = [random_forest(rng, model.n_states) for _ in range(n_actions)]
    box = np.sort(rng.uniform(-1.5, 1.5, (n_actions, 2)), axis=1)
    forests = [Forest.from_arrays(**part)._native for part in arrays]
    trees = [read_trees(part) for part in arrays]

    def plain(state: Row) -> Row:
        turned = [wrap(value, *period) for value, period in zip(state, periods.tolist(), strict=True)]
        return [clip(predict(part, turned), *side) for part, side in zip(trees, box.tolist(), strict=True)]

    return PolicyPair(_core.Controller(forests, box, periods if periods.any() else np.empty((0, 2))), plain, box)


def random_steps(seed: int, model: Pair, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States and actions, some of them on simple numbers."""
    rng = np.random.default_rng(seed)
    n_actions = model.plain.n_actions
    return mixed(rng, count * model.n_states).reshape(count, -1), mixed(rng, count * n_actions).reshape(count, -1)
