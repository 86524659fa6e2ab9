"""The actions, values and knownness of a policy on a grid, as plain data that pages draw and that studies store.

The action and V(s) = max_a Q(s, a) are computed over two state dimensions. Q and knownness also depend on the action:
they are computed at several values of the first action dimension, for a slider, with other action dimensions in the
middle of their ranges. If states have a third dimension, the action is computed at several values of that dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from policyforest._support.arguments import Floats, whole_number
from policyforest._support.labels import labels_of
from policyforest._support.spaces import bounds
from policyforest.data.transitions import Transitions
from policyforest.forest.knownness import KnownnessForest
from policyforest.report.state_slice import StateSlice, slice_of, state_box

RESOLUTION, SLICES = 51, 9
DIGITS = 3


@dataclass(frozen=True, eq=False)
class Layered:
    """A heat map for each position of a slider."""

    title: str
    unit: str
    slider: str
    """The name of the quantity that the slider changes; empty if there is a single layer"""
    positions: tuple[float, ...]
    layers: Floats
    """(positions, rows, columns): the second state dimension runs along the rows"""
    limits: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Maps:
    """All heat maps of a policy over the same two state dimensions."""

    labels: tuple[str, str]
    box: Floats
    maps: tuple[Layered, ...]
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data of a few digits, for JSON."""
        return {
            "labels": list(self.labels),
            "box": self.box.tolist(),
            "problem": self.problem,
            "maps": [
                {
                    "title": m.title,
                    "unit": m.unit,
                    "slider": m.slider,
                    "positions": list(m.positions),
                    "layers": _rounded(m.layers),
                    "limits": list(m.limits),
                }
                for m in self.maps
            ],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Maps:
        maps = (
            Layered(
                m["title"],
                m["unit"],
                m["slider"],
                tuple(m["positions"]),
                np.array(m["layers"], dtype=np.float64),
                (m["limits"][0], m["limits"][1]),
            )
            for m in content["maps"]
        )
        first, second = content["labels"]
        return cls((first, second), np.array(content["box"]), tuple(maps), content["problem"])


def policy_maps(
    policy: Any,
    *,
    q: Any = None,
    samples: Transitions | None = None,
    dims: Sequence[int] | None = None,
    at: Sequence[float] | None = None,
    resolution: int = RESOLUTION,
) -> Maps:
    """The maps of a policy with at least two state dimensions.

    Args:
        q: A Q function, or a policy that is greedy in one; default: `policy` itself if it is greedy.
        samples: The samples it was learned from, for the map of knownness.
        dims: As in `slice_of`.
        at: As in `slice_of`.
    """
    n_states = policy.observation_space.shape[0]
    whole_number("policy: its state dimensions", n_states, at_least=2)
    plane = slice_of(policy, dims, at, resolution)
    if len(plane.dims) != 2:
        raise ValueError(f"dims: is {list(plane.dims)}, must be two state dimensions")
    labels = labels_of(policy)
    maps = [_action_map(policy, plane, labels.states, labels.actions[j], j) for j in range(len(labels.actions))]
    if q is None and getattr(policy, "kind", "") == "greedy":
        q = policy
    if q is not None:
        maps += _q_maps(policy, q, plane, labels.actions[0])
    if samples is not None:
        columns, expected = samples.states.shape[1] + samples.actions.shape[1], n_states + len(labels.actions)
        if columns != expected:
            raise ValueError(f"samples: have {columns} columns of states and actions, must have {expected}")
        maps.append(_knownness_map(policy, samples, plane, labels.actions[0]))
    names = (labels.states[plane.dims[0]], labels.states[plane.dims[1]])
    return Maps(names, plane.box, tuple(maps), policy.info.problem)


def _action_map(policy: Any, plane: StateSlice, states: Sequence[str], name: str, j: int) -> Layered:
    low, high = bounds(policy.action_space)[j]
    others = [d for d in range(len(plane.fixed)) if d not in plane.dims]
    planes, slider = [plane], ""
    positions: tuple[float, ...] = (0.0,)
    if others:
        slider, positions = states[others[0]], _positions(state_box(policy)[others[0]])
        planes = [replace(plane, fixed=_with(plane.fixed, others[0], x)) for x in positions]
    layers = np.stack([p.shaped(np.asarray(policy.act_batch(p.states()))[:, j]) for p in planes])
    return Layered("Policy", name, slider, positions, layers, (float(low), float(high)))


def _q_maps(policy: Any, q: Any, plane: StateSlice, action: str) -> list[Layered]:
    from policyforest.forest.maximiser import states_in_box

    forest, n_states = q.forest, len(plane.fixed)
    periodic = getattr(policy, "periodic", {})
    states = states_in_box(plane.states(), forest.box[:n_states], periodic)
    best = forest.best_action(states)
    value = plane.shaped(best.value)
    positions = _positions(bounds(policy.action_space)[0])
    layers = []
    for a in positions:
        actions = np.tile(bounds(policy.action_space).mean(axis=1), (len(states), 1))
        actions[:, 0] = a
        layers.append(plane.shaped(forest.predict(np.concatenate([states, actions], axis=1))))
    limits = _most(value)
    return [
        Layered("Value V(s)", "discounted return", "", (0.0,), value[np.newaxis], limits),
        Layered("Q(s, a)", "discounted return", action, positions, np.stack(layers), limits),
    ]


def _knownness_map(policy: Any, samples: Transitions, plane: StateSlice, action: str) -> Layered:
    """The map of knownness, from a knownness forest that holds all samples."""
    box = np.concatenate([samples.state_box(), bounds(samples.action_space)])
    known = KnownnessForest(box)
    known.insert(np.concatenate([samples.states, samples.actions], axis=1))
    positions = _positions(bounds(policy.action_space)[0])
    states = plane.states()
    layers = []
    for a in positions:
        actions = np.tile(box[states.shape[1] :].mean(axis=1), (len(states), 1))
        actions[:, 0] = a
        rows = np.clip(np.concatenate([states, actions], axis=1), box[:, 0], box[:, 1])
        layers.append(plane.shaped(known.knownness(rows)))
    unit = "0: not tried, 1: average density or more"
    return Layered("Knownness", unit, action, positions, np.stack(layers), (0.0, 1.0))


def _positions(sides: Floats) -> tuple[float, ...]:
    return tuple(float(x) for x in np.linspace(sides[0], sides[1], SLICES))


def _with(state: Floats, dimension: int, value: float) -> Floats:
    changed = state.copy()
    changed[dimension] = value
    return changed


def _most(values: Floats) -> tuple[float, float]:
    """The range of most values, so that a few values of -1000 do not take up the whole colour scale."""
    low, high = (float(x) for x in np.percentile(values, [5, 100]))
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _rounded(values: Floats) -> Any:
    """Nested lists with numbers of `DIGITS` digits."""
    flat = [float(f"{x:.{DIGITS}g}") for x in values.ravel()]
    return np.array(flat).reshape(values.shape).tolist()
