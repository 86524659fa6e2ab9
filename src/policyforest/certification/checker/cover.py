"""Whether cells cover boxes: planes that cut no cell divide cells and boxes, until one cell is left, which must contain
its boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats

# Cells that are compared pair by pair.
FEW = 32


def all_covered(cells: tuple[Floats, Floats], boxes: tuple[Floats, Floats]) -> NDArray[np.bool_]:
    """Whether cells (lo, hi] cover each closed box; rows of lower and of upper sides."""
    result = np.asarray(np.isfinite(boxes[0]).all(axis=1) & np.isfinite(boxes[1]).all(axis=1))
    # A half-open box that contains the closed one and is larger by one double at its lower side.
    low = np.nextafter(boxes[0], -np.inf)
    work = [(np.arange(len(cells[0])), np.arange(len(low)), low, boxes[1])]
    while work:
        mine, asked, lo, hi = work.pop()
        if len(asked) == 0:
            continue
        if len(mine) == 0:
            result[asked] = False
            continue
        if len(mine) == 1:
            inside = (cells[0][mine[0]] <= lo).all(axis=1) & (hi <= cells[1][mine[0]]).all(axis=1)
            result[asked[~inside]] = False
            continue
        plane = _plane(cells[0][mine], cells[1][mine])
        if plane is None:
            result[asked] = False
            continue
        d, at = plane
        below = cells[1][mine, d] <= at
        for side, members in ((0, mine[below]), (1, mine[~below])):
            reach = lo[:, d] < at if side == 0 else hi[:, d] > at
            part_lo, part_hi = lo[reach].copy(), hi[reach].copy()
            if side == 0:
                part_hi[:, d] = np.minimum(part_hi[:, d], at)
            else:
                part_lo[:, d] = np.maximum(part_lo[:, d], at)
            work.append((members, asked[reach], part_lo, part_hi))
    return result


def disjoint(lo: Floats, hi: Floats) -> bool:
    """Whether no two cells (lo, hi] have a point in common: planes divide them in the same way, until few are left to
    be compared in pairs.

    Cells that no plane divides count as overlapping; the cells of a search are always divided by its cuts."""
    work = [np.arange(len(lo))]
    while work:
        mine = work.pop()
        low, high = lo[mine], hi[mine]
        if len(mine) <= FEW:
            common = (np.maximum(low[:, None], low[None]) < np.minimum(high[:, None], high[None])).all(axis=2)
            if common.sum() > len(mine):
                return False
            continue
        plane = _plane(low, high)
        if plane is None:
            return False
        below = high[:, plane[0]] <= plane[1]
        work += [mine[below], mine[~below]]
    return True


def _plane(lo: Floats, hi: Floats) -> tuple[int, float] | None:
    """A plane that cuts no cell and has cells on both sides, as evenly as possible; None if there is none."""
    best: tuple[int, float] | None = None
    most = 0
    for d in range(lo.shape[1]):
        order = np.argsort(lo[:, d], kind="stable")
        reached = np.maximum.accumulate(hi[order, d])[:-1]
        free = np.flatnonzero(reached <= lo[order, d][1:])
        if len(free) == 0:
            continue
        even = np.minimum(free + 1, len(lo) - free - 1)
        k = int(even.argmax())
        if even[k] > most:
            best, most = (d, float(reached[free[k]])), int(even[k])
    return best
