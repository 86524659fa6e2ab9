"""The pictures of the gallery: one frame of each problem, in ``docs/images/problems``.

Run it with ``python docs/examples/problem_pictures.py``; it needs the extra ``render`` and Pillow.
"""

from __future__ import annotations

import os
from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

from policyforest.environments.named_problems import PROBLEMS

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
FOLDER = Path(__file__).parents[1] / "images" / "problems"
# How many steps of a random policy come before the picture: far enough to see that something moves.
STEPS = {
    "inverted-pendulum": 4,
    "inverted-pendulum-6kg": 4,
    "swing-up": 12,
    "cart-pole-swing-up": 15,
    "acrobot": 40,
    "car-on-the-hill": 8,
}


def frame(name: str) -> Image.Image:
    """One frame of a problem."""
    env = gym.make(PROBLEMS[name].id, render_mode="rgb_array")
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(STEPS.get(name, 0)):
        env.step(env.action_space.sample())
    picture = Image.fromarray(np.asarray(env.render()))
    env.close()
    return picture.resize((360, round(360 * picture.height / picture.width)), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PROBLEMS:
        frame(name).convert("P", palette=Image.Palette.ADAPTIVE, colors=32).save(FOLDER / f"{name}.png", optimize=True)
