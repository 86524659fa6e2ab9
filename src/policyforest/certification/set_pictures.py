"""Pictures of a certified set: over the policy's map, with trajectories that start at its edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from policyforest._support.arguments import Floats
from policyforest._support.spaces import bounds
from policyforest.certification.certificate import Certificate
from policyforest.certification.certified_policy import acting_policy
from policyforest.certification.counterexamples import task_step
from policyforest.certification.modest_numbers import percent
from policyforest.report.canvas import GREEN, INK, ORANGE, panels, png_bytes, styled
from policyforest.report.page import heading, paragraph, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from policyforest.policy.policy import Policy

RESOLUTION = 300
TRAJECTORIES, SHOWN_STEPS = 8, 20
# The margin around the box, as a fraction of its sides, which shows the edge of a set that fills the box.
MARGIN = 0.02


@styled
def certificate_figure(
    certificate: Certificate, policy: Policy, dims: Sequence[int] | None = None, at: Sequence[float] | None = None
) -> Figure:
    """The set over the map of the first action: one panel for two states, slices along pairs of states for more.

    Args:
        dims: The two state dimensions of a single panel; default: the first two, and the others in further panels.
        at: The state that holds the values of the other dimensions; default: the middle of the start box.
    """
    n = certificate.n_states
    if n < 2:
        raise ValueError("certificate: has one state dimension, a picture needs two")
    middle = certificate.start.mean(axis=1) if at is None else np.asarray(at, dtype=np.float64)
    if middle.shape != (n,):
        raise ValueError(f"at: has {len(middle)} numbers, must have {n}")
    chosen = [tuple(dims)] if dims is not None else [(d, d + 1) for d in range(0, n - 1, 2)]
    if any(len(pair) != 2 or not all(0 <= d < n for d in pair) or pair[0] == pair[1] for pair in chosen):
        raise ValueError(f"dims: is {dims}, must be two different state dimensions")
    figure, areas = panels(len(chosen), width=6.0, height=4.6)
    ways = edge_trajectories(certificate, policy)
    view = _view(certificate, ways)
    for axes, pair in zip(areas, chosen, strict=True):
        _draw_panel(axes, certificate, policy, pair, middle, view[list(pair)])
        for way in ways:
            axes.plot(way[:, pair[0]], way[:, pair[1]], color=INK, lw=0.7, alpha=0.8)
            axes.plot(*way[0, list(pair)], "o", color=INK, ms=3)
        _draw_rest(axes, certificate, pair)
    where = "box" if np.array_equal(certificate.start, certificate.box) else "start box"
    share = f"{percent(certificate.share, 1)} of the {where} is certified ({len(certificate.cells):,} cells)"
    if certificate.steps > 1:
        share += f"; trajectories are in it after every {certificate.steps} control steps, and in the box between them"
    figure.suptitle(share, x=0.01, ha="left", fontsize=9)
    return figure


def _view(certificate: Certificate, ways: list[Floats]) -> Floats:
    """The range of each state in the picture: the start box, where trajectories go between moves, and a margin."""
    low, high = certificate.start[:, 0], certificate.start[:, 1]
    if certificate.steps > 1 and ways:
        visited = np.concatenate(ways)
        low, high = np.minimum(low, visited.min(axis=0)), np.maximum(high, visited.max(axis=0))
    margin = MARGIN * (high - low)
    return np.stack([low - margin, high + margin], axis=1)


def _draw_panel(
    axes: Axes, certificate: Certificate, policy: Policy, pair: tuple[int, ...], middle: Floats, box: Floats
) -> None:
    edges = [np.linspace(low, high, RESOLUTION + 1) for low, high in box]
    centres = [(e[:-1] + e[1:]) / 2 for e in edges]
    states = np.tile(middle, (RESOLUTION**2, 1))
    for d, values in zip(pair, np.meshgrid(*centres, indexing="xy"), strict=True):
        states[:, d] = np.clip(values.ravel(), *certificate.box[d])
    actions = np.asarray(policy.act_batch(certificate.model.read(states)))[:, 0].reshape(RESOLUTION, RESOLUTION)
    low, high = bounds(policy.action_space)[0]
    extent = (*box[0], *box[1])
    shown = axes.imshow(
        actions, origin="lower", extent=extent, aspect="auto", cmap="RdBu_r", vmin=low, vmax=high, alpha=0.75
    )
    axes.figure.colorbar(shown, ax=axes).set_label(certificate.model.action_names[0], rotation=0)
    inside = set_on_grid(certificate, pair, middle, edges)
    paler = np.ones((RESOLUTION, RESOLUTION, 4))
    paler[..., 3] = np.where(inside, 0.0, 0.6)
    axes.imshow(paler, origin="lower", extent=extent, aspect="auto")
    if inside.any():
        axes.contour(*centres, inside.astype(float), levels=[0.5], colors=[GREEN], linewidths=1.8)
    names = [certificate.model.state_names[d] for d in pair]
    axes.set(xlabel=names[0], ylabel=names[1], title="Certified set (green line)", xlim=box[0], ylim=box[1])


def set_on_grid(
    certificate: Certificate, pair: Sequence[int], middle: Floats, edges: Sequence[Floats]
) -> NDArray[np.bool_]:
    """Which cells of a grid have their middle in the set; rows run along the second of the two dimensions."""
    lo, hi = certificate.sides
    others = [d for d in range(certificate.n_states) if d not in pair]
    meets = ((lo[:, others] < middle[others]) & (middle[others] <= hi[:, others])).all(axis=1)
    inside = np.zeros((len(edges[1]) - 1, len(edges[0]) - 1), dtype=np.bool_)
    centres = [(e[:-1] + e[1:]) / 2 for e in edges]
    for low, high in zip(lo[meets], hi[meets], strict=True):
        x = np.searchsorted(centres[0], [low[pair[0]], high[pair[0]]], side="right")
        y = np.searchsorted(centres[1], [low[pair[1]], high[pair[1]]], side="right")
        inside[y[0] : y[1], x[0] : x[1]] = True
    return inside


def _draw_rest(axes: Axes, certificate: Certificate, pair: tuple[int, ...]) -> None:
    """The nearest cell that is not proved, and the state from which a simulated trajectory leaves."""
    state, cell = certificate.rest.counterexample, certificate.rest.nearest_cell
    if cell is not None:
        middle = [sum(cell[d]) / 2 for d in pair]
        axes.plot(*middle, "s", color=ORANGE, ms=6, mfc="none", mew=1.5, label="nearest cell that is not proved")
    if state is not None:
        words = f"a trajectory leaves the box after {certificate.rest.counterexample_steps} steps"
        axes.plot(state[pair[0]], state[pair[1]], "x", color=ORANGE, ms=8, mew=2, label=words)
    if state is not None or cell is not None:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=1, frameon=False)


def edge_trajectories(certificate: Certificate, policy: Policy, seed: int = 0) -> list[Floats]:
    """A few trajectories from the edge of the set, under random disturbances at their limits."""
    if not certificate:
        return []
    rng = np.random.default_rng(seed)
    (lo, hi), width = certificate.sides, certificate.start[:, 1] - certificate.start[:, 0]
    ways = rng.standard_normal((TRAJECTORIES, certificate.n_states))
    # The corner of the set that is furthest in each direction; cells are open below.
    corners = [np.where(way > 0, hi, lo + 1e-9 * (hi - lo)) for way in ways]
    here = np.array([corner[int(((corner / width) @ way).argmax())] for corner, way in zip(corners, ways, strict=True)])
    program, acting = certificate.model.program(), acting_policy(policy, certificate.precision)
    model, states = certificate.model, [here]
    for _ in range(max(SHOWN_STEPS, certificate.steps)):
        noise = _ends(rng, np.asarray(model.disturbance), len(here))
        error = model.error * rng.choice([-1.0, 1.0], here.shape)
        here = task_step(model, program, acting, here, noise) + error
        states.append(here)
    return list(np.stack(states, axis=1))


def _ends(rng: np.random.Generator, ranges: Floats, rows: int) -> Floats:
    """One end of each range, at random."""
    return np.where(rng.random((rows, len(ranges))) < 0.5, ranges[:, 0], ranges[:, 1])


def certificate_blocks(certificate: Certificate, policy: Policy) -> list[str]:
    """The blocks about a certificate on a page about its policy."""
    blocks = [heading("What is proved"), paragraph(certificate.statement())]
    if certificate and certificate.n_states >= 2:
        png = png_bytes(certificate_figure(certificate, policy))
        blocks.append(picture(png, "The certified set over the policy's map, with trajectories from its edge"))
    return [*blocks, paragraph(_rest_words(certificate))]


def _rest_words(certificate: Certificate) -> str:
    rest: Any = certificate.rest
    words = (
        f"Not proved: {100 * rest.ruled_out:.2f}% is ruled out, {100 * rest.undecided:.2f}% undecided; {rest.reason}."
    )
    if rest.counterexample is not None:
        state = ", ".join(f"{x:.4g}" for x in rest.counterexample)
        words += f" From ({state}) a simulated trajectory leaves the box after {rest.counterexample_steps} steps."
    return words
