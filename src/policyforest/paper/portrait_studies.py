"""Portraits: one policy of each problem with its maps and an episode, so that a report can show it without learning.

The pendulum, the Double Integrator and Car on the Hill are learned from a batch. The swing-up is learned online, by our
explorer; the best of a few policies is shown.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from policyforest.data.transitions import Transitions
from policyforest.environments.episodes import Episode, EpisodePlayer
from policyforest.environments.named_problems import named_problem
from policyforest.exploration import make_agent
from policyforest.learning.methods import LearnedPolicy, Learner, with_problem
from policyforest.learning.q_function import QFunction
from policyforest.paper.batch_studies import gather
from policyforest.paper.studies import Short, Study
from policyforest.report.maps import policy_maps

# (problem, how it is learned): one cell each; its seed is the position in this list.
PORTRAITS = (
    ("inverted-pendulum-6kg", "batch"),
    ("double-integrator", "batch"),
    ("car-on-the-hill", "batch"),
    ("swing-up", "disagreement"),
)
BATCH: dict[str, dict[str, int]] = {
    "inverted-pendulum-6kg": {"episodes": 100},
    "double-integrator": {"episodes": 300},
    "car-on-the-hill": {"uniform": 20_000},
}
STEPS_SHOWN = 150
N_POLICIES = 3
EVALUATION_SEED = 1


def portrait(number: int, *, episodes: int = 100) -> dict[str, Any]:
    """A cell; `episodes` is the number of episodes of the online trial."""
    problem, how = PORTRAITS[number]
    return _batch(problem) if how == "batch" else _online(problem, how, episodes)


def _batch(problem: str) -> dict[str, Any]:
    env = gym.make(named_problem(problem).id)
    data = gather(env, BATCH[problem], seed=0)
    # Our defaults do not know that two forces are enough for the car; the figure of the car also uses the paper's
    # settings.
    preset = "paper" if problem == "car-on-the-hill" else None
    learned = Learner("fpf-pwl", problem, preset=preset, seed=0).fit(data)
    assert learned.q is not None
    played = EpisodePlayer(env, learned.policy).play(EVALUATION_SEED, 0, at_most=STEPS_SHOWN)
    return _content(problem, "batch", learned.policy, learned.q, data, played)


def _online(problem: str, agent: str, episodes: int) -> dict[str, Any]:
    id = named_problem(problem).id
    env = gym.make(id)
    explorer = make_agent(agent, env, seed=0, discount=named_problem(problem).discount, r_max=0.0)
    explorer.learn(episodes=episodes)
    policies = explorer.policies(N_POLICIES)
    played = [EpisodePlayer(env, policy).play(EVALUATION_SEED, 0) for policy in policies]
    best = int(np.argmax([episode.rewards.sum() for episode in played]))
    q = replace(explorer.final.q_learner, resample=None).fit(explorer.transitions)
    return _content(problem, agent, with_problem(policies[best], id), q, explorer.transitions, played[best])


def _content(
    problem: str, how: str, policy: LearnedPolicy, q: QFunction, samples: Transitions, episode: Episode
) -> dict[str, Any]:
    return {
        "problem": problem,
        "how": how,
        "samples": len(samples),
        "maps": policy_maps(policy, q=q, samples=samples).as_dict(),
        "episode": {
            "states": np.round(episode.states, 5).tolist(),
            "actions": np.round(episode.actions, 5).tolist(),
            "rewards": np.round(episode.rewards, 5).tolist(),
        },
    }


STUDIES = {
    "portraits": Study(
        "portraits",
        "A policy of each problem with its maps and an episode",
        portrait,
        {"quick": len(PORTRAITS), "paper": len(PORTRAITS)},
        seconds=45.0,
        kind="portraits",
        short=Short(partial(portrait, episodes=30), 12.0),
    )
}
