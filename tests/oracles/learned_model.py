"""One step and one rollout of a learned model, number by number and in the order of the definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import NamedTuple

from oracles.forest import Tree, predict

Row = list[float]
Policy = Callable[[Row], Row]
ALIVE = 0.02
SMALLEST_SPREAD = 1e-3
ACTION_STREAMS = 2**40


class Input(NamedTuple):
    """An input of regressors: a number (x - centre) / scale, or an angle if `turn` is not 0."""

    centre: float
    scale: float
    turn: float
    low: float
    high: float


@dataclass(frozen=True)
class Group:
    """Outputs (coefficients, trees) over the same inputs; either part may be empty."""

    inputs: Sequence[Input]
    outputs: Sequence[tuple[Sequence[float], Sequence[Tree]]]

    def linear(self, x: Row) -> Row:
        phi = [1.0]
        for value, (centre, scale, turn, _, _) in zip(x, self.inputs, strict=True):
            phi += [(value - centre) / scale] if turn == 0 else [math.sin(turn * value), math.cos(turn * value)]
        return phi

    def products(self, x: Row, degree: int) -> Row:
        """All products of up to `degree` factors; each is its first factor times the product of the others."""
        z = self.linear(x)
        found = [1.0]
        for d in range(1, degree + 1):
            for factors in combinations_with_replacement(range(1, len(z)), d):
                product = z[factors[-1]]
                for i in reversed(factors[:-1]):
                    product = z[i] * product
                found.append(product)
        return found

    def __call__(self, x: Row) -> Row:
        phi = self.products(x, 5)
        clipped = [clip(value, i.low, i.high) for value, i in zip(x, self.inputs, strict=True)]
        found = []
        for coefficients, trees in self.outputs:
            value = 0.0
            for c, feature in zip(coefficients, phi, strict=False):
                value += c * feature
            found.append(value + predict(trees, clipped) if trees else value)
        return found


@dataclass(frozen=True)
class Edge:
    box: Sequence[tuple[float, float]]
    margin: Sequence[float]
    ends: bool
    value: float
    reward: float


@dataclass(frozen=True)
class Model:
    n_actions: int
    inputs: Sequence[int]
    """Dimensions of (s, a)"""
    dynamics: Group
    plain: Sequence[int]
    circles: Sequence[tuple[int, int, float]]
    relations: Sequence[tuple[int, Sequence[int], Group]]
    periods: Sequence[tuple[float, float]]
    """(0, 0): no angle"""
    reward: Group
    reward_inputs: Sequence[int]
    """Dimensions of (s, a, s')"""
    reward_shapes: Sequence[tuple[int, int, bool]]
    """Further inputs: (sine, cosine, whether the absolute value counts)"""
    reward_range: tuple[float, float]
    end: str
    thresholds: Sequence[tuple[int, float, float]]
    end_chance: Group | None
    end_reward: Group | None
    residuals: Sequence[Row]
    spread: Group | None
    edge: Edge


class Outcome(NamedTuple):
    next_state: Row
    reward: float
    end_chance: float
    end_reward: float


def clip(x: float, low: float, high: float) -> float:
    return low if x < low else high if x > high else x


def wrap(x: float, low: float, high: float) -> float:
    if low <= x <= high or low == high:
        return x
    return clip(x - (high - low) * math.floor((x - low) / (high - low)), low, high)


def step(model: Model, state: Row, action: Row, residual: int | None, keep: bool) -> Outcome:
    x = [(state + action)[d] for d in model.inputs]
    noise = [0.0] * (len(model.dynamics.outputs) + 1) if residual is None else model.residuals[residual]
    spread = 1.0 if model.spread is None else max(model.spread(x)[0], SMALLEST_SPREAD)
    changes = [y + math.sqrt(spread) * e for y, e in zip(model.dynamics(x), noise, strict=False)]
    ahead = _moved(model, state, changes)
    reward = model.reward(_reward_row(model, state + action + ahead))[0] + noise[-1]
    outcome = Outcome(ahead, clip(reward, *model.reward_range), *_end(model, ahead, x))
    return _kept(model.edge, outcome) if keep else outcome


def earned(model: Model, state: Row, action: Row, ahead: Row) -> tuple[float, float, float]:
    """The reward, the chance of an end and the reward of an end of a step to a given state."""
    reward = model.reward(_reward_row(model, state + action + ahead))[0]
    return clip(reward, *model.reward_range), *_end(model, ahead, [(state + action)[d] for d in model.inputs])


def _reward_row(model: Model, whole: Row) -> Row:
    row = [whole[d] for d in model.reward_inputs]
    for sine, cosine, size in model.reward_shapes:
        x = whole[sine] if sine == cosine else math.atan2(whole[sine], whole[cosine])
        row.append(abs(x) if size else x)
    return row


def _moved(model: Model, state: Row, changes: Row) -> Row:
    ahead = list(state)
    for d, change in zip(model.plain, changes, strict=False):
        ahead[d] += change
    for (i, j, radius), turn in zip(model.circles, changes[len(model.plain) :], strict=True):
        sine = ahead[i] * math.cos(turn) + ahead[j] * math.sin(turn)
        cosine = ahead[j] * math.cos(turn) - ahead[i] * math.sin(turn)
        length = max(math.sqrt(sine * sine + cosine * cosine), 1e-9)
        ahead[i], ahead[j] = sine * (radius / length), cosine * (radius / length)
    ahead = [wrap(value, *period) for value, period in zip(ahead, model.periods, strict=True)]
    for d, sources, formula in model.relations:
        ahead[d] = formula([ahead[k] for k in sources])[0]
    return ahead


def _end(model: Model, ahead: Row, x: Row) -> tuple[float, float]:
    if model.end == "never":
        return 0.0, 0.0
    assert model.end_reward is not None
    if model.end == "thresholds":
        chance = float(any(sign * ahead[d] > limit for d, sign, limit in model.thresholds))
    else:
        assert model.end_chance is not None
        chance = model.end_chance(ahead)[0]
        chance = 1 / (1 + math.exp(-clip(chance, -30, 30))) if model.end == "logistic" else clip(chance, 0, 1)
    return chance, model.end_reward(x)[0]


def _kept(edge: Edge, outcome: Outcome) -> Outcome:
    ahead, reward, chance, paid = outcome
    inside = [lo - m <= s <= hi + m for s, (lo, hi), m in zip(ahead, edge.box, edge.margin, strict=True)]
    kept = [clip(s, *side) for s, side in zip(ahead, edge.box, strict=True)]
    if all(inside):
        return Outcome(kept, reward, chance, paid)
    if edge.ends and chance < 0.5:
        chance, paid = 1.0, edge.value
    return Outcome(kept, min(reward, edge.reward), chance, paid)


class Stream:
    """SplitMix64: number i of stream (seed, stream) is a hash of the three."""

    def __init__(self, seed: int, stream: int) -> None:
        self.state = self._mix(self._mix(seed) + stream * 0x9E3779B97F4A7C15)

    def next(self) -> int:
        self.state += 0x9E3779B97F4A7C15
        return self._mix(self.state)

    def below(self, n: int) -> int:
        return (self.next() >> 32) * n >> 32

    def bell(self) -> float:
        """Mean 0 and variance 1: the sum of four uniform numbers."""
        total = sum(float(self.next() >> 11) * 2.0**-53 for _ in range(4))
        return (total - 2.0) * math.sqrt(3.0)

    @staticmethod
    def _mix(z: int) -> int:
        z %= 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)


