"""Pictures of policies, of learning and of returns.

Every function returns a matplotlib `Figure` (see `canvas`); `save_png` and `png_bytes` turn it into a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from policyforest._support.arguments import Floats
from policyforest._support.labels import Labels, labels_for, labels_of
from policyforest._support.spaces import bounds
from policyforest.report.candidates import WORDS
from policyforest.report.canvas import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    VIOLET,
    matplotlib,
    panels,
    png_bytes,
    save_png,
    styled,
    whole_numbers,
)
from policyforest.report.data_edge import draw_samples
from policyforest.report.state_slice import StateSlice, slice_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from policyforest.data.transitions import Transitions
    from policyforest.learning.q_history import QIteration

__all__ = ["episode_figure", "learning_figure", "png_bytes", "policy_figure", "returns_figure", "save_png"]

ACTION_COLORS, VALUE_COLORS = "RdBu_r", "viridis"
# An arg max takes about 20 µs per state, and the action of a policy forest takes less than one µs.
SLOW_RESOLUTION, FAST_RESOLUTION = 120, 300


@styled
def policy_figure(
    policy: Any,
    dims: Sequence[int] | None = None,
    at: Sequence[float] | None = None,
    samples: Floats | None = None,
) -> Figure:
    """The action over two state dimensions, in one panel per action dimension. For a policy that is greedy in a Q
    forest, two more panels show V(s) = max_a Q(s, a), and Q over the first of the dimensions and the first action.

    Args:
        dims: The one or two state dimensions of the axes.
        at: The state that holds the values of the other dimensions.
        samples: States that the policy was learned from, one per row. They are drawn as dots; a dashed line is the
            edge of the data, and colours are pale beyond it.
    """
    greedy = getattr(policy, "kind", "") == "greedy"
    plane = slice_of(policy, dims, at, FAST_RESOLUTION if hasattr(policy, "controller") else SLOW_RESOLUTION)
    labels = labels_of(policy)
    n_actions = len(labels.actions)
    actions = np.asarray(policy.act_batch(plane.states()))
    figure, areas = panels(n_actions + (2 if greedy else 0), height=3.8 if samples is None else 4.1)
    limits = bounds(policy.action_space)
    for j in range(n_actions):
        _draw_action(areas[j], plane, actions[:, j], limits[j], labels, j)
    if greedy:
        _draw_values(areas[n_actions], plane, policy, labels)
        _draw_q(areas[n_actions + 1], plane, policy, labels)
    if samples is not None:
        for axes in areas[: n_actions + greedy]:
            draw_samples(axes, plane, samples, getattr(policy, "periodic", {}))
        handles, texts = areas[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside lower center", ncols=len(texts), handlelength=2.2)
    figure.suptitle(_heading(policy, plane, labels), x=0.01, ha="left", fontsize=9, wrap=True)
    return figure


@styled
def learning_figure(history: Sequence[QIteration]) -> Figure:
    """The progress of Fitted Q Iteration: the mean value at the samples, and the relative drift of the values."""
    figure, (left, right) = panels(2)
    numbers = [iteration.iteration for iteration in history]
    left.plot(numbers, [iteration.value for iteration in history], color=BLUE, lw=1.8)
    left.set(title="Mean value at the samples", xlabel="iteration h", ylabel="mean of max Q (reward)")
    right.semilogy(numbers, [max(100 * abs(iteration.drift), 1e-4) for iteration in history], color=ORANGE, lw=1.8)
    right.set(title="Drift of the values", xlabel="iteration h", ylabel="mean relative change (%)")
    right.yaxis.set_major_locator(matplotlib().ticker.LogLocator(subs=(1, 2, 5)))
    right.yaxis.set_major_formatter("{x:g}")
    right.yaxis.set_minor_locator(matplotlib().ticker.NullLocator())
    for axes in (left, right):
        axes.grid(axis="y", color=FAINT, lw=0.8)
        axes.set_axisbelow(True)
        axes.xaxis.set_major_locator(whole_numbers())
    return figure


@styled
def returns_figure(returns: Floats, marks: Mapping[str, float] | None = None) -> Figure:
    """A histogram of the returns of episodes, with their mean and, in `marks`, other values to compare with."""
    figure, (axes,) = panels(1, width=6.4, height=3.0)
    axes.hist(returns, bins=min(20, max(5, len(returns) // 3)), color=BLUE, alpha=0.85, edgecolor="white", lw=0.6)
    axes.axvline(float(np.mean(returns)), color=INK, lw=1.6, label=f"mean {np.mean(returns):.4g}")
    for (name, value), color in zip((marks or {}).items(), (ORANGE, GREEN, VIOLET), strict=False):
        axes.axvline(value, color=color, lw=1.6, ls="--", label=f"{name} {value:.4g}")
    axes.set(
        title=f"Returns of {len(returns)} episodes", xlabel="return (undiscounted sum of rewards)", ylabel="episodes"
    )
    axes.yaxis.set_major_locator(whole_numbers())
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


@styled
def episode_figure(episode: Transitions, problem: str = "") -> Figure:
    """One episode over its control steps: the states on the left, the actions on the right."""
    labels = labels_for(problem, episode.states.shape[1], episode.actions.shape[1])
    figure, (left, right) = panels(2, width=4.6, height=3.0)
    for rows, names, axes in ((episode.states, labels.states, left), (episode.actions, labels.actions, right)):
        for column, name, color in zip(rows.T, names, (BLUE, ORANGE, GREEN, VIOLET), strict=False):
            axes.plot(column, color=color, lw=1.4, label=name)
        axes.axhline(0.0, color=FAINT, lw=0.8, zorder=0)
        axes.set_xlabel("control step")
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, handlelength=1.2, borderaxespad=0.2)
    return figure


def _draw_action(axes: Axes, plane: StateSlice, values: Floats, limits: Floats, labels: Labels, j: int) -> None:
    name = labels.actions[j]
    axes.set_title(name.capitalize() if name.startswith("action") else f"Action: {name}")
    if len(plane.dims) == 1:
        axes.plot(plane.axes[0], values, color=BLUE, lw=1.8)
        axes.set(xlabel=labels.states[plane.dims[0]], ylabel=name, ylim=tuple(limits))
        axes.locator_params(axis="x", nbins=6)
        return
    _heat_map(axes, plane.box, plane.shaped(values), tuple(limits), ACTION_COLORS, name)
    axes.set(xlabel=labels.states[plane.dims[0]], ylabel=labels.states[plane.dims[1]])


def _draw_values(axes: Axes, plane: StateSlice, policy: Any, labels: Labels) -> None:
    values = policy.forest.best_action(plane.states(), search=policy.action_search, max_leaves=policy.max_leaves).value
    axes.set_title("Value: V(s) = max Q(s, a)")
    if len(plane.dims) == 1:
        axes.plot(plane.axes[0], values, color=BLUE, lw=1.8)
        axes.set(xlabel=labels.states[plane.dims[0]], ylabel="V (reward)")
        return
    _heat_map(axes, plane.box, plane.shaped(values), _most(values), VALUE_COLORS, "V (reward)")
    axes.set(xlabel=labels.states[plane.dims[0]], ylabel=labels.states[plane.dims[1]])


def _draw_q(axes: Axes, plane: StateSlice, policy: Any, labels: Labels) -> None:
    """Q over the first dimension of the plane and the first action, with the best action as a line."""
    line = StateSlice(plane.dims[:1], plane.box[:1], plane.fixed, plane.resolution)
    states = line.states()
    best = np.asarray(policy.act_batch(states))
    low, high = bounds(policy.action_space)[0]
    actions = np.tile(best, (plane.resolution, 1))
    actions[:, 0] = np.repeat(low + (high - low) * (np.arange(plane.resolution) + 0.5) / plane.resolution, len(states))
    rows = np.concatenate([np.tile(states, (plane.resolution, 1)), actions], axis=1)
    values = policy.forest.predict(rows)
    box = np.array([plane.box[0], [low, high]])
    _heat_map(axes, box, values.reshape(plane.resolution, -1), _most(values), VALUE_COLORS, "Q (reward)")
    axes.plot(line.axes[0], best[:, 0], color="white", lw=1.4)
    axes.set_title("Q(s, a), the best action in white")
    axes.set(xlabel=labels.states[plane.dims[0]], ylabel=labels.actions[0])


def _heat_map(axes: Axes, box: Floats, values: Floats, limits: tuple[float, float], colors: str, label: str) -> None:
    low, high = limits
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    beyond = (bool(values.min() < low), bool(values.max() > high))
    image = axes.imshow(
        values,
        origin="lower",
        extent=(box[0, 0], box[0, 1], box[1, 0], box[1, 1]),
        aspect="auto",
        cmap=colors,
        vmin=low,
        vmax=high,
        interpolation="nearest",
    )
    bar = axes.figure.colorbar(image, ax=axes, extend=extend[beyond])
    bar.set_label(label)
    bar.outline.set_visible(False)


def _most(values: Floats) -> tuple[float, float]:
    """The range of most values, so that a few values of -1000 do not take up the whole colour scale."""
    low, high = np.percentile(values, [5, 100])
    return (float(low), float(high)) if low < high else (float(low) - 1.0, float(high) + 1.0)


def _heading(policy: Any, plane: StateSlice, labels: Labels) -> str:
    held = [f"{name} = {plane.fixed[d]:.3g}" for d, name in enumerate(labels.states) if d not in plane.dims]
    where = f"; shown at {', '.join(held)}" if held else ""
    info = policy.info
    learned = f"learned from {info.n_samples:,} samples" if info.n_samples else ""
    return ", ".join(text for text in (info.problem, WORDS.get(info.method, info.method), learned) if text) + where
