"""How well each part of a box is known: kd-trees that take points one by one (§ Exploration).

There are two forms. The paper's is "density", Eq. 8 (alt:knownness). In each tree it is the density of points in the
leaf of x divided by the density in the whole box, and at most 1,

    knownness(x) = min(1, (points in the leaf / its volume) / (n / volume of the box)),

averaged over trees whose splits are random. The other is the "original" of Nouri and Littman, Eq. 6 (MRE:knownness), on
the box scaled to the unit cube, with splits in the middle of one dimension after the other:

    knownness(x) = min(1, (points in the leaf / nu) / (floor((n k / nu)^(1/k)) * longest side of the leaf)).

The density ratio never saturates: if a system keeps to one path, all states off that path stay unknown for ever,
because n grows as fast as any count. `enough` prevents that: beyond this number of points, leaves are no longer
compared with n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

import policyforest._core as _core
from policyforest._support.arguments import (
    Floats,
    box_array,
    finite_array,
    one_of,
    real_number,
    seed_number,
    threads,
    whole_number,
)
from policyforest.forest.forest import Forest

Form = Literal["density", "original"]


@dataclass(frozen=True)
class KnownnessLeaves:
    """The leaves of one tree, for plots."""

    boxes: Floats
    """Rows (lo, hi) of each leaf: (leaves, dimensions, 2)"""
    counts: NDArray[np.int64]
    """The number of points in each leaf"""
    knownness: Floats


class KnownnessForest:
    """Counts points in a box, at many resolutions.

    Args:
        box: Rows (lo, hi), finite: where points may lie.
        form: "density" or "original", see above.
        n_estimators: The number of trees. In the "original" form all trees are the same, so one is enough.
        max_points: nu; a leaf that would hold more points is split, unless all of its points are the same.
        enough: The "density" form compares with min(n, enough) points spread evenly; None: with n, as the paper does.
        random_state: The seed of the random splits. Points inserted one by one or together make the same trees.
    """

    def __init__(
        self,
        box: ArrayLike,
        *,
        form: Form = "density",
        n_estimators: int = 25,
        max_points: int = 10,
        enough: float | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        one_of("form", form, ("density", "original"))
        self.form: Form = form
        self.box = box_array("box", box)
        self.box.flags.writeable = False
        if not np.isfinite(self.box).all():
            raise ValueError(f"box: is {self.box.tolist()}, must be finite")
        self._native = _core.KnownnessForest(
            self.box,
            form == "original",
            whole_number("n_estimators", n_estimators, at_least=1, at_most=2**20),
            whole_number("max_points", max_points, at_least=1, at_most=2**30),
            seed_number("random_state", random_state),
            np.inf if enough is None else real_number("enough", enough, at_least=1.0),
        )
        self.n_estimators = n_estimators

    def __len__(self) -> int:
        """The number of points inserted."""
        return self._native.n_points

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees together."""
        return self._native.n_leaves

    def __repr__(self) -> str:
        return f"KnownnessForest({self.form}, {self.n_estimators} trees, {len(self)} points, {self.n_leaves} leaves)"

    def insert(self, points: ArrayLike, n_jobs: int | None = 1) -> None:
        """Adds a point or rows of points, in O(log n) each. If a point is outside the box, an error is raised, and no
        point is added."""
        self._native.insert(self._rows(points), threads(n_jobs))

    def knownness(self, points: ArrayLike, n_jobs: int | None = 1) -> Floats:
        """Between 0 (nothing known) and 1, for each row. A point outside of the box raises an error."""
        rows = self._rows(points)
        outside = (rows < self.box[:, 0]) | (rows > self.box[:, 1])
        if outside.any():
            i, d = np.argwhere(outside)[0]
            raise ValueError(f"points: row {i} has {rows[i, d]} in dimension {d}, must lie in {self.box[d].tolist()}")
        return self._native.knownness(rows, threads(n_jobs))

    def coverage(self, n_points: int = 1_000) -> float:
        """The mean knownness of the box, at `n_points` points that are always the same."""
        share = np.random.default_rng(0).random((n_points, len(self.box)))
        lo, hi = self.box.T
        return float(self._native.knownness(np.clip(lo + share * (hi - lo), lo, hi)).mean())

    def leaves(self, tree: int = 0) -> KnownnessLeaves:
        """The boxes of the leaves of one tree, with their points and knownness."""
        number = whole_number("tree", tree, at_least=0, at_most=self.n_estimators - 1)
        boxes, counts, known = self._native.leaves(number)
        return KnownnessLeaves(boxes, counts.astype(np.int64), known)

    def optimistic(self, forest: Forest, value: float, fade: float = 1.0, n_jobs: int | None = 1) -> Forest:
        """Eq. 9 (alt:update): the forest with every leaf v moved towards an optimistic `value` where little is known,
        v' = u value + (1 - u) v, u = fade (1 - knownness(centre of the leaf's box, clipped to this box))."""
        optimistic, faded = real_number("value", value), real_number("fade", fade, at_least=0.0, below=1.0 + 1e-12)
        return Forest(_core.optimistic_leaves(forest._native, self._native, optimistic, faded, threads(n_jobs)))

    def _rows(self, points: ArrayLike) -> Floats:
        array = np.asarray(points)
        rows = finite_array("points", array[np.newaxis] if array.ndim == 1 else array, 2)
        if rows.shape[1] != len(self.box):
            raise ValueError(f"points: has {rows.shape[1]} columns, must have {len(self.box)}")
        return rows
