"""From a run directory back to the agent, to the bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from policyforest._support.files import differences
from policyforest.environments.episodes import id_from_file
from policyforest.environments.known_task import known_task
from policyforest.exploration.agent_settings import agent_arguments
from policyforest.exploration.exploring_agent import ExploringAgent
from policyforest.exploration.problem import Problem
from policyforest.exploration.run_directory import RunDirectory


def resume(
    run_dir: str | os.PathLike[str],
    env: gym.Env[Any, Any] | None = None,
    *,
    n_jobs: int | None = 1,
    expected: Mapping[str, Any] | None = None,
) -> ExploringAgent:
    """The agent of a run that was killed or has ended; `agent.learn(episodes=…)` goes on to the same bits.

    Args:
        env: The environment; default: one made from the id that the run knows. One of another problem is an error.
        expected: The `settings()` that the run must have; an error names every difference.
    """
    run, settings = RunDirectory.open(run_dir)
    try:
        problem, arguments = Problem.from_settings(settings["problem"]), agent_arguments(settings, n_jobs)
        if expected is not None:
            # Those of the agent, not of the file: what an older version did not write has its default there.
            _require_same(run, ExploringAgent(problem, **arguments).settings(), expected)
        if env is None and problem.id:
            env = gym.make(id_from_file(str(run.path), problem.id), **problem.env_kwargs)
            env = known_task(env, problem.plant.reward, problem.plant.terminal)
        if env is not None:
            _require_same(run, problem.settings(), Problem.of_env(env).settings(), "problem.")
        agent = ExploringAgent(problem if env is None else env, **arguments)
        agent.restore(run)
    except BaseException:
        run.close()
        raise
    return agent


def _require_same(run: RunDirectory, theirs: Mapping[str, Any], ours: Mapping[str, Any], prefix: str = "") -> None:
    different = differences(theirs, ours)
    if different:
        raise ValueError(f"run_dir: {run.path} is another run: {'; '.join(prefix + line for line in different)}")