@dataclass(frozen=True)
class Rules:
    n_steps: int
    discount: float
    seed: int
    noisy: bool
    action_noise: float
    action_box: Sequence[tuple[float, float]]


@dataclass
class Rollout:
    value: float = 0.0
    visited: list[Row] = field(default_factory=list)
    """The states after each step that the rollout survived"""


def rollout(model: Model, policy: Policy, state: Row, first: Row | None, stream: int, rules: Rules) -> Rollout:
    result, weight, alive = Rollout(), 1.0, 1.0
    residuals, noise = Stream(rules.seed, stream), Stream(rules.seed, ACTION_STREAMS + stream)
    for t in range(rules.n_steps):
        action = first if first is not None and t == 0 else _noisy(policy(state), noise, rules)
        residual = residuals.below(len(model.residuals)) if rules.noisy and model.residuals else None
        state, reward, chance, paid = step(model, state, action, residual, keep=True)
        result.value += weight * alive * ((1 - chance) * reward + chance * paid)
        alive *= 1 - chance
        if alive <= ALIVE:
            break
        result.visited.append(state)
        weight *= rules.discount
    return result


def _noisy(action: Row, noise: Stream, rules: Rules) -> Row:
    if rules.action_noise == 0:
        return action
    return [clip(a + rules.action_noise * (hi - lo) * noise.bell(), lo, hi)
            for a, (lo, hi) in zip(action, rules.action_box, strict=True)]  # fmt: skip
