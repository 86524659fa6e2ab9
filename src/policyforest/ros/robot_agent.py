"""The agent that explores on a robot: by its name, new or from its run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policyforest.exploration import ExploringAgent, make_agent, resume
from policyforest.exploration.model_exploration import PLAN_AGENT
from policyforest.exploration.run_directory import RunDirectory, holds_run
from policyforest.ros.config import RobotConfig
from policyforest.ros.reward import known_formulas
from policyforest.ros.robot_exploration import require_episodes, robot_problem


def robot_agent(name: str, config: RobotConfig, run_dir: Path, seed: int, n_jobs: int) -> ExploringAgent:
    """The agent of a run directory, which must be of the same robot and settings; a new one if there is none.

    The agent "plan" takes the reward and the ends of episodes from the formulas of the configuration, and its optimism
    needs no largest reward. A run of this agent that was begun without the formulas is resumed without them."""
    episode, problem = require_episodes(config), robot_problem(config)
    settings: dict[str, Any] = {
        "discount": episode.discount,
        "seed": seed,
        "n_jobs": n_jobs,
        "max_steps": episode.steps,
    }
    begun = holds_run(run_dir)
    if name != PLAN_AGENT:
        settings["r_max"] = episode.r_max
    elif not begun or _knows_the_reward(run_dir):
        settings |= known_formulas(config, episode)
    if not begun:
        return make_agent(name, problem, run_dir=run_dir, **settings)
    return resume(run_dir, n_jobs=n_jobs, expected=make_agent(name, problem, **settings).settings())


def _knows_the_reward(run_dir: Path) -> bool:
    run, settings = RunDirectory.open(run_dir)
    run.close()
    return settings.get("reward") is not None
