"""Structure that the samples show: sine-cosine pairs, and dimensions that are functions of others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest._support.linear_systems import solved
from policyforest.data.transitions import Transitions
from policyforest.learning.dynamics.least_squares import ridge
from policyforest.learning.dynamics.regression import ModelInputs

# s_i² + s_j² may vary by this fraction of its mean: rounding to float32, no more.
ROUND = 1e-5
# A dimension is computed from others if this misses less than this fraction of its variance.
COMPUTED = 1e-4
STILL = 1e-6


@dataclass(frozen=True)
class StateRelation:
    """A dimension that is a quadratic function of others."""

    dimension: int
    sources: tuple[int, ...]
    inputs: ModelInputs
    coefficients: Floats


@dataclass(frozen=True)
class ExogenousEvidence:
    """Whether the system influences a state dimension that is predicted badly."""

    dimension: int
    name: str
    score: float
    """R² of its change on held-out samples, from all inputs"""
    own_score: float
    """R² of its change on held-out samples, from its own value alone"""
    found: bool
    """Whether it counts as exogenous: all inputs predict it hardly better than its own value does"""

    def __str__(self) -> str:
        verdict = "exogenous" if self.found else "influenced by the system"
        return f"{self.name}: {verdict} (R² {self.score:.3g} from all inputs, {self.own_score:.3g} from itself alone)"


@dataclass(frozen=True)
class Structure:
    """How the dimensions of a state depend on each other."""

    inputs: tuple[int, ...]
    """The state dimensions that the dynamics depend on"""
    plain: tuple[int, ...]
    """The state dimensions whose change is predicted"""
    circles: tuple[tuple[int, int, float], ...] = ()
    """(sine, cosine, radius): one angle is predicted for each"""
    relations: tuple[StateRelation, ...] = field(default=(), repr=False)
    copies: tuple[tuple[int, int], ...] = ()
    """(dimension, source): history, shifted by one step, from a dimension of (state, action)"""
    commands_act: bool = True
    """Whether the dynamics depend on the actions; False if these act late"""

    def sources(self, n_states: int, n_actions: int) -> list[int]:
        """The dimensions of (state, action) that the dynamics depend on."""
        return [*self.inputs, *(n_states + j for j in range(n_actions) if self.commands_act)]


def late_but_measured(data: Transitions) -> bool:
    """Whether commands act late on a system whose state consists of the present measurements. With more rows of
    history, a part of the state is hidden: then residuals depend on each other, and are not noise whose bounds could be
    used."""
    signals = data.plant.signals
    return data.plant.delay > 0 and signals is not None and signals.history == 1


def may_be_odd(data: Transitions, structure: Structure) -> bool:
    """Whether the dynamics may be nearly odd, and the errors of a model of them are noise. This is so if the state
    consists of the present measurements, without pairs of sine and cosine, and commands do not act late (otherwise
    products are shrunk instead)."""
    signals = data.plant.signals
    return data.plant.delay == 0 and not structure.circles and (signals is None or signals.history == 1)


def without_pending(structure: Structure, data: Transitions) -> Structure:
    """The structure of a system whose commands act `plant.delay` steps late: the newer ones do not matter yet."""
    signals, m = data.plant.signals, data.actions.shape[1]
    if signals is None or data.plant.delay == 0:
        return structure
    first = signals.history * len(signals.channel_names)
    pending = range(first, first + (data.plant.delay - 1) * m)
    return replace(structure, inputs=tuple(d for d in structure.inputs if d not in pending), commands_act=False)


def find_structure(data: Transitions, seed: int, exogenous: tuple[int, ...] = ()) -> Structure:
    """Looks for pairs and relations in the states of all samples, next states that are not terminal included;
    dimensions that are declared exogenous are neither halves of pairs nor computed."""
    states = np.concatenate([data.states, data.next_states[~data.terminals]])
    n = states.shape[1]
    copied = {} if data.plant.signals is None else data.plant.signals.shift()
    names = data.plant.state_names
    copied |= {names.index(name): names.index(source) for name, source in data.plant.follows}
    circles = _circles(states, {*data.periodic, *exogenous, *copied})
    on_circles = {d for i, j, _ in circles for d in (i, j)}
    relations: list[StateRelation] = []
    kept = list(range(n))
    train = np.random.default_rng([seed, 4]).random(len(states)) < 0.7
    for d in reversed(range(n)):
        # Past rows are not sources: a relation to them is the dynamics, not a relation within one state.
        sources = tuple(k for k in kept if k != d and k not in copied)
        if d in on_circles or d in data.periodic or d in exogenous or d in copied or not sources:
            continue
        relation = _relation(states, d, sources, train, data)
        if relation is not None:
            relations.append(relation)
            kept.remove(d)
    computed = {relation.dimension for relation in relations}
    plain = tuple(d for d in range(n) if d not in computed and d not in on_circles and d not in copied)
    # The dimension that was removed last depends only on those that are left, so it is computed first.
    return Structure(tuple(kept), plain, tuple(circles), tuple(reversed(relations)), tuple(copied.items()))


def _circles(states: Floats, taken: set[int]) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    spread = states.std(axis=0)
    for i in range(states.shape[1]):
        for j in range(i + 1, states.shape[1]):
            if taken & {i, j} or spread[i] < STILL or spread[j] < STILL:
                continue
            squared = states[:, i] ** 2 + states[:, j] ** 2
            if squared.std() < ROUND * squared.mean():
                found.append((i, j, float(np.sqrt(squared.mean()))))
                taken = taken | {i, j}
    return found


def _relation(
    states: Floats,
    d: int,
    sources: tuple[int, ...],
    train: NDArray[np.bool_],
    data: Transitions,
) -> StateRelation | None:
    inputs = ModelInputs(np.ascontiguousarray(states[:, sources]), {})
    if 3 * inputs.n_quadratic > train.sum() or states[:, d].std() < STILL:
        return None
    y = states[:, d]
    coefficients = _fine_ridge(inputs.quadratic[train], y[train])
    missed = float(np.mean((y[~train] - inputs.quadratic[~train] @ coefficients) ** 2))
    smallest = max(1e-12 * float(np.mean(y**2)), 1e-16)
    if missed > max(min(COMPUTED * float(y.var()), _dynamics_error(data, d)), smallest):
        return None
    return StateRelation(d, sources, inputs, _fine_ridge(inputs.quadratic, y))


def _dynamics_error(data: Transitions, d: int) -> float:
    """The error of a quadratic model of the change: computing a dimension must not be worse than integrating it."""
    inputs = ModelInputs(np.concatenate([data.states, data.actions], axis=1), {})
    train = np.random.default_rng([d, 5]).random(len(data)) < 0.7
    if 3 * inputs.n_quadratic > train.sum():
        return np.inf
    change = data.next_states[:, d] - data.states[:, d]
    coefficients = ridge(inputs.quadratic[train], change[train])
    return float(np.mean((change[~train] - inputs.quadratic[~train] @ coefficients) ** 2))


def _fine_ridge(features: Floats, y: Floats) -> Floats:
    gram = features.T @ features + 1e-10 * len(y) * np.eye(features.shape[1])
    return solved(gram, features.T @ y)
