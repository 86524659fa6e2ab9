"""Samples on a picture of a policy, and the edge of the data: beyond it, the action is only extrapolated."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np

from policyforest._support.arguments import Floats
from policyforest.report.canvas import INK
from policyforest.report.state_slice import StateSlice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The opacity of the white veil beyond the edge of the data.
VEIL = 0.55


def data_edge(plane: StateSlice, samples: Floats, periodic: Container[int]) -> Floats:
    """Rows (lo, hi) of the samples along the plane's dimensions. An angle that wraps around has no edge."""
    if samples.ndim != 2 or samples.shape[1] != len(plane.fixed) or len(samples) == 0:
        raise ValueError(f"samples: have the shape {samples.shape}, must be rows of {len(plane.fixed)} numbers")
    chosen = samples[:, list(plane.dims)]
    box = np.stack([chosen.min(axis=0), chosen.max(axis=0)], axis=1)
    for i, dim in enumerate(plane.dims):
        if dim in periodic:
            box[i] = plane.box[i]
    return box


def draw_samples(axes: Axes, plane: StateSlice, samples: Floats, periodic: Container[int]) -> None:
    """Draws the samples as dots, the edge of the data as a dashed line, and a veil over what lies beyond it."""
    edge = data_edge(plane, samples, periodic)
    if len(plane.dims) == 1:
        for i, side in enumerate(edge[0]):
            axes.axvline(side, color=INK, lw=1.2, ls="--", label=None if i else "edge of the data")
        return
    first, second = ((values < lo) | (values > hi) for values, (lo, hi) in zip(plane.axes, edge, strict=True))
    veil = np.ones((plane.resolution, plane.resolution, 4))
    veil[..., 3] = VEIL * (second[:, None] | first[None, :])
    left, right, bottom, top = map(float, plane.box.ravel())
    axes.imshow(veil, origin="lower", extent=(left, right, bottom, top), aspect="auto", interpolation="nearest")
    x, y = samples[:, list(plane.dims)].T
    axes.scatter(x, y, s=7, color=INK, alpha=0.7, ec="white", lw=0.3, label="samples")
    axes.plot(*outline(edge), color="white", lw=2.4)  # so that the dashes are visible on dark colours
    axes.plot(*outline(edge), color=INK, lw=1.2, ls="--", label="edge of the data")
    axes.set(xlim=tuple(plane.box[0]), ylim=tuple(plane.box[1]))


def outline(box: Floats) -> tuple[Floats, Floats]:
    """The corners of a rectangle as a closed line."""
    (left, right), (low, high) = box
    return np.array([left, right, right, left, left]), np.array([low, low, high, high, low])
