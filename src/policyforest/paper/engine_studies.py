"""The online swing-up in three engines (§ Inverted pendulum swing-up): MuJoCo, DART, and Gazebo over ROS.

A cell is one trial of the paper: 100 episodes of 100 steps, ten policies, ten evaluation episodes each. The policy that
validation chooses is also evaluated in the other engines. Gazebo must be running (``policyforest gazebo start``);
otherwise, trials in the other engines have no row for Gazebo.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym

from policyforest.environments.evaluation import evaluate
from policyforest.environments.named_problems import named_problem
from policyforest.paper.online_studies import EVALUATION_SEED, METHODS, trial
from policyforest.paper.studies import Study

ENGINES: dict[str, tuple[str, dict[str, Any]]] = {
    "mujoco": ("policyforest/SwingUp-v0", {"backend": "mujoco"}),
    "dart": ("policyforest/SwingUp-v0", {"backend": "dart"}),
    "gazebo": ("policyforest/SwingUpGazebo-v0", {}),
}
EPISODES, EVALUATION_EPISODES = 100, 10
NAMES = {"mujoco": "MuJoCo", "dart": "DART", "gazebo": "Gazebo"}
AGENTS = {"ours": ("disagreement", "our explorer"), "mre": ("mre", "MRE as in the paper")}


def open_engine(engine: str) -> gym.Env[Any, Any]:
    """The swing-up in an engine."""
    id, settings = ENGINES[engine]
    return gym.make(id, **settings)


def explore_in_engine(
    seed: int, *, engine: str, agent: str, episodes: int = EPISODES, **settings: Any
) -> dict[str, Any]:
    """A trial in one engine, and its chosen policy in the others; `settings` are passed to `trial`."""
    env = open_engine(engine)
    try:
        discount = named_problem("swing-up").discount
        settings |= {"discount": discount, "r_max": 0.0}
        result, chosen = trial(env, seed, agent, episodes, EVALUATION_EPISODES, **settings)
    finally:
        env.close()
    for other in ENGINES:
        if other == engine:
            continue
        try:
            elsewhere = open_engine(other)
        except (ConnectionError, ImportError):
            continue
        judged = evaluate(chosen, elsewhere, episodes=EVALUATION_EPISODES, seed=EVALUATION_SEED)
        elsewhere.close()
        result[f"chosen, in {NAMES[other]}"] = {
            "return": judged.mean,
            "worst_episode": judged.worst,
            "steps": float(judged.lengths.mean()),
        }
    return result


STUDIES = {
    study.name: study
    for study in (
        Study(
            f"swing-up-{engine}-{short}",
            f"Swing-up in {NAMES[engine]}, 100 episodes, {what}",
            partial(explore_in_engine, engine=engine, agent=agent),
            {"quick": 1, "paper": 1},
            seconds=600,
            methods=METHODS,
            on_request=True,
        )
        for engine in ENGINES
        for short, (agent, what) in AGENTS.items()
    )
}
