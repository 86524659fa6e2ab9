"""States near observed ones, which are never far from the data, however the data is distributed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policyforest._support.angles import difference, wrapped
from policyforest._support.arguments import Floats
from policyforest.data.transitions import Transitions

# The number of nearest neighbours that bound the distance of a drawn state from an observed one.
NEIGHBOURS = 10
# Neighbours are searched among at most this many states, and the distances are scaled to those among all states.
REFERENCES = 4_000
# Differences that are in memory at once.
BLOCK = 4_000_000


class NearbyStates:
    """Draws an observed state and moves it by a normal step, in each dimension as wide as its neighbours are apart.

    The steps are short where the data is dense, and gaps are not bridged.
    """

    def __init__(self, data: Transitions) -> None:
        self._data = data
        self._observed, self._places = np.unique(data.states, axis=0, return_inverse=True)
        self._widths = np.full_like(self._observed, np.nan)  # the widths of drawn states, kept because they cost time

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        at = self._places.reshape(-1)[rng.integers(len(self._places), size=n)]
        steps = np.clip(rng.standard_normal((n, self._observed.shape[1])), -2.0, 2.0)
        new = np.unique(at[np.isnan(self._widths[at, 0])])
        self._widths[new] = local_widths(self._observed, data=self._data, chosen=new)
        return clip(wrapped(self._observed[at] + steps * self._widths[at], self._data.periodic), self._data.state_box())


def local_widths(observed: Floats, data: Transitions, chosen: NDArray[np.intp] | None = None) -> Floats:
    """Root mean square of the differences to the nearest neighbours among the other observed states, for all of them
    or for the chosen ones."""
    n, dims = observed.shape
    chosen = np.arange(n) if chosen is None else chosen
    if n < 2:
        return np.zeros((len(chosen), dims))
    references = observed
    if n > REFERENCES:
        references = observed[np.sort(np.random.default_rng(0).permutation(n)[:REFERENCES])]
    count = min(NEIGHBOURS, len(references) - 1)
    scale = np.where(observed.std(axis=0) > 0, observed.std(axis=0), 1.0)
    widths = np.empty((len(chosen), dims))
    for rows in np.array_split(np.arange(len(chosen)), len(chosen) * len(references) // BLOCK + 1):
        pairs = ((observed[chosen[rows], d, None], references[None, :, d], d) for d in range(dims))
        apart = np.stack([difference(a, b, data.periodic, d) for a, b, d in pairs], axis=2)
        distance = np.sum((apart / scale) ** 2, axis=2)
        distance[distance == 0] = np.inf  # the state itself
        nearest: NDArray[np.intp] = np.argpartition(distance, count - 1, axis=1)[:, :count]
        widths[rows] = np.sqrt(np.mean(np.take_along_axis(apart, nearest[:, :, None], axis=1) ** 2, axis=1))
    widths *= (len(references) / n) ** (1 / dims)
    return widths


def clip(rows: Floats, box: Floats) -> Floats:
    return np.clip(rows, box[:, 0], box[:, 1])
