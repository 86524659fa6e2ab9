"""Regression forests: predict, project, average, prune, and find the best action. `growing` makes them.

A forest is the average of M trees over D inputs, F(x) = sum_k t_k(x) / M, with a bounding box. If ``x[d] <= v`` at a
node, the lower child is taken. Leaves are constants ("PWC") or linear functions w·x + c ("PWL"). The work is done by
the native core; the objects here hold a forest of the core, check all arguments and never change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

import policyforest._core as _core
from policyforest._support.arguments import (
    Floats,
    box_array,
    finite_array,
    moderate,
    one_of,
    threads,
    whole_number,
)
from policyforest.forest.best_actions import SEARCH_MODES, BestActions, SearchMode, best_actions
from policyforest.forest.growth_rules import LeafModel


class Forest:
    """M regression trees over D inputs. Made by `grow_forest`, `Forest.from_arrays` or `Forest.from_sklearn`."""

    __slots__ = ("_native", "predict_one")

    predict_one: Callable[[ArrayLike], float]
    """F(x) for one row of D numbers. A contiguous float64 array is fastest; other numbers are converted."""

    def __init__(self, native: _core.Forest) -> None:
        if not isinstance(native, _core.Forest):
            raise TypeError("native: use grow_forest, Forest.from_arrays or Forest.from_sklearn to make a Forest")
        self._native = native
        self.predict_one = native.predict_one

    @classmethod
    def from_arrays(
        cls,
        *,
        feature: ArrayLike,
        split: ArrayLike,
        child: ArrayLike,
        node_offsets: ArrayLike,
        box: ArrayLike,
        coefficients: ArrayLike | None = None,
    ) -> Forest:
        """Rebuilds a forest from its arrays (see `arrays`) after checking all of them, in O(nodes)."""
        sides = box_array("box", box)
        models = np.empty((0, len(sides) + 1)) if coefficients is None else coefficients
        features, splits = _integers("feature", feature, np.int32), finite_array("split", split, 1)
        if len(features) == len(splits) and (features < 0).any():
            moderate("split", splits[features < 0])
        native = _core.Forest(
            features,
            splits,
            _integers("child", child, np.int32),
            _integers("node_offsets", node_offsets, np.int64),
            moderate("coefficients", finite_array("coefficients", models, 2, allow_empty=True)),
            sides,
        )
        return cls(native)

    @classmethod
    def from_sklearn(cls, model: Any, box: ArrayLike | None = None) -> Forest:
        """A fitted scikit-learn, LightGBM or XGBoost regressor as a Forest with the same predictions."""
        from policyforest.forest.converters import forest_from_sklearn

        return forest_from_sklearn(model, box)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Read-only views of the flat arrays, trees one after the other.

        ``feature`` (-1: a leaf), ``split`` (threshold; in a leaf its constant), ``child`` (lower child, counted from
        the tree's first node, the upper one follows; in a leaf its number among the tree's leaves), ``node_offsets``
        and ``leaf_offsets`` (first node and leaf of each tree, and their number), ``coefficients`` (w…, c of each leaf;
        empty for constant leaves) and ``box`` (rows lo, hi).
        """
        views = self._native.arrays()
        views["coefficients"].flags.writeable = False  # otherwise, an empty array would be writable
        return {**views, "box": self.box}

    @property
    def box(self) -> Floats:
        """Rows (lo, hi), one per input."""
        box = self._native.box
        box.flags.writeable = False
        return box

    @property
    def n_inputs(self) -> int:
        """The number of inputs of a row."""
        return self._native.n_inputs

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together."""
        return self._native.n_leaves

    @property
    def depth(self) -> int:
        """The number of splits on the longest path from a root to a leaf."""
        return max(self._native.depths)

    @property
    def depths(self) -> list[int]:
        """The depth of each tree."""
        return self._native.depths

    @property
    def leaf_model(self) -> LeafModel:
        """The kind of the leaves: "constant", or "linear" in the inputs."""
        return "linear" if self._native.linear else "constant"

    def __len__(self) -> int:
        return self._native.n_trees

    @overload
    def __getitem__(self, index: int) -> Forest: ...
    @overload
    def __getitem__(self, index: slice) -> Forest: ...
    def __getitem__(self, index: int | slice) -> Forest:
        """The forest of one tree, or of a slice of the trees."""
        numbers = range(len(self))[index]
        chosen = [numbers] if isinstance(numbers, int) else list(numbers)
        if not chosen:
            raise ValueError(f"index: {index!r} selects none of {len(self)} trees")
        return Forest(_core.select_trees(self._native, chosen))

    @staticmethod
    def join(parts: Sequence[Forest]) -> Forest:
        """All trees of several forests, in their order. If all have the same size, the result is their average."""
        if not parts:
            raise ValueError("parts: is empty, must hold at least one Forest")
        return parts[0] if len(parts) == 1 else Forest(_core.join_forests([part._native for part in parts]))

    def release_search(self) -> None:
        """Frees the memory that `best_action` keeps between calls: for each action dimension along which lines were
        searched, as much as the forest itself takes."""
        self._native.release_search()

    def __repr__(self) -> str:
        return (
            f"Forest({len(self)} trees, {self.n_inputs} inputs, {self.n_leaves} {self.leaf_model} leaves, "
            f"depth {self.depth})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {name: np.array(array) for name, array in self.arrays.items() if name != "leaf_offsets"}
        if self.leaf_model == "constant":
            arrays["coefficients"] = None  # type: ignore[assignment]
        return _from_array_dict, (arrays,)

    def predict(self, X: ArrayLike, n_jobs: int | None = 1) -> Floats:
        """F(x) for every row of X. Points outside the box get the value of the outermost leaf."""
        rows = self._rows("X", X, self.n_inputs)
        return self._native.predict(rows, threads(n_jobs))

    def project(self, state: ArrayLike, state_dims: Sequence[int] | None = None) -> Forest:
        """Algorithm 1: the forest over the other inputs when `state_dims` (default: the first ones) are fixed."""
        values = finite_array("state", state, 1)
        dims = list(range(len(values))) if state_dims is None else self._dims("state_dims", state_dims)
        if len(dims) != len(values) or len(dims) >= self.n_inputs:
            raise ValueError(
                f"state: has {len(values)} values for {len(dims)} of {self.n_inputs} inputs; it must fix at least one "
                "input and leave one free"
            )
        x = np.zeros(self.n_inputs)
        x[dims] = values
        self._inside("state", x[np.newaxis], dims)
        fixed = [int(d in dims) for d in range(self.n_inputs)]
        return Forest(_core.project(self._native, x, fixed))

    def average(self, max_leaves: int | None = None, weights: ArrayLike | None = None) -> Forest:
        """Algorithm 2: one tree that equals the (weighted) average of all, pruned to `max_leaves` after each merge.

        Without `max_leaves` the tree is exact, and may become very large.
        """
        w = np.ones(len(self)) if weights is None else finite_array("weights", weights, 1)
        if len(w) != len(self) or w.min() < 0 or w.max() <= 0:
            raise ValueError(f"weights: must be {len(self)} numbers >= 0 that are not all 0")
        w = w / w.max()  # so that tiny weights do not round to 0, and huge weights do not overflow
        limit = 0 if max_leaves is None else whole_number("max_leaves", max_leaves, at_least=1, at_most=2**62)
        return Forest(_core.average(self._native, w.tolist(), limit))

    def prune(self, max_leaves: int) -> Forest:
        """Algorithm 3: every tree with at most `max_leaves` leaves; splits that change it least are removed first."""
        return Forest(_core.prune(self._native, whole_number("max_leaves", max_leaves, at_least=1, at_most=2**62)))

    def best_action(
        self,
        states: ArrayLike,
        action_dims: Sequence[int] | None = None,
        search: SearchMode = "exact",
        max_leaves: int = 50,
        n_jobs: int | None = 1,
    ) -> BestActions:
        """Maximum and arg max of F(s, ·) over the action box, Eq. 5 (bestForestAction), for each row of `states`.

        `action_dims` are the inputs that are actions (default: the last ones, those that `states` does not fill).
        "exact" finds the true maximum. "bounded" finds a value near it, at a bounded cost per state (see
        `bounded_search`; with one action dimension it is the same as "exact"). "merged" is the paper's search:
        project, merge, prune to `max_leaves`, take the best leaf. If several boxes are best, the action is the middle
        of the lowest box (linear leaves: its best corner). With one action dimension, neighbouring boxes of equal value
        count as one.
        """
        given = finite_array("states", states, 2)
        default = range(given.shape[1], self.n_inputs)
        actions = list(default) if action_dims is None else self._dims("action_dims", action_dims)
        state_dims = [d for d in range(self.n_inputs) if d not in actions]
        if not actions or given.shape[1] != len(state_dims):
            raise ValueError(
                f"states: has {given.shape[1]} columns, must have {len(state_dims)} for {self.n_inputs} inputs "
                f"of which {len(actions)} are actions"
            )
        one_of("search", search, SEARCH_MODES)
        leaves = whole_number("max_leaves", max_leaves, at_least=1, at_most=2**62)
        rows = np.zeros((len(given), self.n_inputs))
        rows[:, state_dims] = given
        self._inside("states", rows, state_dims)
        return best_actions(self._native, rows, actions, search, leaves, threads(n_jobs))

    def best_action_inside(
        self, states: Floats, search: SearchMode, max_leaves: int, n_jobs: int | None
    ) -> BestActions:
        """`best_action` for rows that are known to be finite and inside the box, if the actions are the last inputs."""
        n_states = states.shape[1]
        rows = np.zeros((len(states), self.n_inputs))
        rows[:, :n_states] = states
        actions = list(range(n_states, self.n_inputs))
        return best_actions(self._native, rows, actions, search, max_leaves, threads(n_jobs))

    def to_text(self, feature_names: Sequence[str] | None = None, max_nodes: int = 200) -> str:
        """The trees as indented text, at most `max_nodes` nodes of each."""
        from policyforest.forest.tree_text import tree_text

        names = [f"x{d}" for d in range(self.n_inputs)] if feature_names is None else list(feature_names)
        if len(names) != self.n_inputs:
            raise ValueError(f"feature_names: has {len(names)} names for {self.n_inputs} inputs")
        limit = whole_number("max_nodes", max_nodes, at_least=1)
        return "\n".join(tree_text(self, k, names, limit) for k in range(len(self)))

    def _rows(self, name: str, value: ArrayLike, width: int) -> Floats:
        rows = finite_array(name, value, 2)
        if rows.shape[1] != width:
            raise ValueError(f"{name}: has {rows.shape[1]} columns, must have {width}")
        return rows

    def _dims(self, name: str, dims: Sequence[int]) -> list[int]:
        chosen = [whole_number(name, d, at_least=0, at_most=self.n_inputs - 1) for d in dims]
        if len(set(chosen)) != len(chosen):
            raise ValueError(f"{name}: {chosen} names an input twice")
        return chosen

    def _inside(self, name: str, rows: Floats, dims: list[int]) -> None:
        box = self.box
        for d in dims:
            outside = (rows[:, d] < box[d, 0]) | (rows[:, d] > box[d, 1])
            if outside.any():
                i = int(np.argmax(outside))
                raise ValueError(f"{name}: row {i} has {rows[i, d]} for input {d}, whose box is {box[d].tolist()}")


def _integers(name: str, value: ArrayLike, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: not an array of whole numbers ({error})") from error
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"{name}: is {array.dtype} {array.shape}, must be a one-dimensional array of whole numbers")
    limits = np.iinfo(dtype)
    if array.min() < limits.min or array.max() > limits.max:
        raise ValueError(f"{name}: holds numbers beyond {np.dtype(dtype).name}")
    return np.ascontiguousarray(array, dtype=dtype)


def _from_array_dict(arrays: dict[str, Any]) -> Forest:
    return Forest.from_arrays(**arrays)
