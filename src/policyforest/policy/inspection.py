"""Exact answers about a policy over a whole box of states, which are possible because a policy consists of trees.

A policy is a sum of trees, so branch and bound over the cells between thresholds
(`core/src/best_action/branch_and_bound.cpp`) finds its least and largest action over a box of states, with no sampling.
The result is exact to the bit for constant leaves, and up to rounding for linear leaves. Clipping to the action box
does not change the order of actions, so it comes last.

The largest change of an action along one dimension d is the maximum of F(x) - F(x') over states that differ in d alone.
This difference is again a sum of trees, with one more input.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import policyforest._core as _core
from policyforest._support.arguments import Floats, box_array, whole_number
from policyforest._support.spaces import bounds
from policyforest.forest.forest import Forest

if TYPE_CHECKING:
    from policyforest.policy.policy import Policy

# Linear leaves are exact up to rounding: a limit counts as kept within this part of the action box.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ActionRange:
    """The smallest and the largest action over a box of states, one per action dimension, and states where they
    occur."""

    low: Floats
    high: Floats
    low_states: Floats
    """(actions, dims): a state with the smallest action, for each action dimension"""
    high_states: Floats


@dataclass(frozen=True)
class Check:
    """Whether all actions over a box of states lie within limits, and a counterexample if they do not."""

    holds: bool
    range: ActionRange
    counterexample: Floats | None = None
    action: Floats | None = None
    """The action of the policy there"""

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True)
class Sensitivity:
    """How much one state dimension can change the action while all others stay unchanged."""

    dim: int
    change: Floats
    """One per action: the change at `states` if the dimension goes from the first of `values` to the second"""
    at_most: Floats
    """An upper bound on the change at any state; equal to `change` unless the actions there are clipped"""
    states: Floats
    """(actions, dims)"""
    values: Floats
    """(actions, 2)"""


def action_range(policy: Policy, box: ArrayLike | None = None) -> ActionRange:
    """The exact range of each action over a box of states, rows (lo, hi); default: the box it was learned on."""
    pieces = _pieces(policy, box)
    limits = bounds(policy.action_space)
    low, high, low_states, high_states = [], [], [], []
    for j, forest in enumerate(policy.forests):
        arrays, negative = forest.arrays, _negative(forest)
        least = max(((*_largest(negative, piece), shift) for piece, shift in pieces), key=lambda f: f[0])
        largest = max(((*_largest(arrays, piece), shift) for piece, shift in pieces), key=lambda f: f[0])
        low.append(np.clip(-least[0], *limits[j]))
        high.append(np.clip(largest[0], *limits[j]))
        low_states.append(least[1] + least[2])
        high_states.append(largest[1] + largest[2])
    return ActionRange(np.array(low), np.array(high), np.array(low_states), np.array(high_states))


def check_actions(policy: Policy, box: ArrayLike | None, low: ArrayLike, high: ArrayLike) -> Check:
    """Whether low <= action <= high for every state of the box."""
    n = len(policy.forests)
    lower, upper = _limits("low", low, n), _limits("high", high, n)
    if (lower > upper).any():
        raise ValueError(f"low: is {low!r}, must not exceed high, {high!r}")
    found = action_range(policy, box)
    limits = bounds(policy.action_space)
    slack = np.where(_linear(policy), ROUNDING * (limits[:, 1] - limits[:, 0]), 0.0)
    for wrong, states in (
        (found.low < lower - slack, found.low_states),
        (found.high > upper + slack, found.high_states),
    ):
        if wrong.any():
            state = states[int(np.argmax(wrong))]
            return Check(False, found, state, policy.native.act(state))
    return Check(True, found)


def sensitivity(policy: Policy, dim: int, box: ArrayLike | None = None) -> Sensitivity:
    """The largest change of each action when state dimension `dim` alone moves within the box."""
    dims = policy.observation_space.shape[0]
    d = whole_number("dim", dim, at_least=0, at_most=dims - 1)
    pieces = [piece for piece, _ in _pieces(policy, box)]
    # Where an angle's seam cuts the box, a move may begin in one piece and end in the other.
    pairs = [(piece, side) for piece in pieces for side in {tuple(other[d].tolist()) for other in pieces}]
    found = [max((_steepest(f, *pair, d) for pair in pairs), key=lambda best: best[0]) for f in policy.forests]
    whole = action_range(policy, box)
    states = np.array([point[:dims] for _, point in found])
    values = np.array([[point[dims], point[d]] for _, point in found])
    before = states.copy()
    before[:, d] = values[:, 0]
    act = policy.native.act
    shown = [act(b)[j] - act(a)[j] for j, (a, b) in enumerate(zip(before, states, strict=True))]
    at_most = np.minimum(np.array([value for value, _ in found]), whole.high - whole.low)
    return Sensitivity(d, np.abs(np.array(shown)), at_most, states, values)


def _pieces(policy: Policy, box: ArrayLike | None) -> list[tuple[Floats, Floats]]:
    """The box as boxes that no angle's seam cuts, each with the offset from its states to those in the given box."""
    dims = policy.observation_space.shape[0]
    asked = np.array(policy.state_box) if box is None else box_array("box", box, dims)
    if policy.outside == "raise":
        known = policy.state_box
        for d in range(dims):
            if d not in policy.periodic and not (known[d, 0] <= asked[d, 0] and asked[d, 1] <= known[d, 1]):
                raise ValueError(
                    f"box: dimension {d} is {asked[d].tolist()}, must be within {known[d].tolist()}, the states that "
                    "the policy knows"
                )
    sides: list[list[tuple[float, float, float]]] = []
    for d, (lo, hi) in enumerate(asked.tolist()):
        if d in policy.periodic:
            sides.append(_turned(lo, hi, *policy.periodic[d]))
        elif not np.isfinite([lo, hi]).all():
            sides.append([(*_finite_side(policy, d, lo, hi), 0.0)])
        else:
            sides.append([(lo, hi, 0.0)])
    return [
        (np.array([(lo, hi) for lo, hi, _ in chosen]), np.array([shift for _, _, shift in chosen]))
        for chosen in product(*sides)
    ]


