"""An interactive page in one HTML file: heat maps with sliders and episodes that play. Nothing is fetched.

plotly's script is written into the page; the rest is `assets/report.js`, which finds the data as JSON in each block.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from policyforest._support.extras import import_extra
from policyforest._support.files import replacing
from policyforest._support.labels import labels_for
from policyforest.report.maps import Maps
from policyforest.report.page import CSS


@dataclass(frozen=True)
class Scene:
    """How an episode is shown: the drawing in `report.js`, the seconds per control step, and the dimension that is an
    angle."""

    picture: str
    seconds: float
    seam: float = 0.0
    """The period of the first dimension drawn; 0 if it is not an angle"""


SCENES = {
    "policyforest/InvertedPendulum": Scene("cart-pole", 0.1),
    "policyforest/InvertedPendulum6kg": Scene("cart-pole", 0.1),
    "policyforest/DoubleIntegrator": Scene("block", 0.5),
    "policyforest/CarOnTheHill": Scene("hill", 0.1),
    "policyforest/SwingUp": Scene("rod", 0.1, 2 * np.pi),
    "Pendulum": Scene("rod", 0.05),
    "MountainCarContinuous": Scene("valley", 1.0),
}
UNKNOWN = Scene("", 1.0)


def scene_of(problem: str) -> Scene:
    """The scene of an environment, by its id in any version."""
    return SCENES.get(problem.rpartition("-v")[0], UNKNOWN)


def maps_block(maps: Maps) -> str:
    """The heat maps of a policy side by side, a slider below those with several layers."""
    panels = []
    for i, layered in enumerate(maps.maps):
        slider = ""
        if len(layered.positions) > 1:
            last = len(layered.positions) - 1
            slider = (
                f'<label>{escape(layered.slider)}<input type="range" min="0" max="{last}" value="{last // 2}">'
                "<output></output></label>"
            )
        title = f"<h4>{escape(layered.title)}</h4>"
        panels.append(f'<div class="panel" data-map="{i}">{title}<div class="plot"></div>{slider}</div>')
    return f'<div class="maps">{_data(maps.as_dict())}{"".join(panels)}</div>'


def episode_block(
    problem: str, states: Any, actions: Any, rewards: Any, most: float, maps: Maps | None = None, dims: Any = (0, 1)
) -> str:
    """An animated episode: the system, its path over the policy's map, and the rewards so far.

    Args:
        most: The largest action.
        maps: The maps of the policy; the first one lies under the trajectory.
    """
    rows = np.asarray(states, dtype=np.float64)
    scene = scene_of(problem)
    labels = labels_for(problem, rows.shape[1], np.asarray(actions).shape[1])
    box = [[float(rows[:, d].min()), float(rows[:, d].max())] for d in dims]
    content = {
        "states": np.round(rows, 5).tolist(),
        "actions": np.round(np.asarray(actions), 5).tolist(),
        "rewards": np.round(np.asarray(rewards), 5).tolist(),
        "scene": scene.picture,
        "seconds": scene.seconds,
        "seam": scene.seam,
        "most": float(most),
        "dims": list(dims),
        "action": labels.actions[0],
        "labels": [labels.states[d] for d in dims],
        "box": box,
        "maps": None if maps is None else _first(maps),
    }
    steps = len(content["actions"])
    canvas = '<canvas width="640" height="480"></canvas>' if scene.picture else "<canvas hidden></canvas>"
    return (
        f'<div class="episode" data-step="0">{_data(content)}<div class="stage">{canvas}<div class="plot"></div></div>'
        f'<div class="controls"><button type="button">▶ play</button>'
        f'<input type="range" min="0" max="{steps}" value="0" aria-label="control step"><output></output></div></div>'
    )


def _first(maps: Maps) -> dict[str, Any]:
    content = maps.as_dict()
    return content | {"maps": content["maps"][:1]}


def _data(content: Any) -> str:
    """JSON inside a page, escaped so that nothing in it can end its element."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return f'<script type="application/json">{text.replace("<", chr(92) + "u003c")}</script>'


def badge(word: str) -> str:
    return f'<span class="badge {escape(word)}">{escape(word)}</span>'


def write_report(path: str | os.PathLike[str], title: str, blocks: Sequence[str]) -> None:
    """Writes a page that contains everything it needs; `blocks` are pieces of HTML."""
    plotly = import_extra("plotly.offline", "report").get_plotlyjs()
    assets = files("policyforest.report") / "assets"
    script = (assets / "report.js").read_text(encoding="utf-8")
    style = CSS + (assets / "report.css").read_text(encoding="utf-8")
    # The icon is empty; without it, a browser would request one from the network.
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{style}</style><script>{plotly}</script>\n<script>{script}</script></head>\n"
    )
    with replacing(path) as beside:
        Path(beside).write_text(f"{head}<body>\n" + "\n".join(blocks) + "\n</body></html>\n", encoding="utf-8")
