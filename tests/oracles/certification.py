"""Plain versions of what certificates rest on: forests in rational numbers, coverage by cutting, the fixed point."""

from fractions import Fraction

import numpy as np


def covered(low, high, cells):
    """Whether half-open cells (lo, hi] cover the closed box, by cutting one cell after the other out of it."""
    if not all(a <= b for a, b in zip(low, high, strict=True)):
        return True
    left = [(tuple(np.nextafter(low, -np.inf)), tuple(high))]
    for lo, hi in cells:
        left = [piece for a, b in left for piece in _without(a, b, lo, hi)]
        if not left:
            return True
    return False


def _without(a, b, lo, hi):
    """The half-open box (a, b] without (lo, hi], as boxes."""
    if not all(x < h and lower < y for x, y, lower, h in zip(a, b, lo, hi, strict=True)):
        return [(a, b)]
    pieces, a, b = [], list(a), list(b)
    for d in range(len(a)):
        if a[d] < lo[d]:
            pieces.append((tuple(a), (*b[:d], lo[d], *b[d + 1 :])))
            a[d] = lo[d]
        if hi[d] < b[d]:
            pieces.append(((*a[:d], hi[d], *a[d + 1 :]), tuple(b)))
            b[d] = hi[d]
    return pieces


def greatest_fixed_point(cells, successors):
    """Which cells remain when those whose successors are not covered are removed, again and again."""
    n = cells.shape[1] // 2
    alive = np.ones(len(cells), dtype=bool)
    changed = True
    while changed:
        kept = [(row[:n], row[n:]) for row in cells[alive]]
        out = [i for i in np.flatnonzero(alive) if not covered(successors[i, :n], successors[i, n:], kept)]
        changed = len(out) > 0
        alive[out] = False
    return alive


def exact_forest(arrays, states):
    """The mean of a forest's trees in rational numbers, for rows of states."""
    found = []
    for state in states:
        total = Fraction(0)
        offsets, leaves = arrays["node_offsets"].tolist(), arrays["leaf_offsets"].tolist()
        for first, first_leaf in zip(offsets[:-1], leaves[:-1], strict=True):
            i = first
            while arrays["feature"][i] >= 0:
                upper = state[arrays["feature"][i]] > arrays["split"][i]
                i = first + int(arrays["child"][i]) + int(upper)
            if arrays["coefficients"].size:
                row = arrays["coefficients"][first_leaf + int(arrays["child"][i])]
                total += Fraction(row[-1]) + sum(Fraction(w) * Fraction(x) for w, x in zip(row, state, strict=False))
            else:
                total += Fraction(arrays["split"][i])
        found.append(total / (len(offsets) - 1))
    return found
