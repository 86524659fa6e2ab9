"""Plain kd-trees of knownness: a leaf is a list of points, every rule is written as the paper has it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Point = tuple[float, ...]
MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


class Stream:
    """The core's random numbers: SplitMix64 of (seed, stream, number)."""

    def __init__(self, seed: int, stream: int) -> None:
        self.state = self.mix((self.mix(seed) + stream * STEP) & MASK)

    @staticmethod
    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        self.state = (self.state + STEP) & MASK
        return (self.mix(self.state) >> 11) * 2.0**-53


@dataclass
class Leaf:
    box: list[tuple[float, float]]
    volume: float = 1.0
    turn: int = 0
    points: list[Point] = field(default_factory=list)


@dataclass
class Node:
    dim: int
    value: float
    lower: Tree
    upper: Tree


Tree = Leaf | Node


class KnownnessTree:
    def __init__(
        self, box: list[tuple[float, float]], form: str, nu: int, seed: int, number: int, enough: float = math.inf
    ) -> None:
        self.box, self.form, self.nu, self.enough = box, form, nu, enough
        self.wide = [d for d, (lo, hi) in enumerate(box) if lo < hi]
        self.random = Stream(seed, number)
        self.n = 0
        self.root: Tree = Leaf(box)

    def insert(self, point: Point) -> None:
        self.n += 1
        parent, at = None, self.root
        while isinstance(at, Node):
            parent, at = at, at.lower if point[at.dim] <= at.value else at.upper
        at.points.append(point)
        grown = self.split_while_crowded(at)
        if parent is None:
            self.root = grown
        elif parent.lower is at:
            parent.lower = grown
        else:
            parent.upper = grown

    def split_while_crowded(self, leaf: Leaf) -> Tree:
        if len(leaf.points) <= self.nu or len(set(leaf.points)) == 1:
            return leaf
        dim, value = self.best_split(leaf) if self.form == "density" else self.middle(leaf)
        lo, hi = leaf.box[dim]
        share, turn = (value - lo) / (hi - lo), (self.wide.index(dim) + 1) % len(self.wide)
        lower, upper = (
            Leaf([side if d == dim else b for d, b in enumerate(leaf.box)], leaf.volume * part, turn)
            for side, part in (((lo, value), share), ((value, hi), 1.0 - share))
        )
        for point in leaf.points:
            (lower if point[dim] <= value else upper).points.append(point)
        # The core splits the upper child first.
        above = self.split_while_crowded(upper)
        return Node(dim, value, self.split_while_crowded(lower), above)

    def best_split(self, leaf: Leaf) -> tuple[int, float]:
        best = (-1.0, 0, 0.0)
        for d in self.wide:
            column = [p[d] for p in leaf.points]
            low, high, share = min(column), max(column), self.random.uniform()
            if not low < high:
                continue
            value = low + share * (high - low)
            value = value if value < high else low
            score = self.score(column, value, leaf.box[d])
            if score > best[0]:
                best = (score, d, value)
        return best[1], best[2]

    @staticmethod
    def score(column: list[float], value: float, side: tuple[float, float]) -> float:
        n, total, squares = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
        for x in column:
            i, moved = int(x > value), x - column[0]
            n[i] += 1.0
            total[i] += moved
            squares[i] += moved * moved
        w = (value - side[0]) / (side[1] - side[0])
        count = n[0] + n[1]
        spread = squares[0] + squares[1] - (total[0] + total[1]) * (total[0] + total[1]) / count
        left = squares[0] - total[0] * total[0] / n[0] + (squares[1] - total[1] * total[1] / n[1])
        gain = max(0.0, 1.0 - left / spread) if spread > 0 else 0.0
        return 0.5 * (1.0 - (n[0] * w + n[1] * (1.0 - w)) / count) + 0.5 * gain

    def middle(self, leaf: Leaf) -> tuple[int, float]:
        for tried in range(len(self.wide)):
            d = self.wide[(leaf.turn + tried) % len(self.wide)]
            lo, hi = leaf.box[d]
            value = lo + 0.5 * (hi - lo)
            sides = {p[d] <= value for p in leaf.points}
            if value < hi and (value > lo or len(sides) == 2):
                return d, value
        raise AssertionError("points that differ can be told apart")

    def leaves(self) -> list[Leaf]:
        todo, found = [self.root], []
        while todo:
            at = todo.pop()
            if isinstance(at, Leaf):
                found.append(at)
            else:
                todo += [at.upper, at.lower]
        return found

    def leaf_knownness(self, leaf: Leaf) -> float:
        if not leaf.points:
            return 0.0
        if self.form == "density":
            density = len(leaf.points) / leaf.volume if leaf.volume > 0 else math.inf
            return min(1.0, density * (1.0 / min(self.n, self.enough)))
        k = max(1, len(self.wide))
        cells = max(1.0, math.floor(math.pow(self.n * k / self.nu, 1.0 / k)))
        sides = [(leaf.box[d][1] - leaf.box[d][0]) / (self.box[d][1] - self.box[d][0]) for d in self.wide]
        longest = max(sides, default=1.0)
        share = len(leaf.points) / self.nu
        return min(1.0, (share / longest if longest > 0 else math.inf) * (1.0 / cells))

    def knownness(self, point: Point) -> float:
        at = self.root
        while isinstance(at, Node):
            at = at.lower if point[at.dim] <= at.value else at.upper
        return self.leaf_knownness(at)
