"""Portraits: one policy of each problem with its maps and episodes, so that a report can show it without learning.

Pendulum, Double Integrator and Car on the Hill are learned from a batch by our defaults; the swing-up online, by our
explorer and by MRE as in the paper. Of the swing-up's ten policies the best and the worst keep their episode: it has no
noise and a single start, so a policy has a single episode.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from policyforest.episodes import Episode, EpisodePlayer
from policyforest.exploration import make_agent
from policyforest.methods import Learner, with_problem
from policyforest.paper.batch import gather
from policyforest.paper.cells import Short, Study
from policyforest.presets import named_problem
from policyforest.report.maps import policy_maps

# (problem, how it is learned): a cell each, by their numbers.
PORTRAITS = (
    ("inverted-pendulum-6kg", "batch"),
    ("double-integrator", "batch"),
    ("car-on-the-hill", "batch"),
    ("swing-up", "disagreement"),
    ("swing-up", "mre"),
)
BATCH: dict[str, dict[str, int]] = {
    "inverted-pendulum-6kg": {"episodes": 100},
    "double-integrator": {"episodes": 300},
    "car-on-the-hill": {"uniform": 20_000},
}
STEPS_SHOWN = 150
EVALUATION_SEED = 1


def portrait(number: int, *, episodes: int = 100, n_policies: int = 10) -> dict[str, Any]:
    """A cell; `episodes` and `n_policies` are those of the online trials."""
    problem, how = PORTRAITS[number]
    if how == "batch":
        return _batch(problem)
    return _online(problem, how, episodes, n_policies)


def _batch(problem: str) -> dict[str, Any]:
    env = gym.make(named_problem(problem).id)
    data = gather(env, BATCH[problem], seed=0)
    # On the car our defaults do not know that two forces are enough; the paper's settings are those of its figure.
    preset = "paper" if problem == "car-on-the-hill" else None
    learned = Learner("fpf-pwl", problem, preset=preset, seed=0).fit(data)
    episode = EpisodePlayer(env, learned.policy).play(EVALUATION_SEED, 0, at_most=STEPS_SHOWN)
    return {
        "problem": problem,
        "how": "batch",
        "samples": len(data),
        "maps": policy_maps(learned.policy, q=learned.q, samples=data).as_dict(),
        "episodes": {"played": _path(episode)},
    }


def _online(problem: str, agent: str, episodes: int, n_policies: int) -> dict[str, Any]:
    id = named_problem(problem).id
    env = gym.make(id)
    explorer = make_agent(agent, env, seed=0, discount=named_problem(problem).discount, r_max=0.0)
    explorer.learn(episodes=episodes)
    policies = explorer.policies(n_policies)
    played = [EpisodePlayer(env, policy).play(EVALUATION_SEED, 0) for policy in policies]
    returns = np.array([float(episode.rewards.sum()) for episode in played])
    best, worst = int(returns.argmax()), int(returns.argmin())
    q = replace(explorer.final.q_learner, resample=None).fit(explorer.transitions)
    shown = with_problem(policies[best], id)
    return {
        "problem": problem,
        "how": agent,
        "samples": len(explorer.transitions),
        "returns": returns.tolist(),
        "maps": policy_maps(shown, q=q, samples=explorer.transitions).as_dict(),
        "episodes": {"best": _path(played[best]), "worst": _path(played[worst])},
    }


def _path(episode: Episode) -> dict[str, Any]:
    return {
        "states": np.round(episode.states, 5).tolist(),
        "actions": np.round(episode.actions, 5).tolist(),
        "rewards": np.round(episode.rewards, 5).tolist(),
        "terminal": episode.terminal,
    }


STUDIES = {
    "portraits": Study(
        "portraits",
        "A policy of each problem with its maps and an episode; of the swing-up the best and the worst of ten",
        portrait,
        {"quick": len(PORTRAITS), "paper": len(PORTRAITS)},
        seconds=120.0,
        kind="portraits",
        short=Short(partial(portrait, episodes=40, n_policies=3), 20.0),
    )
}
