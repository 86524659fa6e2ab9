"""Films an agent that learns to swing up a cart-pole, episode by episode, as an animated image.

    python docs/examples/film_of_learning.py film.gif

The agent knows the reward, as PILCO assumes; everything else it learns from its episodes of three seconds.
"""

from __future__ import annotations

import sys

import gymnasium as gym
import numpy as np
from PIL import Image, ImageDraw

import policyforest as pf
from policyforest.problems import cart_pole_reward

ID, EPISODES, SIZE = "policyforest/CartPoleSwingUp-v0", 6, (480, 360)
# One of so many steps is shown, for so many milliseconds.
EVERY, SHOWN = 2, 60


def main(path: str) -> None:
    agent = pf.ModelExploration(gym.make(ID), reward=cart_pole_reward, seed=0).learn(episodes=EPISODES)
    frames = [frame for number in range(EPISODES) for frame in filmed(agent, number)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=SHOWN, loop=0, optimize=True)


def filmed(agent: pf.ModelExploration, number: int) -> list[Image.Image]:
    """The pictures of one episode, with its number and what it earned so far."""
    drawn = gym.make(ID, render_mode="rgb_array")
    episode, frames = agent.episodes[number], []
    for t in range(0, len(episode.rewards), EVERY):
        drawn.reset(options={"state": episode.states[t]})
        picture = Image.fromarray(np.asarray(drawn.render())).resize(SIZE)
        text = f"episode {number + 1}, {t / 20:.1f} s, return {episode.rewards[:t].sum():.0f}"
        ImageDraw.Draw(picture).text((12, 8), text, fill=(20, 20, 20), font_size=20)
        frames.append(picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=16))
    drawn.close()
    return frames


if __name__ == "__main__":
    main(sys.argv[1])
