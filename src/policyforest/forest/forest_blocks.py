"""Growing and maximising in blocks, by any `Executor`.

A forest is grown some trees at a time: tree k draws from stream k of the seed, so the joined blocks are the whole
forest, bit for bit. The best actions of many states are found some states at a time, because they do not depend on each
other. Data that stay the same between calls (the inputs in the order in which trees are grown, the states in an order
in which neighbours are near each other) are made and shared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import policyforest._core as _core
from policyforest._support.arguments import Floats, finite_array, moderate
from policyforest.forest.best_actions import BestActions
from policyforest.forest.executors.interface import Executor
from policyforest.forest.forest import Forest
from policyforest.forest.growth_rules import Score, check_inside_box, growth_rules, period_rows, score_values

Tell = Callable[[float], None]
Maximise = Callable[[Floats, int], BestActions]

# The smallest block that is worth handing over, in samples times trees, and in states: about 0.2 s of work.
BLOCK_SAMPLES, BLOCK_STATES = 1_000_000, 1 << 14
# Larger blocks of states would cost memory, about 100 bytes per state, and gain no time.
LARGEST_BLOCK = 1 << 18


def silent(done: float) -> None:
    """Reports no progress."""


class SharedInputs:
    """The inputs of samples as columns: checked, sorted as growing needs them, and shared."""

    def __init__(
        self,
        executor: Executor,
        name: str,
        columns: Sequence[Floats],
        box: Floats,
        periodic: Mapping[int, tuple[float, float]],
    ) -> None:
        n, dims = len(columns[0]), len(columns)
        for column in columns:
            moderate("X", finite_array("X", column, 1))
        check_inside_box(columns, box)
        self._executor, self.name, self.box, self.n_samples = executor, name, box, n
        self.period = period_rows(periodic, dims)
        sorted_input = next((d for d in range(dims) if d not in periodic), None)
        # The targets lie behind the columns: the core then grows from this memory directly.
        self._table = np.empty((dims + 1, n))
        self._order: NDArray[np.uint32] | None = None
        if sorted_input is not None:
            self._order = np.argsort(columns[sorted_input], kind="stable").astype(np.uint32)
        for d, column in enumerate(columns):
            self._table[d] = column if self._order is None else column[self._order]
        self._shared = executor.share(f"{name} inputs", self._table[:dims])

    def grow(self, y: ArrayLike, *, score: Score = None, tell: Tell = silent, **how: Any) -> Forest:
        """The forest that `grow_forest` grows on these inputs; `tell` is called with the fraction that is done."""
        targets = moderate("y", finite_array("y", y, 1))
        if len(targets) != self.n_samples:
            raise ValueError(f"y: has {len(targets)} values for the {self.n_samples} rows of X")
        rules = growth_rules(self.n_samples, self.box, self.period, **how)
        scores = score_values(score, targets)
        self._table[-1] = targets if self._order is None else targets[self._order]
        if scores is not None and self._order is not None:
            scores = scores[self._order]
        blocks = self._blocks(rules["n_trees"])
        shared = self._executor.share(f"{self.name} targets", (self._table[-1], scores, rules))
        grown: list[Forest | None] = [None] * len(blocks)
        for i, (number, forest) in enumerate(self._executor.map(_grow_trees, blocks, self._shared, shared), start=1):
            grown[number] = forest
            tell(i / len(blocks))
        return Forest.join([forest for forest in grown if forest is not None])

    def _blocks(self, n_trees: int) -> list[range]:
        """Ranges of trees: as many at once as a task has threads, or more if there are few samples."""
        size = max(1, -(-BLOCK_SAMPLES // (self.n_samples * self._executor.n_jobs))) * self._executor.n_jobs
        size = min(size, -(-n_trees // self._executor.workers))
        return [range(k, min(k + size, n_trees)) for k in range(0, n_trees, size)]


def _grow_trees(trees: range, n_jobs: int, columns: Floats, targets: tuple[Floats, Floats | None, Any]) -> Forest:
    y, score, rules = targets
    some = rules | {"n_trees": len(trees), "first_tree": rules["first_tree"] + trees.start}
    return Forest(_core.grow_forest(columns=columns, y=y, score=score, weight=None, n_threads=n_jobs, **some))


class SharedStates:
    """States whose best actions are found for one forest after another."""

    def __init__(self, executor: Executor, name: str, states: Floats) -> None:
        self._executor, self._name, self._n = executor, name, len(states)
        # States of a block then take the same branch at most nodes, which matters with millions of samples.
        self._order = _core.near_order(states) if len(states) > BLOCK_STATES else None
        self._shared = executor.share(f"{name} states", states if self._order is None else states[self._order])

    def values(self, maximise: Maximise, tell: Tell = silent) -> Floats:
        """max_a Q(s, a) of every state; `maximise` is a function of rows of states and a number of threads."""
        return self._collect(_values, maximise, tell)

    def actions(self, maximise: Maximise, tell: Tell = silent) -> Floats:
        """arg max_a Q(s, a) of every state, one per row."""
        return self._collect(_actions, maximise, tell)

    def _collect(self, task: Callable[..., Floats], maximise: Maximise, tell: Tell) -> Floats:
        blocks = self._blocks()
        shared = self._executor.share(f"{self._name} maximise", maximise)
        found = np.empty(0)
        for i, (number, part) in enumerate(self._executor.map(task, blocks, self._shared, shared), start=1):
            if i == 1:
                found = np.empty((self._n, *part.shape[1:]))
            begin, end = blocks[number]
            found[slice(begin, end) if self._order is None else self._order[begin:end]] = part
            tell(i / len(blocks))
        return found

    def _blocks(self) -> list[tuple[int, int]]:
        """A few blocks per worker, so that none waits long for the last one."""
        workers = self._executor.workers
        size = LARGEST_BLOCK if workers == 1 else min(LARGEST_BLOCK, max(BLOCK_STATES, -(-self._n // (4 * workers))))
        return [(begin, min(begin + size, self._n)) for begin in range(0, self._n, size)]


def _values(block: tuple[int, int], n_jobs: int, states: Floats, maximise: Maximise) -> Floats:
    return maximise(states[slice(*block)], n_jobs).value


def _actions(block: tuple[int, int], n_jobs: int, states: Floats, maximise: Maximise) -> Floats:
    return maximise(states[slice(*block)], n_jobs).action
