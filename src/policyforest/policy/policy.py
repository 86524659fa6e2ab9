"""A policy: one forest per action dimension, run by the core in about a microsecond."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike

import policyforest._core as _core
from policyforest._support.arguments import Floats, finite_array, one_of, whole_number
from policyforest._support.signals import Signals
from policyforest._support.spaces import bounds, require_actions, require_observations
from policyforest.forest.forest import Forest
from policyforest.forest.growth_rules import period_rows
from policyforest.policy.acting import ActingPolicy, require_signals
from policyforest.policy.policy_info import PolicyInfo

if TYPE_CHECKING:
    from policyforest.data.transitions import Transitions
    from policyforest.export import CExport, Precision, Style
    from policyforest.policy.explanation import Explanation
    from policyforest.policy.float32_policy import Float32Policy
    from policyforest.policy.inspection import ActionRange, Check, Sensitivity

Outside = Literal["nearest", "raise"]


@dataclass(frozen=True)
class Simplification:
    """How far the actions of one tree are from those of its forest, over states that were not used to make it."""

    max_leaves: int
    n_leaves: int
    mean_change: tuple[float, ...]
    """Mean |change of action|, one number per action dimension"""
    largest_change: tuple[float, ...]
    n_states: int

    @classmethod
    def of(cls, max_leaves: int, simple: Policy, change: Floats) -> Simplification:
        """The simplification whose actions changed by the rows of `change`."""
        apart = np.abs(change)
        mean, largest = apart.mean(axis=0).tolist(), apart.max(axis=0).tolist()
        return cls(max_leaves, simple.n_leaves, tuple(mean), tuple(largest), len(apart))


@dataclass(frozen=True, eq=False)
class Policy(ActingPolicy):
    """pi(s), one forest per action dimension, clipped to the action box.

    `act(state)` returns the action as a float64 array. A contiguous float64 array is the fast path; a float32 array, a
    list or any other row of real numbers is converted; False and True count as 0 and 1, as in Gymnasium.
    Texts, dates, complex numbers and objects raise TypeError, NaN and masked entries ValueError. A state outside the
    box that the policy was learned on gets the action of the outermost leaf, or an error with `outside="raise"`.
    `act_batch` and `predict` accept and refuse the same numbers.
    """

    kind = "forest"

    forests: tuple[Forest, ...]
    observation_space: Box
    action_space: Box
    periodic: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    info: PolicyInfo = field(default_factory=lambda: PolicyInfo("given"))
    outside: Outside = "nearest"
    simplification: Simplification | None = None
    signals: Signals | None = None
    native: _core.Controller = field(init=False, repr=False)
    act: Callable[[ArrayLike], Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        forests = tuple(self.forests)
        require_observations("observation_space", self.observation_space)
        require_actions("action_space", self.action_space)
        one_of("outside", self.outside, ("nearest", "raise"))
        if len(forests) != self.action_space.shape[0]:
            raise ValueError(
                f"forests: has {len(forests)} forests, must have one for each of {self.action_space.shape[0]} actions"
            )
        n_states = self.observation_space.shape[0]
        for forest in forests:
            if forest.n_inputs != n_states:
                raise ValueError(f"forests: one has {forest.n_inputs} inputs for {n_states} state dimensions")
        require_signals(self.signals, n_states, bounds(self.action_space))
        native = [forest._native for forest in forests]
        controller = _core.Controller(native, bounds(self.action_space), period_rows(self.periodic, n_states))
        set_field = object.__setattr__.__get__(self)
        set_field("forests", forests)
        set_field("native", controller)
        set_field("act", controller.act if self.outside == "nearest" else self._act_inside)

    @property
    def state_box(self) -> Floats:
        """Rows (lo, hi): the states that the policy was learned on."""
        return self.forests[0].box

    @property
    def n_leaves(self) -> int:
        """Leaves of all its trees."""
        return sum(forest.n_leaves for forest in self.forests)

    @property
    def worst_case_comparisons(self) -> int:
        """The largest number of comparisons for one action: the sum of the depths of all trees."""
        return sum(sum(forest.depths) for forest in self.forests)

    def __repr__(self) -> str:
        trees = "+".join(str(len(forest)) for forest in self.forests)
        return (
            f"Policy({self.info.method}, {self.observation_space.shape[0]} states -> {len(self.forests)} actions, "
            f"{trees} trees, {self.n_leaves} {self.forests[0].leaf_model} leaves, "
            f"at most {self.worst_case_comparisons} comparisons)"
        )

    def act_batch(self, states: ArrayLike) -> Floats:
        """Actions for rows of states."""
        rows = finite_array("states", states, 2)
        if rows.shape[1] != self.observation_space.shape[0]:
            raise ValueError(f"states: has {rows.shape[1]} columns, must have {self.observation_space.shape[0]}")
        if self.outside == "raise":
            self._check_inside(rows)
        return self.native.act_batch(rows)

    def with_outside(self, outside: Outside) -> Policy:
        """The same policy, which for states outside its box uses the outermost leaf ("nearest") or raises an error."""
        return replace(self, outside=outside)

    def simplify(self, max_leaves: int, n_states: int = 20_000) -> Policy:
        """One tree per action dimension, of at most `max_leaves` leaves (the abstract's "single tree").

        The trees are merged and pruned one after the other (Algorithms 2 and 3); `simplification` of the result reports
        how far the actions changed, on `n_states` uniform states of the box.
        """
        limit = whole_number("max_leaves", max_leaves, at_least=1)
        if not np.isfinite(self.state_box).all():
            raise ValueError(f"state_box: is {self.state_box.tolist()}, must be finite to simplify a policy")
        trees = tuple(forest.average(limit) for forest in self.forests)
        simple = replace(self, forests=trees)
        number = whole_number("n_states", n_states, at_least=1)
        states = uniform_states(self.state_box, number, np.random.default_rng(0))
        report = Simplification.of(limit, simple, simple.act_batch(states) - self.act_batch(states))
        return replace(simple, simplification=report)

    def distil(
        self,
        max_leaves: int,
        samples: Transitions | None = None,
        *,
        n_states: int = 40_000,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int | None = 1,
    ) -> Policy:
        """One tree per action dimension, of at most `max_leaves` leaves, learned from the forest's actions: with few
        leaves it is much closer to the forest than `simplify`.

        Args:
            samples: The samples that the policy was learned from. They are needed for more than two state dimensions:
                then the tree is grown on states near the sampled ones, as in `FittedPolicyForest`. With one or two
                dimensions, the tree is grown on states all over their box.
            n_states: The number of these states; `simplification` of the result reports the change on other states.
            random_state: The seed.
            n_jobs: The number of threads; the result does not depend on it.
        """
        from policyforest.learning.distillation import distil

        return distil(self, max_leaves, samples, n_states, random_state, n_jobs)

    def astype(self, precision: Literal["float64", "float32"]) -> Policy | Float32Policy:
        """The policy in another precision: "float32" computes the same bits as the exported C code."""
        if one_of("precision", precision, ("float64", "float32")) == "float64":
            return self
        from policyforest.policy.float32_policy import float32_policy

        return float32_policy(self)

    def range(self, box: ArrayLike | None = None) -> ActionRange:
        """The exact smallest and largest action over a box of states, rows (lo, hi), and states where they occur."""
        from policyforest.policy.inspection import action_range

        return action_range(self, box)

    def check(self, box: ArrayLike | None, low: ArrayLike, high: ArrayLike) -> Check:
        """Whether low <= action <= high for all states of a box (None: those it was learned on), and a counterexample
        if not. The answer is exact: no state is missed."""
        from policyforest.policy.inspection import check_actions

        return check_actions(self, box, low, high)

    def sensitivity(self, dim: int, box: ArrayLike | None = None) -> Sensitivity:
        """The largest change of the action when only state dimension `dim` changes, and where it occurs."""
        from policyforest.policy.inspection import sensitivity

        return sensitivity(self, dim, box)

    def explain(self, state: ArrayLike, names: Sequence[str] | None = None) -> tuple[Explanation, ...]:
        """The conditions of the leaves that decide the action, one explanation per action; `str` gives it as text."""
        from policyforest.policy.explanation import explain

        return explain(self, state, names)

    def save(self, path: str | os.PathLike[str], card: bool = False) -> None:
        """Writes a ``.pforest`` file: arrays and JSON, never code. `card=True` also writes a model card, ``.md``."""
        super().save(path)
        if card:
            from policyforest.policy.model_card import write_model_card

            write_model_card(self, Path(path))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the parts of the policy; the controller is compiled again."""
        return rebuild_policy, (type(self), {f.name: getattr(self, f.name) for f in fields(self) if f.init})

    def export_c(
        self,
        directory: str | os.PathLike[str],
        precision: Precision = "float64",
        style: Style = "table",
        name: str = "policy",
        max_bytes: int | None = None,
    ) -> CExport:
        """Writes the policy as C99 that needs no heap and no library, with a self-test, a Makefile and a sketch."""
        from policyforest.export import export_c

        return export_c(self, directory, precision, style, name, max_bytes)

    def export_onnx(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy in float32 as an ONNX model of standard operators."""
        from policyforest.export import export_onnx

        export_onnx(self, path)

    def _act_inside(self, state: ArrayLike) -> Floats:
        action = self.native.act(state)  # refuses anything that is not a state
        self._check_inside(np.asarray(state, dtype=np.float64)[np.newaxis])
        return action

    def _check_inside(self, rows: Floats) -> None:
        box = self.state_box
        outside = (rows < box[:, 0]) | (rows > box[:, 1])
        outside[:, list(self.periodic)] = False
        if outside.any():
            i, d = np.argwhere(outside)[0]
            raise ValueError(
                f"state: has {rows[i, d]} in dimension {d}, must be within {box[d].tolist()}, the states that the "
                "policy knows"
            )


def rebuild_policy(cls: type[Policy], parts: dict[str, Any]) -> Policy:
    return cls(**parts)


def uniform_states(box: Floats, number: int, rng: np.random.Generator) -> Floats:
    """Uniform random states of a finite box."""
    lo, hi = box.T
    drawn: Floats = np.clip(lo + rng.random((number, len(lo))) * (hi - lo), lo, hi)
    return drawn
