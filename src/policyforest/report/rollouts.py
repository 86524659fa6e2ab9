"""A picture of rollouts of policies in a learned model, and of the edge of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.labels import labels_for
from policyforest.learning.improvement.rollouts import ModelRollouts
from policyforest.report.canvas import BLUE, GREEN, INK, ORANGE, VIOLET, panels, styled
from policyforest.report.data_edge import outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from policyforest.learning.dynamics.dynamics_model import DynamicsModel

# The first member of the ensemble that no policy of `PlannedLearning` was made with.
FIRST_MEMBER = 200


@styled
def rollouts_figure(
    model: DynamicsModel,
    policies: Mapping[str, Any],
    *,
    discount: float,
    n_rollouts: int = 6,
    n_steps: int = 40,
    dims: tuple[int, int] = (0, 1),
    problem: str = "",
    seed: int = 0,
) -> Figure:
    """Rollouts of policies in members of the model's ensemble: over two state dimensions, and over the control steps.

    The dashed lines are the edge of the data. A rollout ends when it leaves the data, if these have terminal steps.

    Args:
        policies: A few policies by the names that the legend shows.
        discount: gamma, on which the value of leaving the data depends.
        n_rollouts: Rollouts per policy, from states where episodes began, each in a different member.
        n_steps: The largest number of control steps of a rollout.
        dims: The two state dimensions of the axes; the second is also shown over the control steps.
        problem: An id or a short name, for the names and units of the axes.
        seed: The seed of the starts and the noise.
    """
    data = model.transitions
    labels = labels_for(problem, data.states.shape[1], data.actions.shape[1])
    names = [labels.states[d] for d in dims]
    edge = model.edge(discount).box[list(dims)]
    first = np.unique(data.episodes, return_index=True)[1]
    starts = data.states[np.random.default_rng(seed).choice(first, size=n_rollouts)]
    figure, (plane, time) = panels(2, width=5.2, height=4.0)
    x, y = data.states[:, list(dims)].T
    plane.scatter(x, y, s=6, color=INK, alpha=0.25, lw=0, label="samples", zorder=1)
    rollouts = ModelRollouts(model, discount, n_rollouts)
    for (name, policy), color in zip(policies.items(), (ORANGE, BLUE, GREEN, VIOLET), strict=False):
        paths = [_path(rollouts, policy, start, n_steps, seed + i, FIRST_MEMBER + i) for i, start in enumerate(starts)]
        _draw_paths(plane, time, [path[:, list(dims)] for path in paths], n_steps, name, color)
    _finish(figure, plane, time, edge, names)
    return figure


def _finish(figure: Figure, plane: Axes, time: Axes, edge: Floats, names: Sequence[str]) -> None:
    """The edge of the data, the names of the axes and the legend."""
    plane.plot(*outline(edge), color=INK, lw=1.2, ls="--", label="edge of the data", zorder=2)
    for side in edge[1]:
        time.axhline(side, color=INK, lw=1.2, ls="--")
    plane.set(title="Over two state dimensions", xlabel=names[0], ylabel=names[1])
    time.set(title="Over time", xlabel="control step", ylabel=names[1], ylim=plane.get_ylim())
    plane.plot([], [], "X", color=INK, ms=7, mec="white", label="end of a rollout")
    handles, texts = plane.get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=len(texts), handlelength=1.6)


def _path(rollouts: ModelRollouts, policy: Any, start: Floats, n_steps: int, seed: int, member: int) -> Floats:
    """The start of a rollout and the states that it passes until it ends."""
    passed = rollouts.visited(policy, start[None], n_steps=n_steps, seed=seed, member=member, action_noise=0.0)
    return np.concatenate([start[None], passed])


def _draw_paths(plane: Axes, time: Axes, paths: Sequence[Floats], n_steps: int, name: str, color: str) -> None:
    """Lines with a circle at the start, and a cross where a rollout ends before its last step."""
    for i, path in enumerate(paths):
        plane.plot(*path.T, color=color, lw=1.3, alpha=0.85, label=name if i == 0 else None, zorder=3)
        plane.plot(*path[0], "o", color=color, ms=4, zorder=4)
        time.plot(path[:, 1], color=color, lw=1.3, alpha=0.85)
        if len(path) <= n_steps:
            plane.plot(*path[-1], "X", color=color, ms=7, mec="white", zorder=5)
            time.plot(len(path) - 1, path[-1, 1], "X", color=color, ms=7, mec="white", zorder=5)