def _turned(lo: float, hi: float, low: float, high: float) -> list[tuple[float, float, float]]:
    """A range of angles as ranges within one turn [low, high], each with the whole turns that were subtracted."""
    turn = high - low
    if low <= lo and hi <= high:
        return [(lo, hi, 0.0)]
    if not np.isfinite([lo, hi]).all():
        return [(low, high, 0.0)]
    hi = min(hi, lo + turn)
    shift = turn * np.floor((lo - low) / turn)
    a, b = float(np.clip(lo - shift, low, high)), hi - shift
    if b <= high:
        return [(a, b, float(shift))]
    return [(a, high, float(shift)), (low, float(np.clip(b - turn, low, high)), float(shift + turn))]


def _finite_side(policy: Policy, d: int, lo: float, hi: float) -> tuple[float, float]:
    """One side of a box, made finite: constant leaves do not change beyond the outermost thresholds. Linear leaves have
    no largest value there, so an infinite side is an error."""
    if _linear(policy):
        raise ValueError(f"box: dimension {d} is [{lo}, {hi}], must be finite for a policy with linear leaves")
    cuts = [0.0]
    for forest in policy.forests:
        arrays = forest.arrays
        cuts += arrays["split"][arrays["feature"] == d].tolist()
    return max(lo, min(min(cuts) - 1.0, hi)), min(hi, max(max(cuts) + 1.0, lo))


def _steepest(forest: Forest, box: Floats, side: tuple[float, ...], d: int) -> tuple[float, Floats]:
    """The maximum of F(x) - F(x'), where x is in the box, and x' equals x except for x'_d in `side`.

    Returns the maximum, and x followed by x'_d."""
    plain, dims = forest.arrays, len(box)
    other = np.where(plain["feature"] == d, dims, plain["feature"])
    arrays = {
        "feature": np.concatenate([plain["feature"], other]).astype(np.int32),
        "child": np.concatenate([plain["child"], plain["child"]]),
        "node_offsets": np.concatenate([plain["node_offsets"], plain["node_offsets"][1:] + plain["node_offsets"][-1]]),
    }
    leaf = plain["feature"] < 0
    # The sum of 2 M trees is divided by 2 M, hence the factor 2.
    arrays["split"] = np.concatenate([np.where(leaf, sign * plain["split"], plain["split"]) for sign in (2.0, -2.0)])
    if forest.leaf_model == "linear":
        ours = np.insert(plain["coefficients"], dims, 0.0, axis=1)
        theirs = ours.copy()
        theirs[:, [d, dims]] = theirs[:, [dims, d]]
        arrays["coefficients"] = np.concatenate([2.0 * ours, -2.0 * theirs])
    return _largest(arrays, np.concatenate([box, [side]]))


def _largest(arrays: dict[str, Any], box: Floats) -> tuple[float, Floats]:
    """The maximum of F over a box, and a point where it occurs."""
    found = _core.branch_and_bound(_within(arrays, box)._native, np.zeros((1, len(box))), [1] * len(box), 1)
    return float(found[0][0]), np.asarray(found[1][0])


def _within(arrays: dict[str, Any], box: Floats) -> Forest:
    """The same trees over another box."""
    wanted = ("feature", "split", "child", "node_offsets", "coefficients")
    return Forest.from_arrays(**{name: arrays[name] for name in wanted if name in arrays}, box=box)


def _negative(forest: Forest) -> dict[str, Any]:
    """The arrays of -F."""
    arrays: dict[str, Any] = dict(forest.arrays)
    arrays["split"] = np.where(arrays["feature"] < 0, -arrays["split"], arrays["split"])
    return arrays | {"coefficients": -arrays["coefficients"]}


def _linear(policy: Policy) -> bool:
    return any(forest.leaf_model == "linear" for forest in policy.forests)


def _limits(name: str, value: ArrayLike, n: int) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, array)
    if array.shape != (n,) or np.isnan(array).any():
        raise ValueError(f"{name}: is {value!r}, must be a number or one for each of {n} actions")
    return array
